"""What is kept: log rows, sessions, tasks, runs and memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SessionSource = Literal["claw", "claude_code", "codex", "hermes", "openclaw"]
ScheduleKind = Literal["cron", "interval", "once"]
TaskStatus = Literal["active", "paused", "completed", "missed"]
RunStatus = Literal["queued", "running", "success", "error", "cancelled", "missed", "skipped"]
Misfire = Literal["skip", "once", "all"]
Overlap = Literal["skip", "queue", "allow"]
RuleReach = Literal["session", "tool", "path"]


@dataclass(frozen=True, kw_only=True)
class LogRow:
    """One row of the log. ``ts`` is UTC microseconds since 1970; ``cost`` in US dollars.

    ``kind`` is dotted: ``run.started``, ``message.added``, ``tool.finished``, ``task.changed``...
    Hot fields are columns; the rest is in ``data``.
    """

    id: str
    ts: int
    kind: str
    session_id: str | None = None
    run_id: str | None = None
    parent_id: str | None = None
    task_id: str | None = None
    agent: str | None = None
    role: str | None = None
    name: str | None = None
    status: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    ms: float | None = None
    text: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Session:
    """The header of one conversation. ``key`` maps a place (a notebook, a directory) to it.

    ``context_tokens`` is how long the conversation is as the model is sent it. ``next`` is the
    session in which it goes on when it had grown too long.
    """

    id: str
    key: str
    agent: str
    source: SessionSource = "claw"
    title: str = ""
    created: int = 0
    updated: int = 0
    messages: int = 0
    compactions: int = 0
    context_tokens: int = 0
    next: str = ""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What runs and when.

    ``target`` is ``{"notebook": path, "parameters": {...}}`` or ``{"prompt": text}``.
    ``schedule_value``: a five-field cron expression, seconds as text, or an RFC 3339 moment.
    Times are UTC microseconds. ``grant`` names the tools that need no approval in its runs.
    ``anchor`` is where the grid of an interval begins. ``rev`` counts the changes of what was
    asked for (compare and swap); a run moves ``next_run``, ``last_run`` and so on without one.
    """

    id: str
    agent_id: str
    name: str
    target: Mapping[str, Any]
    schedule_type: ScheduleKind
    schedule_value: str
    timezone: str = "UTC"
    timeout_minutes: float | None = None
    misfire: Misfire = "once"
    overlap: Overlap = "skip"
    grace_seconds: float = 3600.0
    grant: tuple[str, ...] = ()
    channel_ids: tuple[str, ...] = ()
    status: TaskStatus = "active"
    failures: int = 0
    anchor: int = 0
    next_run: int | None = None
    last_run: int | None = None
    last_result: str | None = None
    created: int = 0
    updated: int = 0
    rev: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """One occurrence of a task. (task, due) is unique; ``trigger`` is what made it run."""

    id: str
    task_id: str
    due: int
    trigger: Literal["schedule", "manual"]
    status: RunStatus
    started: int | None = None
    finished: int | None = None
    worker: str | None = None
    session_id: str | None = None
    result: str | None = None
    error: str | None = None
    notebook: str | None = None
    report: str | None = None


@dataclass(frozen=True, kw_only=True)
class ApprovalRule:
    """A yes that holds for more than one call of a tool, in one folder (``root``).

    ``session``: while that session lasts; ``tool``: always; ``path``: always, on that path.
    ``by`` is who said so; ``created`` is in UTC microseconds.
    """

    id: str
    reach: RuleReach
    tool: str
    agent: str
    root: str
    session_id: str | None = None
    path: str | None = None
    by: str = ""
    created: int = 0


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A remembered text with where it came from. Times are UTC microseconds.

    ``source`` is what it came by (user, agent, an import), ``speaker`` who said it. A turn of a
    transcript has its ``position`` in the session; a note about it has none.
    """

    id: str
    text: str
    category: str = "fact"
    tags: tuple[str, ...] = ()
    agent: str = "main"
    source: str = "user"
    speaker: str = ""
    session_id: str | None = None
    position: int | None = None
    created: int = 0
    updated: int = 0
