"""What a command gives back; the command line prints it, a notebook shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A table. ``records`` are the same rows as JSON objects, for ``--json``."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    records: Sequence[Mapping[str, Any]]
    empty: str = "Nothing here yet."


@dataclass(frozen=True, kw_only=True)
class Record:
    """One thing with its fields, in order."""

    title: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Note:
    """A sentence for the user; ``facts`` is the same for ``--json``."""

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


Output = Listing | Record | Note


def as_json(output: Output) -> Any:
    """The JSON value of an output."""
    match output:
        case Listing(records=records):
            return [dict(record) for record in records]
        case Record(fields=values):
            return dict(values)
        case Note(text=text, facts=facts):
            return dict(facts) or {"message": text}
