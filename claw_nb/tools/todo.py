"""Keeping track of what is to be done, beyond one conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from claw_nb.core.errors import ToolError
from claw_nb.core.tools import Review, Tool, tool
from claw_nb.tools.failures import told_to_the_model
from claw_nb.tools.memory import check
from claw_nb.tools.todos import STATUSES, Status, Todo, Todos, Wanted

Action = Literal["list", "add", "update", "complete", "cancel", "remove", "replace"]


def todo_tools(todos: Todos) -> tuple[Tool, ...]:
    """``todo`` over a list of todos."""

    def allowed(_: Mapping[str, Any]) -> Review:
        return Review(verdict="allow", reason="The agent may keep its list.")

    @tool(effect="write", review=allowed, resource=lambda _: "todos")
    async def todo(
        action: Annotated[
            Literal["list", "add", "update", "complete", "cancel", "remove", "replace"],
            "What to do. replace makes `items` the active todos.",
        ],
        id: Annotated[  # noqa: A002 - the word that models expect
            int | None, "Which todo, for update, complete, cancel and remove."
        ] = None,
        text: Annotated[str | None, "What is to be done, for add and update."] = None,
        status: Annotated[
            Literal["pending", "in_progress", "blocked", "completed", "cancelled"] | None,
            "For add and update.",
        ] = None,
        note: Annotated[str | None, "What is in the way, or what came of it."] = None,
        items: Annotated[
            list[dict[str, Any]] | None,
            'For replace, and for add of several: objects {"text": ..., "status": ..., "note": ...}.',
        ] = None,
    ) -> str:
        """Keep the list of what is to be done; it outlives the conversation.

        Use it for work of three steps or more. Have one todo in_progress, and complete each as soon
        as it is done. Active todos are shown to you when a session starts.
        """
        one = Wanted(text=text, status=status, note=note)
        with told_to_the_model():
            return await asyncio.to_thread(_done, todos, action, id, one, items)

    return (todo,)


def _done(
    todos: Todos,
    action: Action,
    number: int | None,
    one: Wanted,
    items: Sequence[Mapping[str, Any]] | None,
) -> str:
    for text in (one.text, one.note):
        if text:
            check(text)
    match action:
        case "list":
            return _lines(todos.all()) or "(there is nothing to do)"
        case "add":
            return f"Added:\n{_lines(todos.add(_items(items) if items else [one]))}"
        case "replace":
            if items is None:
                raise ToolError("replace needs items", kind="validation")
            todos.replace(_items(items))
            return f"The active todos are now:\n{_lines(todos.active()) or '(none)'}"
        case "update" | "complete" | "cancel" | "remove":
            if number is None:
                raise ToolError(f"{action} needs the todo's id", kind="validation")
            return _one(todos, action, number, one)


def _one(todos: Todos, action: str, number: int, one: Wanted) -> str:
    ends: dict[str, Status] = {"complete": "completed", "cancel": "cancelled"}
    if action == "remove":
        return f"Removed: {todos.remove(number).line}"
    if action in ends:
        one = Wanted(status=ends[action], note=one.note)
    elif one == Wanted():
        raise ToolError("update needs a text, a status or a note", kind="validation")
    return todos.update(number, one, action=action).line


def _items(given: Sequence[Mapping[str, Any]]) -> list[Wanted]:
    wanted = []
    for number, item in enumerate(given, 1):
        strange = sorted(set(item) - {"text", "status", "note"})
        if strange or not isinstance(item.get("text"), str):
            raise ToolError(
                f"item {number} must have a text, and may have a status and a note"
                + (f", but not {', '.join(strange)}" if strange else ""),
                kind="validation",
            )
        if item.get("status") not in (None, *STATUSES):
            raise ToolError(
                f"item {number}: the status must be one of {', '.join(STATUSES)}",
                kind="validation",
            )
        for text in (item["text"], item.get("note")):
            if text:
                check(str(text))
        note = item.get("note")
        wanted.append(
            Wanted(
                text=item["text"],
                status=item.get("status"),
                note=None if note is None else str(note),
            )
        )
    return wanted


def _lines(todos: Sequence[Todo]) -> str:
    return "\n".join(todo.line for todo in todos)
