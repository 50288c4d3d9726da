"""The SQL catalogue: inbox, segments, state and memories as one set of views."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from claw_nb.store import segments as lake
from claw_nb.store.duck import open_duckdb
from claw_nb.store.home import Home
from claw_nb.store.purging import condition
from claw_nb.store.rows import COLUMNS, VERSION
from claw_nb.store.state import State
from claw_nb.store.trouble import explain_disk
from claw_nb.store.views import NO_MEMORIES, STATE_TABLES, VIEWS

Access = Literal["files", "none"]
"""Whether the connection may open files itself, or is handed what it may read."""

Memories = Literal["read", "empty", "absent"]

_SQLITE_TYPES = {"INTEGER": pa.int64(), "REAL": pa.float64(), "TEXT": pa.string()}


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What was true at one moment: the manifest, the inbox and the state."""

    segments: tuple[lake.Segment, ...]
    inbox: pa.Table
    state: Mapping[str, pa.Table]
    removed: tuple[str, ...]


class Snapshots:
    """Takes snapshots; what it has read of the inbox before is not read again."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._inbox = lake.SCHEMA.empty_table()
        self._removed: tuple[str, ...] = ()

    def take(self, tables: Collection[str] = STATE_TABLES) -> Snapshot:
        """The state of now; tables that are not asked for come empty."""
        with self._lock, self._state.read() as read:
            segments = tuple(lake.live(read))
            removed = tuple(row[0] for row in read.execute("SELECT id FROM removed_sessions"))
            if removed != self._removed:
                # Removing a conversation also deletes from the middle of the inbox.
                self._inbox, self._removed = lake.SCHEMA.empty_table(), removed
            sealed = read.execute("SELECT coalesce(max(hi), 0) FROM segments").fetchone()[0]
            self._inbox = _advanced(self._inbox, read, sealed)
            state = {name: _table(read, name, whole=name in tables) for name in STATE_TABLES}
        return Snapshot(segments=segments, inbox=self._inbox, state=state, removed=removed)


def _advanced(known: pa.Table, read: sqlite3.Connection, sealed: int) -> pa.Table:
    """The inbox, given an older reading of it: sealing takes its rows away from the front."""
    seqs = known["seq"].to_numpy()
    known = known.slice(int(seqs.searchsorted(sealed, side="right")))
    last = max(sealed, int(seqs[-1]) if len(seqs) else 0)
    cursor = read.cursor()
    cursor.row_factory = None
    query = f"SELECT {', '.join(COLUMNS)} FROM inbox WHERE seq > ? ORDER BY seq"
    fresh = lake.arrow(cursor.execute(query, (last,)).fetchall())
    return pa.concat_tables([known, fresh]) if len(fresh) else known


def _table(read: sqlite3.Connection, name: str, *, whole: bool) -> pa.Table:
    cursor = read.cursor()
    cursor.row_factory = None
    columns = [(row[1], row[2]) for row in cursor.execute(f"PRAGMA table_info({name})")]
    schema = pa.schema([(column, _SQLITE_TYPES[kind]) for column, kind in columns])
    rows = cursor.execute(f"SELECT * FROM {name}").fetchall() if whole else []
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(v, field.type) for v, field in zip(values, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def build(
    duck: duckdb.DuckDBPyConnection,
    snapshot: Snapshot,
    home: Home,
    *,
    schema: str,
    access: Access = "files",
    memories: Memories = "read",
) -> None:
    """Create the views in a schema of the connection."""
    duck.execute(f"CREATE SCHEMA raw; CREATE SCHEMA IF NOT EXISTS {schema}")
    duck.register("given", snapshot.inbox)
    columns = ", ".join("data::JSON AS data" if name == "data" else name for name in COLUMNS)
    duck.execute(f"CREATE TABLE raw.inbox AS SELECT {columns} FROM given")
    for name, table in snapshot.state.items():
        duck.register("given", table)
        duck.execute(f"CREATE TABLE raw.{name} AS SELECT * FROM given")
    duck.unregister("given")
    duck.execute(f"CREATE VIEW raw.log AS {_log(duck, snapshot, home, access)}")
    if memories != "absent":
        remembered = _memories(duck, home) if memories == "read" else NO_MEMORIES
        duck.execute(f"CREATE VIEW raw.memories AS {remembered}")
    for name, view in VIEWS.items():
        if memories != "absent" or name != "memories":
            duck.execute(f"CREATE VIEW {schema}.{name} AS {view.select}")


def _log(duck: duckdb.DuckDBPyConnection, snapshot: Snapshot, home: Home, access: Access) -> str:
    query = "SELECT * FROM raw.inbox"
    files = [home.lake / segment.path for segment in snapshot.segments]
    if files and access == "files":
        old = [home.lake / segment.path for segment in snapshot.segments if segment.v != VERSION]
        new = [file for file in files if file not in old]
        if new:
            query += f" UNION ALL BY NAME SELECT * FROM {lake.reading(new, forms='one')}"
        if old:
            query += f" UNION ALL BY NAME SELECT * FROM {lake.reading(old)}"
    elif files:
        # Even a SELECT can write where it may read (COPY inside WITH), and the lake must not be
        # written: such a connection gets the rows, and no path to any file.
        dataset = pads.dataset([str(file) for file in files], schema=lake.SCHEMA, format="parquet")
        duck.register("sealed_log", dataset)
        query += " UNION ALL BY NAME SELECT * REPLACE (data::JSON AS data) FROM sealed_log"
    if snapshot.removed:
        query = f"SELECT * FROM ({query}) WHERE NOT {condition(snapshot.removed)}"
    return query


def _memories(duck: duckdb.DuckDBPyConnection, home: Home) -> str:
    if not home.memories.exists():
        return NO_MEMORIES
    import lance  # half a second, for the one view that needs it

    dataset = lance.dataset(str(home.memories))
    duck.register("remembered", dataset)
    have = set(dataset.schema.names)
    # An older table may lack a column of today's; its type comes from the empty one.
    names = [f'"{name}"' for name in VIEWS["memories"].columns if name in have]
    return f"{NO_MEMORIES} UNION ALL BY NAME SELECT {', '.join(names)} FROM remembered"


def connection(
    snapshots: Snapshots,
    home: Home,
    *,
    frames: Mapping[str, object],
    access: Access = "files",
    words: Collection[str] | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection in memory with the views and the given frames.

    A frame hides a view of the same name, which stays reachable as ``claw.<name>``. With
    ``words``, state and memories that are not among these come empty, without being read.
    """
    tables, memories = _needed(words)
    duck = open_duckdb(temporary=home.temporary)
    try:
        snapshot = snapshots.take(tables)
        build(duck, snapshot, home, schema="claw", access=access, memories=memories)
        for name, frame in frames.items():
            duck.register(name, frame)
        duck.execute("SET search_path = 'main,claw'")
        if access == "none":
            duck.execute("SET memory_limit = '1GB'")
            duck.execute("SET enable_external_access = false")
            duck.execute("SET lock_configuration = true")
    except BaseException:
        duck.close()
        raise
    return duck


def _needed(words: Collection[str] | None) -> tuple[Collection[str], Memories]:
    if words is None:
        return STATE_TABLES, "read"
    tables = {name for name in STATE_TABLES if name in words}
    if "task_runs" in words:
        tables |= {"runs", "tasks"}
    return tables, "read" if "memories" in words else "empty"


def publish(home: Home, state: State) -> None:
    """Write claw.duckdb anew: views over the segments, and the state as it is now.

    Any DuckDB client opens it read-only. The inbox is not in it (it is a minute old at most), nor
    are the memories (plain DuckDB cannot read LanceDB).
    """
    fresh = home.catalog.with_name(f".{home.catalog.name}")
    snapshot = replace(Snapshots(state).take(), inbox=lake.SCHEMA.empty_table())
    with explain_disk(fresh):
        for left in (fresh, fresh.with_name(f"{fresh.name}.wal")):
            # A killed compactor's; DuckDB would replay its log into the new file.
            left.unlink(missing_ok=True)
        duck = open_duckdb(fresh)
        try:
            duck.execute("BEGIN")
            build(duck, snapshot, home, schema="main", memories="absent")
            duck.execute("COMMIT")
        finally:
            duck.close()
        os.replace(fresh, home.catalog)  # noqa: PTH105
