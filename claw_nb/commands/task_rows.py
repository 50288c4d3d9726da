"""Tasks and runs as the commands show them, and as they write them in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claw_nb.commands.words import iso
from claw_nb.core.records import Run, Task
from claw_nb.tasks import schedule as schedules
from claw_nb.tasks import words


def files(run: Run) -> dict[str, str]:
    """The paths that a run left."""
    found = {"notebook": run.notebook, "report": run.report}
    return {kind: path for kind, path in found.items() if path}


def what(task: Task) -> str:
    """What a task does, in short."""
    return str(task.target.get("prompt") or Path(task.target["notebook"]).name)


def shown(task: Task, moment: int | None) -> str:
    """A moment in the task's own zone."""
    return "" if moment is None else schedules.show(moment, task.timezone)


def took(run: Run) -> str:
    """How long a run took."""
    if run.started is None or run.finished is None:
        return ""
    return f"{(run.finished - run.started) / schedules.SECOND:.1f} s"


def task_record(task: Task) -> Mapping[str, Any]:
    """A task as JSON."""
    return {
        "id": task.id,
        "name": task.name,
        "agent_id": task.agent_id,
        "target": dict(task.target),
        "schedule": words.describe(schedules.of(task)),
        "schedule_type": task.schedule_type,
        "schedule_value": task.schedule_value,
        "timezone": task.timezone,
        "status": task.status,
        "next_run": iso(task.next_run),
        "last_run": iso(task.last_run),
        "last_result": task.last_result,
        "failures": task.failures,
        "timeout_minutes": task.timeout_minutes,
        "misfire": task.misfire,
        "overlap": task.overlap,
        "grace_seconds": task.grace_seconds,
        "grant": list(task.grant),
    }


def run_record(run: Run) -> Mapping[str, Any]:
    """A run as JSON."""
    return {
        "id": run.id,
        "task_id": run.task_id,
        "due": iso(run.due),
        "trigger": run.trigger,
        "status": run.status,
        "started": iso(run.started),
        "finished": iso(run.finished),
        "result": run.result,
        "error": run.error,
        "notebook": run.notebook,
        "report": run.report,
        "session_id": run.session_id,
    }
