"""Sealed log segments: immutable Parquet files, and their manifest in state.db."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from claw_nb.core.clock import Clock, NewId
from claw_nb.store.disk import sync_file, sync_folder
from claw_nb.store.duck import listed, quoted, scratch
from claw_nb.store.home import Home
from claw_nb.store.rows import COLUMNS, SAID, VERSION
from claw_nb.store.trouble import explain_disk

_ROW_GROUP = 40_960
"""A scan wants large ones, the rows of one session small ones; measured over a million rows."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One file. It holds rows with ``lo <= seq <= hi``; ``path`` is relative to the lake.

    ``v`` is the version of the rows' form, which says what columns the file has.
    """

    id: str
    path: str
    lo: int
    hi: int
    rows: int
    bytes: int
    v: int
    created: int


_ARROW = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "TIMESTAMP": pa.timestamp("us"),
}
SCHEMA = pa.schema([(name, _ARROW.get(kind, pa.string())) for name, kind in COLUMNS.items()])
"""The log's columns in Arrow; JSON is text there."""


def arrow(rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """Inbox rows as a table; they have the columns of the log in order."""
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [
        pa.array(values, pa.int64()).cast(field.type)
        if pa.types.is_timestamp(field.type)
        else pa.array(values, field.type)
        for values, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def live(connection: sqlite3.Connection) -> list[Segment]:
    """The segments that count, oldest first."""
    query = "SELECT * FROM segments WHERE died IS NULL ORDER BY lo, id"
    return [
        Segment(**{key: row[key] for key in row.keys() if key != "died"})  # noqa: SIM118
        for row in connection.execute(query)
    ]


def reading(files: Sequence[Path], *, forms: Literal["one", "any"] = "any", also: str = "") -> str:
    """The SQL to read segment files; a column that an old file lacks is NULL.

    Files of ``one`` form are faster to plan: only the first is opened for its columns.
    """
    by_name = "true" if forms == "any" else "false"
    options = f"union_by_name = {by_name}, hive_partitioning = false{also}"
    return f"read_parquet({listed(files)}, {options})"


class SegmentWriter:
    """Writes new files; nothing refers to one before its row is in the manifest."""

    def __init__(self, home: Home, *, data_id: str, clock: Clock, new_id: NewId) -> None:
        self._home = home
        self._data_id = data_id
        self._clock = clock
        self._new_id = new_id

    def begin(self) -> tuple[str, Path]:
        """A new segment's id, and the temporary file to write it to."""
        name = self._new_id()
        folder = self._home.lake / "events"
        with explain_disk(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return name, folder / f".{name}.parquet"

    def write(
        self, fresh: Path, source: pa.Table | Sequence[Path], *, without: str = "false"
    ) -> int:
        """Write rows, sorted so that a session's rows lie together, sync the file, count them.

        ``without`` is a condition on rows to leave out.
        """
        with scratch(self._home.temporary) as duck, explain_disk(fresh):
            if isinstance(source, pa.Table):
                duck.register("source", source)
            else:
                duck.execute(f"CREATE VIEW source AS SELECT * FROM {reading(source)}")
            columns = ", ".join(
                f"data::JSON AS {name}" if name == "data" else name for name in COLUMNS
            )
            written = duck.execute(
                f"COPY (SELECT {columns} FROM source WHERE NOT ({without}) ORDER BY session_id, seq) "
                f"TO {quoted(fresh)} (FORMAT parquet, COMPRESSION zstd, "
                f"ROW_GROUP_SIZE {_ROW_GROUP}, KV_METADATA {{data_id: {quoted(self._data_id)}}})"
            ).fetchall()
            sync_file(fresh)
        return int(written[0][0])

    def finish(self, name: str, fresh: Path, *, lo: int, hi: int, rows: int) -> Segment:
        """Give the file its name, on the disk when this returns."""
        now = self._clock()
        day = datetime.fromtimestamp(now / 1_000_000, UTC).date().isoformat()
        path = fresh.parent / f"day={day}" / f"{name}.parquet"
        with explain_disk(path):
            path.parent.mkdir(exist_ok=True)
            fresh.rename(path)
            sync_folder(path.parent)
            sync_folder(fresh.parent)
            size = path.stat().st_size
        return Segment(
            id=name,
            path=path.relative_to(self._home.lake).as_posix(),
            lo=lo,
            hi=hi,
            rows=rows,
            bytes=size,
            v=VERSION,
            created=now,
        )


def register(tx: sqlite3.Connection, segment: Segment) -> None:
    """Enter a segment in the manifest."""
    tx.execute(
        "INSERT INTO segments (id, path, lo, hi, rows, bytes, v, created) "
        "VALUES (?,?,?,?,?,?,?,?)",
        (segment.id, segment.path, segment.lo, segment.hi, segment.rows, segment.bytes,
         segment.v, segment.created),
    )  # fmt: skip


def bury(tx: sqlite3.Connection, segments: Sequence[Segment], *, at: int) -> None:
    """Mark segments as replaced; their files stay for readers who still have them listed."""
    tx.executemany("UPDATE segments SET died = ? WHERE id = ?", [(at, s.id) for s in segments])


def rows_of(
    files: Sequence[Path], session_id: str, columns: Sequence[str]
) -> list[tuple[Any, ...]]:
    """The sealed messages of one session in order, with ``ts`` in microseconds."""
    casts = {"ts": "epoch_us(ts)", "data": "data::VARCHAR"}
    with scratch() as duck:
        return duck.execute(
            f"SELECT {', '.join(casts.get(name, name) for name in columns)} FROM {reading(files)} "
            f"WHERE session_id = ? AND {SAID} ORDER BY seq",
            [session_id],
        ).fetchall()
