"""Memories as rows of a table, and the text that they are found by."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from claw_nb.core.records import Memory
from claw_nb.memory.table import KEY

_TIME = pa.timestamp("us", tz="UTC")

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False, metadata=KEY),
        pa.field("text", pa.string()),
        pa.field("category", pa.string()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("agent", pa.string()),
        pa.field("source", pa.string()),
        pa.field("speaker", pa.string()),
        pa.field("session_id", pa.string()),
        pa.field("position", pa.int64()),
        pa.field("created", _TIME),
        pa.field("updated", _TIME),
        pa.field("digest", pa.string()),
        pa.field("status", pa.string()),
    ]
)
"""No vectors here: they stand in a table for each model, so that a new model rewrites nothing."""

_FIELDS = [name for name in SCHEMA.names if name not in ("digest", "status")]
_MONTHS = "January February March April May June July August September October November December"


def to_rows(memories: Sequence[Memory]) -> pa.Table:
    """The rows of active memories."""
    rows = [
        {name: getattr(memory, name) for name in _FIELDS}
        | {"digest": digest(memory), "status": "active"}
        for memory in memories
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def from_rows(rows: pa.Table) -> list[Memory]:
    """The memories of rows with at least the columns of a memory."""
    columns = {name: rows.column(name) for name in _FIELDS}
    for name in ("created", "updated"):
        columns[name] = columns[name].cast(pa.int64())
    columns = {name: column.to_pylist() for name, column in columns.items()}
    columns["tags"] = [tuple(tags or ()) for tags in columns["tags"]]
    names = list(columns)
    return [
        _memory(dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)
    ]


def _memory(row: dict[str, Any]) -> Memory:
    return Memory(**row)


def digest(memory: Memory) -> str:
    """What makes two memories of an agent the same: a turn's place, or a note's words.

    Case, white space, typographic variants, outer quotes and the full stop don't count; signs
    inside the text do ("-5" is not "5").
    """
    place = "" if memory.position is None else f"{memory.session_id}\0{memory.position}"
    text = unicodedata.normalize("NFKC", memory.text).casefold()
    text = re.sub(r"[\u2018\u2019\u201b]", "'", re.sub(r"[\u201c-\u201f]", '"', text))
    text = " ".join(text.split()).strip("\"'").rstrip(".!;,。！；，").strip("\"'")
    return hashlib.sha256(f"{memory.agent}\0{place}\0{text}".encode()).hexdigest()[:32]


def indexed_text(memory: Memory) -> str:
    """What is searched: the date and the speaker count as words of the text, and so do tags."""
    day = datetime.fromtimestamp(memory.created / 1e6, UTC)
    who = f" - {memory.speaker}" if memory.speaker else ""
    tags = f" [{', '.join(memory.tags)}]" if memory.tags else ""
    return f"{day.day} {_MONTHS.split()[day.month - 1]} {day.year}{who}: {memory.text}{tags}"
