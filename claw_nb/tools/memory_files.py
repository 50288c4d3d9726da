"""What an agent keeps in mind: about the user, about its work, and about today."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol

from claw_nb.core.errors import ToolError
from claw_nb.core.redact import redact
from claw_nb.core.tools import Review, Tool, tool
from claw_nb.tools.failures import told_to_the_model
from claw_nb.tools.memory import check

Target = Literal["user", "memory", "daily"]


class Files(Protocol):
    """Entries by target. All raise ClawError; what changes something says how full it is then."""

    def entries(self, target: Target) -> tuple[str, ...]:
        """The entries, in order."""
        ...

    def add(self, target: Target, text: str) -> str:
        """Add one."""
        ...

    def replace(self, target: Target, part: str, text: str) -> str:
        """Put one in place of the only one that holds ``part``."""
        ...

    def remove(self, target: Target, part: str) -> str:
        """Remove the only one that holds ``part``."""
        ...


def memory_file_tools(files: Files) -> tuple[Tool, ...]:
    """``memory`` over an agent's files."""

    def allowed(_: Mapping[str, Any]) -> Review:
        return Review(verdict="allow", reason="The agent may keep notes.")

    def resource(arguments: Mapping[str, Any]) -> str:
        return f"memory {arguments.get('target')}"

    @tool(effect="write", review=allowed, resource=resource)
    async def memory(
        action: Annotated[Literal["read", "add", "replace", "remove"], "What to do."],
        target: Annotated[
            Literal["user", "memory", "daily"],
            "user: who the user is and what they like; memory: lasting facts about the work; "
            "daily: notes of today.",
        ],
        content: Annotated[str | None, "The new entry, for add and replace."] = None,
        old_text: Annotated[
            str | None, "A part of the entry to replace or remove, which no other entry has."
        ] = None,
    ) -> str:
        """Read or change what you start every session with.

        The files are small, so keep only what will matter again, in few words. A change is kept at
        once; the next session starts with it. For everything else use remember and recall.
        """
        _check(action, content=content, old_text=old_text)
        with told_to_the_model():
            match action:
                case "read":
                    return _shown(await asyncio.to_thread(files.entries, target))
                case "add":
                    return await asyncio.to_thread(files.add, target, content or "")
                case "replace":
                    return await asyncio.to_thread(
                        files.replace, target, old_text or "", content or ""
                    )
                case "remove":
                    return await asyncio.to_thread(files.remove, target, old_text or "")

    return (memory,)


def _check(action: str, *, content: str | None, old_text: str | None) -> None:
    needed = {"add": ("content",), "replace": ("old_text", "content"), "remove": ("old_text",)}
    given = {"content": content, "old_text": old_text}
    missing = [name for name in needed.get(action, ()) if not given[name]]
    if missing:
        raise ToolError(f"{action} needs {' and '.join(missing)}", kind="validation")
    if content and action != "remove":
        check(content)


def _shown(entries: tuple[str, ...]) -> str:
    return redact("\n§\n".join(entries)) or "(nothing is kept here yet)"
