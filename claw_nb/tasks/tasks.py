"""The tasks of a data home, as people and programs ask for them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from claw_nb.core.clock import Clock, NewId
from claw_nb.core.errors import InvalidInput
from claw_nb.core.records import Misfire, Overlap, Run, Task
from claw_nb.store import Store
from claw_nb.store.queue import Queue
from claw_nb.store.runs import RunTable
from claw_nb.store.tasks import TaskTable
from claw_nb.store.workers import Worker, Workers
from claw_nb.tasks import schedule as schedules
from claw_nb.tasks.schedule import SECOND, Schedule

PROMPT_MINUTES = 15.0
"""How long a prompt may take unless its task says otherwise."""

NOTEBOOK_MINUTES = 720.0
"""How long a notebook may take unless its task says otherwise."""


class Tasks:
    """What is scheduled: add, find, change, pause, run. Blocking; cheap enough for a thread."""

    def __init__(
        self, store: Store, *, clock: Clock | None = None, new_id: NewId | None = None
    ) -> None:
        self.home = store.home
        self.clock = clock or store.clock
        self.new_id = new_id or store.new_id
        self.table = TaskTable(store)
        self.queue = Queue(store)
        self.occurrences = RunTable(store)
        self.workers = Workers(store)
        self.compact_soon = store.compact_soon

    # -- asking --------------------------------------------------------------------------------

    def get(self, task_id: str) -> Task:
        """The task with that id, else NotFound."""
        return self.table.get(task_id)

    def find(self, name: str, *, agent_id: str | None = None) -> Task:
        """The task with that id or name; NotFound, or Conflict when several fit."""
        return self.table.find(name, agent_id=agent_id)

    def list(
        self, *, agent_id: str | None = None, limit: int = 20, offset: int = 0
    ) -> tuple[tuple[Task, ...], int]:
        """A page of tasks, the newest first, and how many there are."""
        return self.table.list(agent_id=agent_id, limit=limit, offset=offset)

    def runs(self, task: Task, *, limit: int = 20, offset: int = 0) -> tuple[tuple[Run, ...], int]:
        """A page of a task's runs, the newest first, and how many there are."""
        return self.occurrences.list(task.id, limit=limit, offset=offset)

    def run(self, run_id: str) -> Run:
        """The run with that id, else NotFound."""
        return self.occurrences.get(run_id)

    def of_run(self, run_id: str) -> Task:
        """The task that a run belongs to, else NotFound."""
        return self.table.get(self.occurrences.get(run_id).task_id)

    def working(self) -> tuple[Worker, ...]:
        """The living processes that run tasks on this home."""
        return tuple(worker for worker in self.workers.list() if self.workers.alive(worker))

    # -- changing ------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        *,
        notebook: str | Path | None = None,
        prompt: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        cron: str | None = None,
        every: str | None = None,
        at: str | None = None,
        timezone: str | None = None,
        agent_id: str = "main",
        timeout_minutes: float | None = None,
        misfire: Misfire = "once",
        overlap: Overlap = "skip",
        grace_seconds: float = 3600.0,
        grant: Sequence[str] = (),
        channel_ids: Sequence[str] = (),
        folder: Path | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Task:
        """Schedule a notebook or a prompt; InvalidInput says what is wrong with it.

        Exactly one of ``cron``, ``every`` and ``at``, in ``timezone`` (this machine's by default).
        ``timeout_minutes``: None takes the default of its kind, 0 means no limit. A prompt works
        in ``folder``, a notebook in its own. ``more`` goes into the target: ``kernel``,
        ``cell_timeout`` (seconds), ``hide_code``.
        """
        now = self.clock()
        when = parse_schedule(cron=cron, every=every, at=at, timezone=timezone)
        target = _target(notebook, prompt, parameters, folder=folder) | dict(more or {})
        _check_cell_limit(target)
        if timeout_minutes is None:
            timeout_minutes = PROMPT_MINUTES if prompt is not None else NOTEBOOK_MINUTES
        task = Task(
            id=self.new_id(),
            agent_id=agent_id,
            name=_checked_name(name),
            target=target,
            schedule_type=when.kind,
            schedule_value=when.value,
            timezone=when.timezone,
            timeout_minutes=_positive("timeout", timeout_minutes) or None,
            misfire=misfire,
            overlap=overlap,
            grace_seconds=_positive("grace", grace_seconds),
            grant=tuple(grant),
            channel_ids=tuple(channel_ids),
            anchor=now,
            next_run=first_due(when, now=now, grace_seconds=grace_seconds),
            created=now,
            updated=now,
        )
        return self.table.add(task)

    def update(self, task: Task, *, schedule: Schedule | None = None, **changes: Any) -> Task:
        """Change a task as it was read; Conflict when it has changed since.

        A new schedule, or an active status after a pause, reckons its next run from now.
        """
        if "name" in changes:
            changes["name"] = _checked_name(changes["name"])
        for field, what in (("timeout_minutes", "timeout"), ("grace_seconds", "grace")):
            if changes.get(field) is not None:
                changes[field] = _positive(what, changes[field])
        if "target" in changes:
            changes["target"] = _retargeted(changes["target"])
        if schedule is not None:
            changes |= {
                "schedule_type": schedule.kind,
                "schedule_value": schedule.value,
                "timezone": schedule.timezone,
                "anchor": self.clock(),
            }
        status = changes.get("status", task.status)
        woken = status == "active" and task.status != "active"
        if schedule is not None or woken:
            when = schedule or schedules.of(task)
            grace = changes.get("grace_seconds", task.grace_seconds)
            anchor = changes.get("anchor", task.anchor)
            changes["next_run"] = first_due(
                when, now=self.clock(), grace_seconds=grace, anchor=anchor
            )
            if woken:
                changes["failures"] = 0
            elif task.status in ("completed", "missed"):
                changes["status"] = "active"
        kind = {"paused": "task.paused", "active": "task.resumed"}.get(changes.get("status", ""))
        changed = self.table.update(task, kind=kind or "task.updated", **changes)
        if changes.get("status") == "paused":
            self.occurrences.skip_queued(changed, "The task was paused before it began.")
        return changed

    def pause(self, task: Task) -> Task:
        """Let no more of its occurrences run; a run that is going ends as it would."""
        return task if task.status == "paused" else self.update(task, status="paused")

    def resume(self, task: Task) -> Task:
        """Let it run again, from now on; what was due while it was paused stays undone."""
        return task if task.status == "active" else self.update(task, status="active")

    def remove(self, task: Task) -> None:
        """Remove a task and its runs; a run that is going is stopped. Files and log stay."""
        self.table.remove(task)

    def run_now(self, task: Task) -> Run:
        """Queue one run outside the schedule, which stays as it is; Conflict when one is going."""
        return self.queue.enqueue_now(task)

    def cancel(self, run: Run) -> Run:
        """Stop a run that waits or is going."""
        return self.occurrences.cancel(run)


