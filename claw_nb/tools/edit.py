"""Replacing exact pieces of a text: each unique, none overlapping, everything else untouched."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from claw_nb.core.errors import ToolError

RE_READ = "Re-read the file before retrying because it may have changed."
EXACTLY = "Use exact old_text including whitespace and newlines."
UNIQUE = (
    "Use enough surrounding context to make each replacement unique, or merge overlapping edits."
)

_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " "),
    }
)


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One replacement."""

    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Edited:
    """The new text, and what the reader should know of how it came about."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Place:
    start: int
    end: int
    number: int
    new: str


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """A text as it is compared; ``origin[i]`` is where its i-th character stood."""

    text: str
    origin: Sequence[int]


def apply(text: str, edits: Sequence[Edit], *, name: str) -> Edited:
    """All edits made at once, each against ``text`` as it is; raises ToolError.

    Line ends count as one newline, whatever the file uses. Trailing spaces and typographic quotes,
    dashes and spaces are overlooked, with a note, where that finds exactly one place.
    """
    if not edits:
        raise ToolError("edit_file needs at least one edit", kind="validation")
    exact = _read(text, _as_it_is)
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    places, notes = [], []
    for number, edit in enumerate(edits, 1):
        place, note = _find(text, exact, edit, number, name)
        places.append(place)
        notes += [note] if note else []
    places.sort(key=lambda place: place.start)
    _check_apart(text, places, name)
    pieces, done = [], 0
    for place in places:
        new = place.new.replace("\r\n", "\n").replace("\n", newline)
        pieces += [text[done : place.start], new]
        done = place.end
    result = "".join((*pieces, text[done:]))
    if result == text:
        raise ToolError(
            f"the edits would leave {name} as it is",
            kind="validation",
            hints=("Make new_text differ from old_text, or go on: the text is already there.",),
        )
    return Edited(text=result, notes=tuple(notes))


def _find(
    text: str, exact: _Reading, edit: Edit, number: int, name: str
) -> tuple[_Place, str | None]:
    if not edit.old:
        raise ToolError(
            f"edit {number} has no old_text",
            kind="validation",
            hints=("Give the text to replace; write_file makes new files.",),
        )
    for reading, way in ((exact, _as_it_is), (None, _tolerantly)):
        reading = reading or _read(text, way)
        old = _read(edit.old, way).text
        if not old.strip("\n") and way is _tolerantly:
            break
        starts = _occurrences(reading.text, old)
        if len(starts) > 1:
            lines = ", ".join(str(_line(reading.text, start)) for start in starts[:10])
            raise ToolError(
                f"old_text of edit {number} stands {len(starts)} times in {name}, at lines {lines}",
                kind="conflict",
                hints=(EXACTLY, UNIQUE),
            )
        if starts:
            start, end = reading.origin[starts[0]], reading.origin[starts[0] + len(old)]
            place = _Place(start=start, end=end, number=number, new=edit.new)
            overlooked = way is _tolerantly
            return place, _NOTE.format(number) if overlooked else None
    raise ToolError(
        f"could not find old_text of edit {number} in {name}; "
        "it must match exactly including whitespace and newlines",
        kind="conflict",
        hints=(*_nearest(text, edit.old), RE_READ, EXACTLY, UNIQUE),
    )


_NOTE = "Edit {} matched only after overlooking trailing spaces or typographic quotes, dashes or spaces."


def _check_apart(text: str, places: Sequence[_Place], name: str) -> None:
    for before, after in pairwise(places):
        if after.start < before.end:
            raise ToolError(
                f"edits {before.number} and {after.number} overlap in {name} "
                f"at line {_line(text, after.start)}",
                kind="conflict",
                hints=("Merge them into one edit.", UNIQUE),
            )


def _as_it_is(line: str) -> str:
    return line


def _tolerantly(line: str) -> str:
    return line.rstrip(" \t\u00a0\u3000").translate(_LOOKALIKES)


def _read(text: str, way: Callable[[str], str]) -> _Reading:
    if way is _as_it_is and "\r\n" not in text:
        return _Reading(text=text, origin=range(len(text) + 1))
    lines: list[str] = []
    origin: list[int] = []
    at = 0
    for line in text.split("\n"):
        kept = way(line.removesuffix("\r"))
        lines.append(kept)
        origin += range(at, at + len(kept))
        at += len(line)
        # Where the newline stands, with the carriage return and the spaces dropped before it.
        origin.append(at - (len(line) - len(line.removesuffix("\r"))))
        at += 1
    origin[-1] = len(text)
    return _Reading(text="\n".join(lines), origin=origin)


def _occurrences(text: str, old: str) -> list[int]:
    starts, at = [], text.find(old)
    while at >= 0:
        starts.append(at)
        at = text.find(old, at + 1)
    return starts


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _nearest(text: str, old: str) -> tuple[str, ...]:
    """Where the first line of what was sought almost stands."""
    sought = next((line for line in old.splitlines() if line.strip()), "")
    lines = text.splitlines()[:20_000]
    bare = "".join(sought.split())
    same = [n for n, line in enumerate(lines, 1) if "".join(line.split()) == bare] if bare else []
    if same:
        found = lines[same[0] - 1][:200]
        return (f"Line {same[0]} is like its first line, but for white space: {found!r}.",)
    close = difflib.get_close_matches(sought, lines[:2_000], n=1, cutoff=0.7)
    return (
        (f"The closest line is {lines.index(close[0]) + 1}: {close[0][:200]!r}.",) if close else ()
    )
