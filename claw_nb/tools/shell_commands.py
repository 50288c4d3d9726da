"""A shell script as values: its commands, with their words, inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass

from claw_nb.tools.shell_words import Word


@dataclass(frozen=True, kw_only=True)
class Redirect:
    """``> file`` and its like; for ``<<`` and ``<<<`` the target is the text itself."""

    operator: str
    target: Word


@dataclass(frozen=True, kw_only=True)
class Command:
    """One simple command. ``feeds`` are the commands whose output it reads, nearest first."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    feeds: tuple[Command, ...] = ()
    assigned: tuple[tuple[str, Word], ...] = ()
    inputs: tuple[Command, ...] = ()
    """The commands in its ``<( )`` and ``$( )``."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function: its name and the names of the commands in its body, in order."""

    name: str
    calls: tuple[str, ...]
    branches: bool
    """Whether it runs several things at the same time: a pipe or ``&``."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """What a script would run. ``clear`` is false when a part of it can't be read."""

    commands: tuple[Command, ...]
    functions: tuple[Function, ...] = ()
    clear: bool = True
    plain: bool = False
    """Whether its words are certainly what the shell will see; see ``shell_plain``."""
