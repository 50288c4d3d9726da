"""``claw runs``: what the agent did, run by run and step by step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option, paging
from claw_nb.commands.output import Listing
from claw_nb.commands.words import clipped
from claw_nb.core.errors import InvalidInput, NotFound
from claw_nb.workspace import Workspace

_ENDS = "('run.finished', 'run.failed')"

_RUNS = f"""
    SELECT run_id, any_value(session_id) AS session_id, any_value(agent) AS agent,
        min(ts) FILTER (kind = 'run.started') AS started,
        any_value(text) FILTER (kind = 'run.started') AS prompt,
        any_value(model) AS model,
        any_value(status) FILTER (kind IN {_ENDS}) AS status,
        any_value((data->>'turns')::INTEGER) FILTER (kind IN {_ENDS}) AS turns,
        any_value((data->>'tools')::INTEGER) FILTER (kind IN {_ENDS}) AS tools,
        any_value(tokens_in) FILTER (kind IN {_ENDS}) AS tokens_in,
        any_value(tokens_out) FILTER (kind IN {_ENDS}) AS tokens_out,
        any_value(cost) FILTER (kind IN {_ENDS}) AS cost,
        any_value(ms) FILTER (kind IN {_ENDS}) AS ms
    FROM events
    WHERE kind IN ('run.started', 'run.finished', 'run.failed')
        AND run_id IS NOT NULL AND session_id IS NOT NULL
    GROUP BY run_id
"""


@click.group(invoke_without_command=True)
@click.pass_context
def runs(ctx: click.Context) -> Listing | None:
    """Runs of the agent: list, show."""
    return None if ctx.invoked_subcommand else ctx.invoke(list_)


@runs.command(name="list")
@paging
@click.option("--session", help="Only runs in this session.")
@json_option
@click.pass_context
def list_(ctx: click.Context, limit: int, offset: int, session: str | None) -> Listing:
    """List runs, the latest first, with what each took."""
    work = workspace(ctx)
    only = None if session is None else work.store.sessions.get(session).id
    found = work.store.select(
        f"SELECT * FROM ({_RUNS}) WHERE session_id = coalesce(?, session_id) "
        "ORDER BY started DESC, run_id DESC LIMIT ? OFFSET ?",
        [only, limit, offset],
    )
    for run in found:
        run["status"] = _status(work, run)
    return Listing(
        title="Runs",
        columns=("run", "started", "status", "turns", "tools", "tokens", "cost", "took", "prompt"),
        rows=[
            (
                run["run_id"][:13],
                f"{run['started']:%Y-%m-%d %H:%M}" if run["started"] else "",
                run["status"],
                run["turns"],
                run["tools"],
                _tokens(run),
                _money(run["cost"]),
                _seconds(run["ms"]),
                clipped(run["prompt"] or "", 50),
            )
            for run in found
        ],
        records=[_record(run) for run in found],
        empty="No run yet: ask something first.",
    )


@runs.command()
@click.argument("run_id", metavar="ID")
@json_option
@click.pass_context
def show(ctx: click.Context, run_id: str) -> Listing:
    """Show a run as a timeline: turns, tools, durations, tokens and cost.

    ID may be cut short while it stays unique.
    """
    work = workspace(ctx)
    run = _run(work, run_id)
    status = _status(work, run)
    events = work.store.select(
        "SELECT ts, kind, role, name, status, model, tokens_in, tokens_out, cost, ms, text, data "
        "FROM events WHERE run_id = ? AND session_id IS NOT NULL ORDER BY seq",
        [run["run_id"]],
    )
    steps = timeline(events, started=run["started"])
    total = f"{status}, {run['turns'] or 0} turns, {run['tools'] or 0} tool calls"
    facts = (_tokens(run), _money(run["cost"]), _seconds(run["ms"]))
    title = ", ".join([total, *(fact for fact in facts if fact)])
    return Listing(
        title=f"{run['run_id']} in session {run['session_id'][:13]}: {title}",
        columns=("at", "what", "how", "took", "tokens", "cost", "detail"),
        rows=[
            (
                f"+{step.at / 1000:.1f} s",
                step.what,
                step.how,
                _seconds(step.ms),
                step.tokens,
                _money(step.cost),
                clipped(step.detail, 80),
            )
            for step in steps
        ],
        records=[
            {
                "at_ms": round(step.at, 1),
                "what": step.what,
                "status": step.how,
                "ms": step.ms,
                "tokens": step.tokens or None,
                "cost": step.cost,
                "detail": step.detail,
            }
            for step in steps
        ],
        empty="Nothing of this run was kept.",
    )


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happened in a run; ``at`` is its beginning in milliseconds of the run."""

    at: float
    what: str
    how: str = ""
    ms: float | None = None
    tokens: str = ""
    cost: float | None = None
    detail: str = ""


