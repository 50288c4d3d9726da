"""The connections to state.db: one per thread, short transactions, none of them crosses a fork."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from claw_nb.core.clock import Clock, NewId
from claw_nb.core.errors import StoreError
from claw_nb.core.locks import FileLock
from claw_nb.store import forks, migrations
from claw_nb.store.trouble import explain_sqlite, explained

Survives = Literal["kill", "power"]
"""What a commit outlives: the death of this process, or the loss of power (4 ms instead of 0.1)."""

_MIN_READER = "SELECT value FROM meta WHERE key = 'min_reader'"

_SYNCHRONOUS: dict[Survives, str] = {"kill": "NORMAL", "power": "FULL"}


@dataclass(kw_only=True)
class _Open:
    connection: sqlite3.Connection
    thread: threading.Thread
    file: tuple[int, int]
    survives: Survives = "kill"
    patience: float


class State:
    """One SQLite file, used by any number of threads and processes."""

    def __init__(
        self, path: Path, *, journal: Literal["WAL", "TRUNCATE"], wait: float = 15.0
    ) -> None:
        self.path = path
        self.journal = journal
        self.wait = wait
        self.data_id: str | None = None
        self._open: dict[int, _Open] = {}
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._leaked: list[_Open] = []
        self._closed = False
        forks.watch(self)

    @contextmanager
    def tx(
        self, *, survives: Survives = "kill", patience: float | None = None
    ) -> Iterator[sqlite3.Connection]:
        """``BEGIN IMMEDIATE`` … ``COMMIT``, or all of it undone when the block raises.

        ``patience`` is how many seconds another process's transaction may keep us waiting.
        """
        with self._using() as opened:
            connection = opened.connection
            if connection.in_transaction:
                raise StoreError(
                    "This thread is already inside a transaction.",
                    hint="Pass the open one on, with tx=…, instead of beginning another.",
                )
            if opened.survives != survives:
                connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[survives]}")
                opened.survives = survives
            self._wait_up_to(opened, min(patience or self.wait, self.wait))
            connection.execute("BEGIN IMMEDIATE")
            try:
                # A newer release may have migrated the file while this process was running.
                migrations.check_reader(connection.execute(_MIN_READER).fetchone()[0])
                yield connection
                if self._pid != os.getpid():
                    raise StoreError(
                        "The process was forked inside a transaction, and this is the child.",
                        hint="Fork before or after; the parent's transaction goes on.",
                    )
                connection.execute("COMMIT")
            except BaseException:
                if self._pid == os.getpid():
                    _rollback(connection)
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """The thread's connection, to read one consistent state; inside ``tx`` it is the same."""
        with self._using() as opened:
            connection = opened.connection
            if connection.in_transaction:
                yield connection
                return
            self._wait_up_to(opened, self.wait)
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                # Nothing was written, and a read transaction must not live on: it pins the WAL.
                _rollback(connection)

    def _wait_up_to(self, opened: _Open, patience: float) -> None:
        if opened.patience != patience:
            opened.connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
            opened.patience = patience

    @contextmanager
    def _using(self) -> Iterator[_Open]:
        forks.enter()
        try:
            yield self._mine()
        except sqlite3.Error as error:
            better = explained(error, self.path)
            if better is error:
                raise
            raise better from error
        finally:
            forks.leave()

    def prepare(self, lock: FileLock, *, clock: Clock, new_id: NewId) -> str:
        """Make the file, or bring it to this version, and return the home's ``data_id``.

        Raises NewerSchema when a newer release wrote it.
        """
        if not self.path.exists() or self._version() < migrations.VERSION:
            with lock, forks.no_fork(), explain_sqlite(self.path), closing(self.connect()) as new:
                # SQLite's own lock would do for the tables, but not for the journal mode.
                new.execute(f"PRAGMA journal_mode = {self.journal}")
                migrations.migrate(new, clock=clock, new_id=new_id)
        with self.read() as connection:
            query = "SELECT value FROM meta WHERE key = 'data_id'"
            self.data_id = str(connection.execute(query).fetchone()[0])
        return self.data_id

    def _version(self) -> int:
        with forks.no_fork(), explain_sqlite(self.path), closing(self.connect()) as connection:
            return migrations.version_of(connection)

    def checkpoint(self, how: Literal["passive", "whole"]) -> None:
        """Move what the write-ahead log holds into the file, as far as nobody still reads it.

        ``whole`` waits for readers and leaves no old page in the log.
        """
        mode = {"passive": "PASSIVE", "whole": "TRUNCATE"}[how]
        with forks.no_fork(), explain_sqlite(self.path), closing(self.connect()) as connection:
            connection.execute(f"PRAGMA wal_checkpoint({mode})")

    def connect(self) -> sqlite3.Connection:
        """A new connection to the file, which the caller closes."""
        with explain_sqlite(self.path):
            connection = sqlite3.connect(
                self.path, timeout=self.wait, isolation_level=None, check_same_thread=False
            )
            try:
                connection.row_factory = sqlite3.Row
                if self.journal == "TRUNCATE":
                    # WAL is a property of the file, this one is of the connection.
                    connection.execute("PRAGMA journal_mode = TRUNCATE")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA foreign_keys = ON")
                # What is deleted is overwritten: a removed conversation must not stay in free pages.
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("PRAGMA journal_size_limit = 16777216")
            except BaseException:
                connection.close()
                raise
            return connection

    def close(self) -> None:
        """Close every thread's connection; a later use raises StoreError."""
        self._closed = True
        self.close_connections()

    def close_connections(self) -> None:
        """Close them for now; the next use opens a new one."""
        with self._lock:
            for opened in self._open.values():
                if not opened.connection.in_transaction:
                    opened.connection.close()
                else:
                    self._leaked.append(opened)
            self._open.clear()

    def _mine(self) -> _Open:
        if self._closed:
            raise StoreError("The store is closed.", hint="Open it again.")
        if self._pid != os.getpid():
            self._after_fork()
        opened = self._open.get(threading.get_ident())
        if opened and opened.thread is threading.current_thread():
            if opened.file == self._file():
                return opened
            with self._lock:
                self._open.pop(threading.get_ident()).connection.close()
        return self._fresh()

    def _fresh(self) -> _Open:
        with self._lock:
            for ident, other in list(self._open.items()):
                if not other.thread.is_alive():
                    self._open.pop(ident).connection.close()
        file = self._file()
        connection = self.connect()
        self._check_identity(connection)
        opened = _Open(
            connection=connection,
            thread=threading.current_thread(),
            file=file,
            patience=self.wait,
        )
        with self._lock:
            self._open[threading.get_ident()] = opened
        return opened

    def _file(self) -> tuple[int, int]:
        try:
            stat = os.stat(self.path)  # noqa: PTH116  (twice as fast, on every transaction)
        except FileNotFoundError as error:
            raise StoreError(
                f"{self.path} has gone.",
                hint="Was the data home moved or deleted? Restart the kernel to begin a new one.",
            ) from error
        return stat.st_dev, stat.st_ino

    def _check_identity(self, connection: sqlite3.Connection) -> None:
        if self.data_id is None:
            return
        row = connection.execute("SELECT value FROM meta WHERE key = 'data_id'").fetchone()
        if row is None or row[0] != self.data_id:
            connection.close()
            raise StoreError(
                f"{self.path} is not the file that this process opened: another data home has "
                "taken its place.",
                hint="Restart the kernel to work with the new one. Nothing was written to it.",
            )

    def _after_fork(self) -> None:
        # A fork that our hooks did not see. SQLite forbids even closing these here.
        self._leaked += self._open.values()
        self._open = {}
        self._lock = threading.Lock()
        self._pid = os.getpid()


def _rollback(connection: sqlite3.Connection) -> None:
    # SQLite has already rolled back when the disk was full.
    if connection.in_transaction:
        connection.execute("ROLLBACK")
