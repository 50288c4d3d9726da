"""A log row as SQLite, Parquet and JSON keep it: clean text, small, the same columns everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from claw_nb.core.records import LogRow

VERSION = 1
"""Of a row's form; kept with each row, for segments are never rewritten."""

COLUMNS: Mapping[str, str] = {
    "seq": "BIGINT",
    "id": "VARCHAR",
    "ts": "TIMESTAMP",
    "writer": "VARCHAR",
    "session_id": "VARCHAR",
    "run_id": "VARCHAR",
    "parent_id": "VARCHAR",
    "task_id": "VARCHAR",
    "agent": "VARCHAR",
    "kind": "VARCHAR",
    "role": "VARCHAR",
    "name": "VARCHAR",
    "status": "VARCHAR",
    "model": "VARCHAR",
    "tokens_in": "BIGINT",
    "tokens_out": "BIGINT",
    "cost": "DOUBLE",
    "ms": "DOUBLE",
    "blob": "VARCHAR",
    "v": "INTEGER",
    "text": "VARCHAR",
    "data": "JSON",
}
"""The columns of the log in order, with their DuckDB types. ``ts`` is UTC."""


def clean(text: str) -> str:
    """Text that every reader accepts: surrogate pairs joined, lone ones and NUL replaced.

    DuckDB drops a whole JSON line for a lone surrogate, and SQLite's C readers stop at NUL.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd") if "\0" in text else text


def clean_json(value: Any) -> Any:
    """A JSON value with clean strings; what JSON can't say (NaN, an object) becomes null or text."""
    match value:
        case str():
            return clean(value)
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {clean(str(key)): clean_json(item) for key, item in value.items()}
        case list() | tuple():
            return [clean_json(item) for item in value]
        case _:
            return clean(str(value))


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def dumps(value: Mapping[str, Any]) -> str:
    """Compact JSON text of a value, made clean."""
    if not value:
        return "{}"
    try:
        text = _encode(value)
        if "\\u0000" not in text:
            text.encode()
            return text
    except (TypeError, ValueError):
        pass
    return _encode(clean_json(value))


LIMIT = 64_000
"""Characters of ``text`` and ``data`` together above which they move to a blob."""

PREVIEW = 2_000
"""Characters of a moved text that stay in the row."""

SAID = "(kind = 'message.added' OR (kind = 'compaction.finished' AND status = 'ok'))"
"""The SQL condition on rows that make up a conversation."""

KEPT = tuple(name for name in COLUMNS if name != "seq")
"""The columns that a writer fills; SQLite gives the ``seq``."""

_HOT = tuple(name for name in KEPT if name not in {"writer", "blob", "v", "text", "data"})
_hot = attrgetter(*_HOT)

Packed = dict[str, Any]
"""A row's columns by name."""


def pack(row: LogRow, *, writer: str, save: Callable[[str], str], limit: int = LIMIT) -> Packed:
    """The row's columns; ``save`` keeps a payload beyond the limit and returns its digest."""
    text = None if row.text is None else clean(row.text)
    data, blob = dumps(row.data), None
    if len(text or "") + len(data) > limit:
        blob = save(dumps({"text": text, "data": row.data}))
        text, data = text and text[:PREVIEW], "{}"
    packed: Packed = dict(zip(_HOT, _hot(row), strict=True))
    words = "".join([value for value in packed.values() if isinstance(value, str)])
    if not words.isascii() or "\0" in words:
        packed = clean_json(packed)
    packed.update(writer=writer, blob=blob, v=VERSION, text=text, data=data)
    return packed


def payload(data: str, blob: str | None, load: Callable[[str], str]) -> dict[str, Any]:
    """The ``data`` of a packed row, from its blob when it was moved there."""
    whole: dict[str, Any] = json.loads(load(blob))["data"] if blob else json.loads(data)
    return whole