def parse_schedule(
    *,
    cron: str | None = None,
    every: str | None = None,
    at: str | None = None,
    timezone: str | None = None,
) -> Schedule:
    """The schedule that exactly one of cron, every and at describes."""
    zone = timezone or schedules.local_zone()
    match cron, every, at:
        case str(text), None, None:
            return schedules.cron(text, timezone=zone)
        case None, str(text), None:
            return schedules.every(text, timezone=zone)
        case None, None, str(text):
            return schedules.at(text, timezone=zone)
    raise InvalidInput(
        "A task needs exactly one schedule.",
        hint="Give one of: cron '0 9 * * mon-fri', every '1h30m', at '2027-01-31T09:00'.",
    )


def first_due(when: Schedule, *, now: int, grace_seconds: float, anchor: int | None = None) -> int:
    """When a new or woken schedule is first due; a moment just gone by may still run."""
    late = int(grace_seconds * SECOND) if when.kind == "once" else 0
    due = schedules.next_run(when, after=now - late, anchor=now if anchor is None else anchor)
    if due is None:
        raise InvalidInput(
            f"{when.value} has gone by.", hint="Give a moment that is still to come."
        )
    return due


def _target(
    notebook: str | Path | None,
    prompt: str | None,
    parameters: Mapping[str, Any] | None,
    *,
    folder: Path | None,
) -> dict[str, Any]:
    match notebook, prompt:
        case None, str(text) if text.strip():
            if parameters:
                raise InvalidInput(
                    "Only a notebook takes parameters, a prompt does not.",
                    hint="Write the values into the prompt.",
                )
            return {"prompt": text, "folder": str((folder or Path.cwd()).absolute())}
        case (str() | Path()) as path, None if str(path):
            return {"notebook": str(_checked_notebook(Path(path))), "parameters": parameters or {}}
    raise InvalidInput(
        "A task needs something to do.", hint="Give either a notebook or a prompt, and only one."
    )


def _retargeted(target: Mapping[str, Any]) -> dict[str, Any]:
    """A changed target, as strictly looked at as a new one."""
    _check_cell_limit(target)
    notebook, prompt, folder = (target.get(name) for name in ("notebook", "prompt", "folder"))
    checked = _target(
        notebook, prompt, target.get("parameters"), folder=Path(folder) if folder else None
    )
    return {**target, **checked}


def _checked_notebook(path: Path) -> Path:
    path = path.expanduser().absolute()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(
            f"The notebook {path} cannot be read: {error.strerror}.",
            hint="Give the path of an .ipynb file that is there.",
        ) from error
    except ValueError as error:
        raise InvalidInput(
            f"{path} is not a notebook: {error}.",
            hint="Open it in Jupyter and save it again, or give another file.",
        ) from error
    if not isinstance(content, dict) or "cells" not in content or "nbformat" not in content:
        raise InvalidInput(
            f"{path} is not a notebook of version 4: it has no cells.",
            hint="`jupyter nbconvert --to notebook FILE` brings old notebooks up to date.",
        )
    return path


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > 200 or not name.isprintable():
        raise InvalidInput(
            f"{name!r} cannot be the name of a task.",
            hint="A name has 1 to 200 characters on one line.",
        )
    return name


def _check_cell_limit(target: Mapping[str, Any]) -> None:
    if (limit := target.get("cell_timeout")) is not None:
        _positive("cell limit", limit)


def _positive(what: str, value: float) -> float:
    if not math.isfinite(value) or value < 0:
        raise InvalidInput(f"The {what} of a task cannot be {value}.", hint="Give 0 or more.")
    return float(value)
