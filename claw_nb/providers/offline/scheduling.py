"""Recipes for work while the user is away: schedule a notebook or a prompt, list what is there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from claw_nb.providers.offline.markdown import code, table
from claw_nb.providers.offline.recipe import Asked, Recipe, call, json_of, say, trouble
from claw_nb.providers.offline.when import find_when

_NOTEBOOK = re.compile(r"`([^`]+\.ipynb)`|\"([^\"]+\.ipynb)\"|'([^']+\.ipynb)'|(\S+\.ipynb)\b")
_QUOTED = re.compile(r"[\"“]([^\"”]+)[\"”]|'([^']{3,})'|`([^`]+)`")
_LEAD = re.compile(
    r"^(?:(?:please|schedule|run|execute|ask|repeat|do|it|this|the|notebook|prompt|task|a|an"
    r"|to|claw|you|:|,|-)\s*)+",
    re.I,
)
_NO_TIME = (
    "I did not understand when. Say it like one of these:\n\n"
    "- `schedule report.ipynb every day at 9`\n"
    "- `schedule report.ipynb every monday and friday at 17:30`\n"
    "- `schedule report.ipynb every 30 minutes`\n"
    "- `schedule report.ipynb tomorrow at 8:15`\n"
    "- `schedule report.ipynb cron 0 9 * * 1-5`"
)


def schedule(match: re.Match[str], asked: Asked) -> Recipe | None:
    """Run a notebook, or ask a prompt, at a moment or in a rhythm."""
    local = datetime.fromtimestamp(asked.clock() / 1e6, tz=UTC).astimezone()
    words = match[0]
    quoted = _NOTEBOOK.search(words) or _QUOTED.search(words)
    outside = words
    if quoted:  # what is quoted may speak of times of its own
        outside = words[: quoted.start()] + " " * len(quoted[0]) + words[quoted.end() :]
    when = find_when(outside, local=local) or find_when(words, local=local)
    if when is None:
        return say(_NO_TIME) if words.lower().startswith("schedule") else None
    begin, end = when.span
    rest = f"{words[:begin]} {words[end:]}".strip()
    notebook = _NOTEBOOK.search(rest)
    if notebook:
        path = next(group for group in notebook.groups() if group)
        name = re.sub(r"\.ipynb$", "", path.replace("\\", "/").rpartition("/")[2])
        target = {"notebook": path}
    else:
        prompt = _QUOTED.search(rest)
        text = next(g for g in prompt.groups() if g) if prompt else _LEAD.sub("", rest)
        text = text.strip(" ,.:;-")
        if not text:
            return say("I did not understand what to run: name a notebook, or quote a prompt.")
        name = " ".join(re.findall(r"\w+", text)[:5])
        target = {"prompt": text}
    return _schedule({"name": name, **target, when.kind: when.value})


def _schedule(arguments: Mapping[str, Any]) -> Recipe:
    result = yield from call("schedule_task", **arguments)
    if result.error:
        return trouble(result)
    task = json_of(result)
    notebook = arguments.get("notebook")
    does = f"runs {code(notebook)}" if notebook else f"asks “{arguments['prompt']}”"
    told = f"I scheduled the task {code(arguments['name'])}, which {does}"
    if not isinstance(task, Mapping):
        return f"{told}.\n\n{result.text}"
    zone = task.get("timezone") or "UTC"
    rhythm = f"{told}: {code(task.get('schedule'))} in the zone {zone}."
    due = f" It is next due at {_utc(task['next_run'])} UTC." if task.get("next_run") else ""
    return f"{rhythm}{due} `claw task list` shows it; a running server carries it out."


def list_tasks(match: re.Match[str], asked: Asked) -> Recipe:
    """What is scheduled."""
    return _list_tasks()


def _list_tasks() -> Recipe:
    result = yield from call("list_tasks")
    if result.error:
        return trouble(result)
    found = json_of(result)
    if not isinstance(found, list):
        return result.text
    rows = [row for row in found if isinstance(row, Mapping)]
    if not rows:
        return "Nothing is scheduled yet. `schedule report.ipynb every day at 9` adds a task."
    heads = ("name", "runs", "schedule", "status", "next run (UTC)", "last result")
    return table(heads, [_row(row) for row in rows])


def _row(task: Mapping[str, Any]) -> list[object]:
    target = task.get("target")
    what = target if isinstance(target, Mapping) else {}
    return [
        code(task.get("name")),
        what.get("notebook") or what.get("prompt"),
        f"{task.get('schedule')} ({task.get('timezone')})",
        task.get("status"),
        _utc(task.get("next_run")),
        task.get("last_result"),
    ]


def _utc(moment: object) -> str:
    """``2026-12-01T09:00:00+00:00`` as people write it."""
    return str(moment or "").partition("+")[0].replace("T", " ").removesuffix(":00")
