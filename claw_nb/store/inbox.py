"""The hot end of the log: rows in SQLite until they are sealed, on the disk when SQLite refuses."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

from claw_nb.core.clock import Clock, NewId
from claw_nb.core.errors import StoreError
from claw_nb.core.records import LogRow
from claw_nb.store import projections
from claw_nb.store.blobs import Blobs
from claw_nb.store.disk import sync_folder, write_synced
from claw_nb.store.home import Home
from claw_nb.store.rows import KEPT, LIMIT, Packed, pack
from claw_nb.store.state import State
from claw_nb.store.trouble import explain_disk

_INSERT = f"INSERT INTO inbox ({', '.join(KEPT)}) VALUES ({', '.join('?' * len(KEPT))})"
_values = itemgetter(*KEPT)
_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
"""Refusals that pass: the rows wait in a file meanwhile."""

_PATIENCE = 3.0
"""Seconds before rows go to a file instead: appending happens on the way of a running cell."""

DUE_ROWS = 5_000
DUE_AGE = 60 * 1_000_000
"""The inbox is sealed when it holds so many rows or one so old (in microseconds)."""

_REMEMBERED = 24 * 3600 * 1_000_000
"""How long an import is remembered, so that a slow second importer sees that it was done."""


class Inbox:
    """Where every process appends."""

    def __init__(
        self, home: Home, state: State, blobs: Blobs, *, clock: Clock, new_id: NewId
    ) -> None:
        self._folder = home.spill
        self._state = state
        self.blobs = blobs
        self._clock = clock
        self._new_id = new_id
        self._host = platform.node().split(".")[0] or "local"

    def append(self, rows: Sequence[LogRow], *, tx: sqlite3.Connection | None = None) -> int | None:
        """Insert the rows and return the ``seq`` of the last one, None when they were spilled."""
        return self.insert(self.pack(rows), tx=tx)

    def pack(self, rows: Sequence[LogRow], *, limit: int = LIMIT) -> list[Packed]:
        """The rows as they are inserted; payloads beyond the limit are in blobs by then."""
        writer = f"{self._host}:{os.getpid()}"
        return [pack(row, writer=writer, save=self.blobs.save, limit=limit) for row in rows]

    def insert(
        self, packed: Sequence[Packed], *, tx: sqlite3.Connection | None = None
    ) -> int | None:
        """Insert packed rows; see ``append``. Within a call the ``seq`` rises by one each row."""
        if tx is not None:
            return self._insert(tx, packed)
        try:
            with self._state.tx(patience=_PATIENCE) as own:
                return self._insert(own, packed)
        except StoreError as refused:
            if getattr(refused, "code", 0) & 0xFF not in _PASSING:
                raise
            self._spill(packed, refused)
            return None

    def is_due(self) -> bool:
        """Whether it is time to seal what is here."""
        with self._state.read() as read:
            first, last, oldest = read.execute(
                "SELECT min(seq), max(seq), (SELECT ts FROM inbox ORDER BY seq LIMIT 1) FROM inbox"
            ).fetchone()
        if first is None:
            return False
        full: bool = last - first + 1 >= DUE_ROWS
        return full or self._clock() - oldest >= DUE_AGE

    def _spill(self, packed: Sequence[Packed], refused: StoreError) -> None:
        name = f"{self._host}-{os.getpid()}-{self._new_id()}.jsonl"
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in packed)
        fresh = self._folder / f".{name}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_synced(fresh, lines.encode())
            fresh.rename(self._folder / name)
            sync_folder(self._folder)
        except OSError:
            # What stopped SQLite stops us too; its words say more.
            fresh.unlink(missing_ok=True)
            raise refused from None

    def import_spilled(self) -> int:
        """Take in what was spilled, each file exactly once; returns the number of rows."""
        try:
            files = sorted(self._folder.glob("[!.]*.jsonl"))
        except FileNotFoundError:
            return 0
        return sum(self._import(file) for file in files)

    def _import(self, file: Path) -> int:
        with explain_disk(file):
            try:
                # Of bytes: as text, U+2028 and its like would end a line too.
                packed = [json.loads(line) for line in file.read_bytes().splitlines()]
            except FileNotFoundError:
                return 0
            with self._state.tx(survives="power") as tx:
                tx.execute("DELETE FROM spilled WHERE imported < ?", (self._clock() - _REMEMBERED,))
                first = tx.execute(
                    "INSERT OR IGNORE INTO spilled VALUES (?, ?)", (file.name, self._clock())
                ).rowcount
                if first:
                    self._insert(tx, packed)
            file.unlink(missing_ok=True)
        return len(packed) if first else 0

    def _insert(self, tx: sqlite3.Connection, packed: Sequence[Packed]) -> int | None:
        seq = None
        for row in packed:
            seq = tx.execute(_INSERT, _values(row)).lastrowid
            projections.apply(tx, row, self.blobs.load)
        return seq
