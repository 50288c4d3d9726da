"""Tasks and runs as the REST interface writes them, and the requests that it reads.

The names are CherryClaw's, so that its clients fit; what claw_nb adds stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claw_nb.core.errors import InvalidInput
from claw_nb.core.records import Run, Task
from claw_nb.tasks import schedule as schedules
from claw_nb.tasks.schedule import Schedule, moment
from claw_nb.tasks.words import describe

_Kind = type | tuple[type, ...]

_NEW: dict[str, _Kind] = {
    "name": str,
    "prompt": str,
    "notebook": str,
    "parameters": dict,
    "kernel": str,
    "cell_timeout": (int, float),
    "hide_code": bool,
    "schedule_type": str,
    "schedule_value": str,
    "timezone": str,
    "timeout_minutes": (int, float),
    "misfire": str,
    "overlap": str,
    "grace_seconds": (int, float),
    "grant": list,
    "channel_ids": list,
}
_CHANGE: dict[str, _Kind] = {**_NEW, "status": str}
_CHOICES = {
    "schedule_type": ("cron", "interval", "once"),
    "misfire": ("skip", "once", "all"),
    "overlap": ("skip", "queue", "allow"),
    "status": ("active", "paused"),
}
_TARGET = ("prompt", "notebook", "parameters", "kernel", "cell_timeout", "hide_code")


def task_json(task: Task) -> dict[str, Any]:
    """A task."""
    target = task.target
    return {
        "id": task.id,
        "agent_id": task.agent_id,
        "name": task.name,
        "prompt": target.get("prompt"),
        "notebook": target.get("notebook"),
        "parameters": target.get("parameters", {}),
        "schedule_type": task.schedule_type,
        "schedule_value": _schedule_value(task),
        "schedule_text": describe(schedules.of(task)),
        "timezone": task.timezone,
        "timeout_minutes": task.timeout_minutes,
        "misfire": task.misfire,
        "overlap": task.overlap,
        "grace_seconds": task.grace_seconds,
        "grant": list(task.grant),
        "channel_ids": list(task.channel_ids),
        "next_run": iso(task.next_run),
        "last_run": iso(task.last_run),
        "last_result": task.last_result,
        "failures": task.failures,
        "status": task.status,
        "created_at": iso(task.created),
        "updated_at": iso(task.updated),
    }


def run_json(run: Run) -> dict[str, Any]:
    """One entry of a task's log; ``run_at`` is when it began, or was due when it never did."""
    over = run.finished is not None and run.started is not None
    return {
        "id": run.id,
        "task_id": run.task_id,
        "session_id": run.session_id,
        "run_at": iso(run.started or run.due),
        "due_at": iso(run.due),
        "trigger": run.trigger,
        "duration_ms": ((run.finished or 0) - (run.started or 0)) // 1000 if over else 0,
        "status": run.status,
        "result": run.result,
        "error": run.error,
        "notebook": run.notebook,
        "report": run.report,
    }


def iso(micros: int | None) -> str | None:
    """A moment as ISO 8601 in UTC, to the millisecond."""
    if micros is None:
        return None
    return moment(micros).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_task(body: Any) -> dict[str, Any]:
    """The arguments of ``Tasks.add`` that a creating request asks for."""
    given = _checked(body, _NEW)
    for name in ("name", "schedule_type", "schedule_value"):
        if not given.get(name):
            raise InvalidInput(f"The request needs {name!r}.")
    words = _words(given.pop("schedule_type"), given.pop("schedule_value"))
    extra = ("kernel", "cell_timeout", "hide_code")
    more = {name: given.pop(name) for name in extra if name in given}
    return given | words | {"more": more}


def changes(body: Any, task: Task) -> dict[str, Any]:
    """The arguments of ``Tasks.update`` that a changing request asks for."""
    given = _checked(body, _CHANGE)
    if not given:
        raise InvalidInput("The request changes nothing.", hint=f"It may set {', '.join(_CHANGE)}.")
    if given.keys() & {"schedule_type", "schedule_value", "timezone"}:
        kind = given.pop("schedule_type", task.schedule_type)
        value = given.pop("schedule_value", None) or _schedule_value(task)
        given["schedule"] = _schedule(kind, value, given.pop("timezone", task.timezone))
    target = {name: given.pop(name) for name in _TARGET if name in given}
    if target:
        given["target"] = _retarget(task, target)
    for name in ("grant", "channel_ids"):
        if name in given:
            given[name] = tuple(given[name])
    if "timeout_minutes" in given:
        given["timeout_minutes"] = given["timeout_minutes"] or None
    return given


def _retarget(task: Task, new: Mapping[str, Any]) -> dict[str, Any]:
    kind = "prompt" if "prompt" in task.target else "notebook"
    other = "notebook" if kind == "prompt" else "prompt"
    if other in new:
        raise InvalidInput(
            f"The task {task.name!r} runs a {kind}, which cannot become a {other}.",
            hint="Make a new task.",
        )
    return {**task.target, **new}


def _schedule(kind: str, value: str, timezone: str) -> Schedule:
    words = _words(kind, value)
    if "cron" in words:
        return schedules.cron(words["cron"], timezone=timezone)
    if "every" in words:
        return schedules.every(words["every"], timezone=timezone)
    return schedules.at(words["at"], timezone=timezone)


def _words(kind: str, value: str) -> dict[str, str]:
    """CherryClaw's schedule in the words of ``Tasks.add``: an interval is in minutes there."""
    if kind == "interval":
        return {"every": f"{value}m" if value.strip().isdigit() else value}
    return {"cron" if kind == "cron" else "at": value}


def _schedule_value(task: Task) -> str:
    if task.schedule_type != "interval":
        return task.schedule_value
    minutes, seconds = divmod(int(task.schedule_value), 60)
    return f"{task.schedule_value}s" if seconds else str(minutes)


def _checked(body: Any, fields: Mapping[str, _Kind]) -> dict[str, Any]:
    """The fields of a request, each of the right kind; null means not given."""
    if not isinstance(body, dict):
        raise InvalidInput("The request must be a JSON object.")
    if unknown := sorted(body.keys() - fields.keys()):
        raise InvalidInput(
            f"Unknown: {', '.join(unknown)}.", hint=f"Known are {', '.join(fields)}."
        )
    given = {name: value for name, value in body.items() if value is not None}
    for name, value in given.items():
        kind = fields[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InvalidInput(f"{name!r} has the wrong type: {type(value).__name__}.")
        if name in _CHOICES and value not in _CHOICES[name]:
            raise InvalidInput(f"{name!r} may be {', '.join(_CHOICES[name])}, not {value!r}.")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise InvalidInput(f"{name!r} must be a list of texts.")
    return given
