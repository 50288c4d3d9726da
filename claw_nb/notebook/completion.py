"""Tab after `%claw`: words, options, and the names of what is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from claw_nb.commands import group
from claw_nb.core.errors import ClawError
from claw_nb.notebook.guide import WORDS
from claw_nb.notebook.question import CHARTS, OPTIONS, SQL_OPTIONS

if TYPE_CHECKING:
    from claw_nb.workspace import Workspace


def complete(line: str, workspace: Workspace) -> list[str]:
    """What may stand where the cursor is, at the end of ``line``."""
    words = line.split()
    typed = "" if line.endswith(" ") else words.pop()
    before = words[1:]
    if not before:
        first = [word.split()[0] for word in WORDS]
        return _fitting(typed, [*first, *(name for name in group.commands if name not in first)])
    return _fitting(typed, _after(before, workspace))


def _after(before: list[str], workspace: Workspace) -> Iterable[str]:
    match before:
        case ["ask", *_, "--session"]:
            return _sessions(workspace)
        case ["ask", *_, "--allow"]:
            return [tool.name for tool in workspace.tools()]
        case ["ask", *_]:
            return OPTIONS
        case ["sql", *_, "--chart"]:
            return CHARTS
        case ["sql", *_]:
            return SQL_OPTIONS
    return _of_command(before, workspace)


def _of_command(before: list[str], workspace: Workspace) -> Iterable[str]:
    command: click.Command = group
    for word in before:
        if isinstance(command, click.Group) and word in command.commands:
            command = command.commands[word]
    if isinstance(command, click.Group):
        return command.commands
    names = [option for parameter in command.params for option in parameter.opts]
    options = [name for name in names if name.startswith("--")]
    if any(isinstance(parameter, click.Argument) for parameter in command.params):
        options += _kept(before[0], workspace)
    return options


def _kept(noun: str, workspace: Workspace) -> list[str]:
    match noun:
        case "sessions":
            return _sessions(workspace)
        case "task":
            return _quietly(lambda: [task.name for task in workspace.tasks.list()[0]])
    return []


def _sessions(workspace: Workspace) -> list[str]:
    return _quietly(lambda: [session.id for session in workspace.store.sessions.list()[0]])


def _quietly(names: Any) -> list[str]:
    """A home that can't be read completes nothing; the command itself will tell."""
    try:
        return list(names())
    except ClawError:
        return []


def _fitting(typed: str, words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if word.startswith(typed))
