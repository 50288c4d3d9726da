"""One program that a command runs, and what is found to speak against it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from claw_nb.tools.shell_commands import Command
from claw_nb.tools.shell_paths import Places
from claw_nb.tools.shell_words import Word

Level = Literal["deny", "risky"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that speaks against a command."""

    level: Level
    reason: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """One program with its arguments, wrappers such as ``timeout 5`` taken off."""

    name: str
    args: tuple[Word, ...]
    command: Command
    places: Places
    repeated: bool = False
    """Whether it runs on whatever ``find`` or ``xargs`` come up with."""

    @property
    def texts(self) -> list[str]:
        """The arguments."""
        return [word.text for word in self.args]

    @property
    def operands(self) -> list[str]:
        """The arguments that aren't options."""
        texts = self.texts
        if "--" in texts:
            at = texts.index("--")
            return [text for text in texts[:at] if not text.startswith("-")] + texts[at + 1 :]
        return [text for text in texts if not text.startswith("-") or text == "-"]

    @property
    def line(self) -> str:
        """The arguments in one line to match patterns on; spaces inside a word become ``_``."""
        return " ".join(re.sub(r"\s", "_", text) for text in self.texts)

    def has(self, letters: str, *names: str) -> bool:
        """Whether an option is given: one of the letters, or a long name or its beginning."""
        for text in self.texts:
            if text == "--":
                return False
            if re.fullmatch(r"-[A-Za-z0-9]+", text) and set(text[1:]) & set(letters):
                return True
            if len(text) > 4 and any(name.startswith(text.split("=")[0]) for name in names):
                return True
        return False


def deny(reason: str) -> Finding:
    """It never runs."""
    return Finding(level="deny", reason=reason)


def risky(reason: str) -> Finding:
    """It runs after a yes to exactly this."""
    return Finding(level="risky", reason=reason)