def timeline(events: Sequence[Mapping[str, Any]], *, started: datetime | None) -> list[Step]:
    """The steps of a run, by their beginnings."""
    if not events:
        return []
    zero = started or events[0]["ts"]
    ended = {_data(event).get("call_id") for event in events if event["kind"] == "tool.finished"}
    steps = []
    for event in events:
        at = (event["ts"] - zero).total_seconds() * 1000
        data = _data(event)
        if event["kind"] == "tool.started" and data.get("call", {}).get("id") in ended:
            continue
        step = _step(event, data, at)
        if step is not None:
            steps.append(step)
    return sorted(steps, key=lambda step: step.at)


def _step(event: Mapping[str, Any], data: Mapping[str, Any], at: float) -> Step | None:
    begun = max(0.0, at - (event["ms"] or 0.0))
    name, status, text = event["name"] or "", event["status"] or "", event["text"] or ""
    match event["kind"]:
        case "run.started":
            return Step(at=at, what="asked", detail=text)
        case "turn.finished":
            return Step(
                at=begun, what=f"turn {data.get('turn', '')}", how=status, ms=event["ms"],
                tokens=_tokens(event), cost=event["cost"], detail=event["model"] or "",
            )  # fmt: skip
        case "tool.finished":
            given = json.dumps(data.get("arguments", {}), ensure_ascii=False)
            return Step(at=begun, what=name, how=status, ms=event["ms"], detail=given)
        case "tool.started":
            return Step(at=at, what=name, how="did not end", detail="")
        case "approval.resolved":
            return Step(at=at, what="approval", how=status, detail=f"{name} {text}".strip())
        case "reminder.added":
            return Step(at=at, what="reminder", how=status, detail=text)
        case "retry.scheduled":
            return Step(at=at, what="retry", how=status, detail=text)
        case "subagent.finished":
            detail = f"run {data.get('run_id', '')}"
            return Step(
                at=begun, what="subagent", how=status, ms=event["ms"], tokens=_tokens(event),
                cost=event["cost"], detail=detail,
            )  # fmt: skip
        case "run.finished" | "run.failed":
            return Step(at=at, what="ended", how=status, detail=text)
        case "message.added" | "approval.requested" | "subagent.started":
            return None
        case kind:
            return Step(at=at, what=kind, how=status, detail=text)


def _run(work: Workspace, run_id: str) -> dict[str, Any]:
    found = work.store.select(
        f"SELECT * FROM ({_RUNS}) WHERE starts_with(run_id, ?) ORDER BY run_id = ? DESC LIMIT 2",
        [run_id, run_id],
    )
    if not found or not run_id:
        raise NotFound(f"There is no run {run_id!r}.", hint="`claw runs list` shows them.")
    if len(found) > 1 and found[0]["run_id"] != run_id:
        raise InvalidInput(f"More than one run begins with {run_id!r}.", hint="Give more of it.")
    return found[0]


def _status(work: Workspace, run: Mapping[str, Any]) -> str:
    """How a run ended; one without an end is going on, or its process was killed."""
    if run["status"]:
        return str(run["status"])
    return "running" if work.store.leases.held(run["session_id"]) else "broken off"


def _record(run: Mapping[str, Any]) -> dict[str, Any]:
    started = run["started"]
    return dict(run) | {"started": f"{started.isoformat()}Z" if started else None}


def _data(event: Mapping[str, Any]) -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(event["data"] or "{}")
    return data


def _tokens(of: Mapping[str, Any]) -> str:
    if not of["tokens_in"] and not of["tokens_out"]:
        return ""
    return f"{of['tokens_in'] or 0}+{of['tokens_out'] or 0}"


def _money(cost: float | None) -> str:
    return f"${cost:.4f}" if cost else ""


def _seconds(ms: float | None) -> str:
    return "" if ms is None else f"{ms / 1000:.1f} s"
