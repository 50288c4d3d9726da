"""Scheduling work for later."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol

from claw_nb.core.errors import ToolError
from claw_nb.core.records import Task
from claw_nb.core.tools import Review, Tool, tool
from claw_nb.tools.failures import told_to_the_model

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Add(Protocol):
    """Make a task. One of ``notebook`` and ``prompt`` is given, and one of the three times.

    ``timezone`` None means the user's own. Raises ClawError.
    """

    async def __call__(
        self,
        *,
        name: str,
        notebook: str | None,
        prompt: str | None,
        cron: str | None,
        every: str | None,
        at: str | None,
        timezone: str | None,
    ) -> Task:
        """Make it."""
        ...


def schedule_tools(add: Add, list_: Callable[[], Awaitable[Sequence[Task]]]) -> tuple[Tool, ...]:
    """``schedule_task`` and ``list_tasks`` over two functions."""

    @tool(effect="write", review=_review)
    async def schedule_task(
        name: Annotated[str, "A short name for the task."],
        notebook: Annotated[str | None, "Path of a notebook to run."] = None,
        prompt: Annotated[str | None, "What to ask the agent."] = None,
        cron: Annotated[str | None, "Five fields, such as `0 9 * * 1-5`, or @daily."] = None,
        every: Annotated[str | None, "An interval, such as 30m, 2h or 1d."] = None,
        at: Annotated[str | None, "One moment, such as 2030-01-31T09:00."] = None,
        timezone: Annotated[str | None, "An IANA zone, such as Europe/Berlin."] = None,
    ) -> str:
        """Run a notebook or a prompt later, once or again and again.

        Give either a notebook or a prompt, and one of cron, every and at.
        """
        _check(notebook=notebook, prompt=prompt, cron=cron, every=every, at=at)
        with told_to_the_model():
            task = await add(
                name=name,
                notebook=notebook,
                prompt=prompt,
                cron=cron,
                every=every,
                at=at,
                timezone=timezone,
            )
        return json.dumps(_shown(task), ensure_ascii=False)

    @tool()
    async def list_tasks() -> str:
        """List the scheduled tasks as a JSON array, with their next and last runs."""
        with told_to_the_model():
            return json.dumps([_shown(task) for task in await list_()], ensure_ascii=False)

    return (schedule_task, list_tasks)


def _check(**given: str | None) -> None:
    for names in (("notebook", "prompt"), ("cron", "every", "at")):
        present = [name for name in names if given[name]]
        if len(present) != 1:
            said = f"{' and '.join(present)} were given" if present else "none was given"
            raise ToolError(
                f"schedule_task needs exactly one of {', '.join(names)}; {said}",
                kind="validation",
                hints=("Call it again with exactly one of them.",),
            )


def _review(arguments: Mapping[str, Any]) -> Review:
    given = {name: arguments.get(name) for name in ("notebook", "prompt", "cron", "every", "at")}
    _check(**given)
    lines = [f"name: {arguments.get('name')}"]
    lines += [f"{name}: {value}" for name, value in given.items() if value]
    if arguments.get("timezone"):
        lines.append(f"timezone: {arguments['timezone']}")
    return Review(
        verdict="ask", reason="It starts work while you are away.", preview="\n".join(lines)
    )


def _shown(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "name": task.name,
        "target": dict(task.target),
        "schedule": f"{task.schedule_type} {task.schedule_value}",
        "timezone": task.timezone,
        "status": task.status,
        "next_run": _moment(task.next_run),
        "last_run": _moment(task.last_run),
        "last_result": task.last_result,
    }


def _moment(micros: int | None) -> str | None:
    if micros is None:
        return None
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="seconds")
