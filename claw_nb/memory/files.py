"""The few things that always matter: user.md, memory/FACT.md and the daily notes of one agent."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

from claw_nb.core.atomic import write_whole
from claw_nb.core.clock import Clock, now
from claw_nb.core.errors import Conflict, InvalidInput, NotFound, StoreError
from claw_nb.core.locks import FileLock
from claw_nb.memory import guard

Target = Literal["user", "memory", "daily"]

CAPS: Mapping[Target, int] = {"user": 1_375, "memory": 2_200, "daily": 4_000}
"""Characters of a file at most: each of them is read by the model at every start."""

MARK = "§"
_BETWEEN = f"\n{MARK}\n"
_ALONE = re.compile(rf"^[ \t]*{MARK}[ \t]*\r?$", re.MULTILINE)


class MemoryFiles:
    """Reads and changes the memory files in an agent's root. Entries stand between lines of ``§``.

    Every change is atomic and made under one lock. A file that a person has changed into another
    form is copied to ``NAME.bak`` and left alone.
    """

    def __init__(self, root: Path, *, clock: Clock = now) -> None:
        self._root = root
        self._clock = clock

    def path(self, target: Target, *, day: date | None = None) -> Path:
        """Where a target's entries are; those of ``daily`` are of ``day``, else of today."""
        match target:
            case "user":
                return self._root / "user.md"
            case "memory":
                return self._root / "memory" / "FACT.md"
            case "daily":
                name = f"{(day or self.today()).isoformat()}.md"
                return self._root / "memory" / "daily" / name

    def today(self) -> date:
        """The day here, by the machine's clock and zone."""
        return datetime.fromtimestamp(self._clock() / 1e6, UTC).astimezone().date()

    def entries(self, target: Target, *, day: date | None = None) -> tuple[str, ...]:
        """The entries of a file, in whatever form it is."""
        text = _text(self.path(target, day=day))
        return tuple(entry for part in _ALONE.split(text) if (entry := part.strip()))

    def recent(self) -> Mapping[str, tuple[str, ...]]:
        """Everything that a session starts with, by what it is."""
        today = self.today()
        yesterday = today - timedelta(days=1)
        return {
            "About the user": self.entries("user"),
            "What you keep in mind": self.entries("memory"),
            f"Notes of yesterday, {yesterday}": self.entries("daily", day=yesterday),
            f"Notes of today, {today}": self.entries("daily", day=today),
        }

    def add(self, target: Target, text: str) -> str:
        """Add an entry; returns how full the file is."""
        entry = _checked(text)

        def added(entries: list[str]) -> None:
            if entry in entries:
                raise Conflict("this entry is there already", hint="Nothing was added.")
            entries.append(entry)

        return self._change(target, added)

    def replace(self, target: Target, part: str, text: str) -> str:
        """Put ``text`` in place of the one entry that holds ``part``."""
        entry = _checked(text)

        def replaced(entries: list[str]) -> None:
            entries[_only(entries, part)] = entry

        return self._change(target, replaced)

    def remove(self, target: Target, part: str) -> str:
        """Remove the one entry that holds ``part``."""

        def removed(entries: list[str]) -> None:
            del entries[_only(entries, part)]

        return self._change(target, removed)

    def _change(self, target: Target, change: Callable[[list[str]], None]) -> str:
        path = self.path(target)
        with FileLock(self._root / "memory" / ".lock"):
            entries = _parsed(path)
            before = _size(entries)
            change(entries)
            size = _size(entries)
            # A file that is too full already may still shrink.
            if size > CAPS[target] and size > before:
                raise InvalidInput(
                    f"{target} would have {size:,} characters, and {CAPS[target]:,} are the most",
                    hint="Shorten the text, or first replace or remove entries that matter less.",
                )
            write_whole(path, _BETWEEN.join(entries) + "\n" if entries else "")
        return f"{target}: {len(entries)} entries, {size:,} of {CAPS[target]:,} characters."


def _checked(text: str) -> str:
    entry = guard.check(text.replace("\r\n", "\n"))
    if _ALONE.search(entry):
        raise InvalidInput(f"an entry can't have a line with {MARK} alone", hint="Add two entries.")
    return entry


def _only(entries: list[str], part: str) -> int:
    """The place of the one entry that holds ``part``."""
    if not part.strip():
        raise InvalidInput("no entry is named", hint="Give a part of the entry's text.")
    found = [at for at, entry in enumerate(entries) if part in entry]
    if not found:
        raise NotFound(f"no entry holds {part!r}", hint="Read the file for the exact words.")
    if len(found) > 1:
        starts = "; ".join(repr(entries[at][:60]) for at in found)
        raise InvalidInput(
            f"{len(found)} entries hold {part!r}: {starts}", hint="Give more of the one you mean."
        )
    return found[0]


def _size(entries: list[str]) -> int:
    return len(_BETWEEN.join(entries))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error


def _parsed(path: Path) -> list[str]:
    """The entries of a file that is written back as it was read; else Conflict, and a copy."""
    text = _text(path)
    body = text.removesuffix("\n")
    entries = body.split(_BETWEEN) if body else []
    sound = (
        "\r" not in text
        and "\ufffd" not in text
        and all(entry == entry.strip() != "" and not _ALONE.search(entry) for entry in entries)
    )
    if sound:
        return entries
    copy = path.with_name(f"{path.name}.bak")
    try:
        shutil.copyfile(path, copy)
    except OSError as error:
        raise StoreError(f"{copy} cannot be written: {error.strerror or error}") from error
    raise Conflict(
        f"{path.name} was changed by hand and would not be written back as it is",
        hint=f"It was left alone, and a copy is {copy.name}. Ask the user to put a line with "
        f"{MARK} alone, and no empty lines, between the entries.",
    )
