"""The store of one data home, put together."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claw_nb.core.clock import Clock, NewId, new_id, now
from claw_nb.core.errors import StoreError
from claw_nb.core.events import Event
from claw_nb.core.locks import FileLock
from claw_nb.core.records import LogRow, Session
from claw_nb.core.redact import redact
from claw_nb.store.blobs import Blobs
from claw_nb.store.history import Entry, History, said
from claw_nb.store.home import Home, journal_for
from claw_nb.store.inbox import Inbox
from claw_nb.store.jsonl import Journal
from claw_nb.store.leases import Leases
from claw_nb.store.recording import Recording, record
from claw_nb.store.rows import dumps
from claw_nb.store.rules import Rules
from claw_nb.store.sessions import Sessions
from claw_nb.store.spending import Spending
from claw_nb.store.state import State, Survives

if TYPE_CHECKING:
    import duckdb

    from claw_nb.store.catalog import Snapshots
    from claw_nb.store.compaction import Compaction
    from claw_nb.store.query import Result, Trust


_IN_INDEX = ("run.finished", "run.failed", "compaction.finished", "session.rotated")

HANDLE = 16
"""Hex digits of a digest that name a kept result."""
_PATIENCE = 20.0
"""Seconds that closing waits for a compaction; one that is cut off loses nothing."""

_log = logging.getLogger(__name__)


class Store:
    """Everything that is kept. Open one per process and home; threads may share it."""

    def __init__(self, home: Home, state: State, *, clock: Clock, new_id: NewId) -> None:
        self.home = home.root
        self.data = home.data
        self.paths = home
        self._state = state
        self.clock = clock
        self.new_id = new_id
        self.blobs = Blobs(home.blobs, new_id=new_id)
        self._inbox = Inbox(home, state, self.blobs, clock=clock, new_id=new_id)
        self._history = History(home, state, self.blobs, sealed=_rows_of)
        self._journal = Journal(home)
        self.sessions = Sessions(
            state, self._inbox, self._history, self._journal, clock=clock, new_id=new_id
        )
        self.spending = Spending(state, clock=clock)
        self.rules = Rules(state, self._inbox, clock=clock, new_id=new_id)
        self.leases = Leases(home.locks / "sessions", clock=clock)
        self._compacting: threading.Thread | None = None

    @classmethod
    def open(
        cls, home: Path, *, clock: Clock = now, new_id: NewId = new_id, create: bool = True
    ) -> Store:
        """Open the home, making or migrating it when needed.

        Raises StoreError when the disk refuses, NewerSchema when a newer release wrote it, and
        NotFound when there is nothing and ``create`` is off.
        """
        paths = Home(root=home.expanduser().absolute())
        if create:
            paths.prepare()
        else:
            paths.require()
        state = State(paths.state, journal=journal_for(paths.data))
        lock = FileLock(paths.locks / "migrate.lock")
        try:
            paths.check_lake(state.prepare(lock, clock=clock, new_id=new_id))
        except BaseException:
            state.close()
            raise
        return cls(paths, state, clock=clock, new_id=new_id)

    def close(self) -> None:
        """Close every connection and file, after a compaction that is going has come to its end."""
        if self._compacting is not None:
            self._compacting.join(_PATIENCE)
        self._journal.close()
        self._state.close()

    # -- state and log -------------------------------------------------------------------------

    def tx(self, *, survives: Survives = "kill") -> AbstractContextManager[sqlite3.Connection]:
        """A write transaction on state.db: all of the block or nothing. Do nothing slow inside."""
        return self._state.tx(survives=survives)

    def read(self) -> AbstractContextManager[sqlite3.Connection]:
        """A consistent view of state.db for this thread."""
        return self._state.read()

    def append(self, rows: Sequence[LogRow], *, tx: sqlite3.Connection | None = None) -> None:
        """Log rows, durable on return. With ``tx`` they join that transaction.

        Without it, rows that SQLite refuses are spilled to a file and imported later.
        """
        self._inbox.append(rows, tx=tx)

    def record(
        self,
        events: AsyncIterator[Event],
        *,
        session: Session,
        agent: str,
        task_id: str | None = None,
        task_run: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Pass a run's events on, each of them saved before it is seen.

        ``task_run`` is the run of the task that the events belong to.
        """
        recording = Recording(
            session=session,
            agent=agent,
            task_id=task_id,
            task_run=task_run,
            clock=self.clock,
            new_id=self.new_id,
        )
        return record(events, recording, save=self._save, succeed=self.sessions.succeed)

    def _save(self, session: Session, rows: Sequence[LogRow]) -> None:
        packed = self._inbox.pack(rows)
        last = self._inbox.insert(packed)
        if last is None:
            self._history.forget(session.id)
        else:
            first = last - len(rows) + 1
            for seq, row, columns in zip(count(first), rows, packed, strict=False):
                if said(row):
                    self._history.learn(session.id, Entry.of(row, columns, seq))
        datas = [
            dumps(row.data) if columns["blob"] else columns["data"]
            for row, columns in zip(rows, packed, strict=True)
        ]
        self._journal.note(session, rows, datas)
        begun = rows[-1].kind == "run.started" and not session.messages
        if begun or rows[-1].kind in _IN_INDEX:
            self.sessions.write_index()

    def keep_result(self, session_id: str | None, tool: str, text: str, *, agent: str) -> str:
        """Keep a tool's long result and return the handle to ``read_result`` it by."""
        row = LogRow(
            id=self.new_id(), ts=self.clock(), kind="result.kept", session_id=session_id,
            agent=agent, name=tool, text=redact(text),
        )  # fmt: skip
        packed = self._inbox.pack([row], limit=0)
        self._inbox.insert(packed)
        return str(packed[0]["blob"])[:HANDLE]

    def read_result(self, handle: str) -> str:
        """The whole text of a result that was kept; NotFound when there is none."""
        text: str = json.loads(self.blobs.load(self.blobs.find(handle)))["text"]
        return text

    # -- the lake ------------------------------------------------------------------------------

    def compact(
        self, *, force: bool = False, crash: Callable[[str], None] = lambda point: None
    ) -> Compaction | None:
        """Move the log from the inbox into Parquet when it is due or forced.

        None when it was not due or another process is at it. ``crash`` is called with the name
        of each point at which a death would leave something half done (for tests).
        """
        from claw_nb.store.compaction import Compactor

        compactor = Compactor(
            self.paths,
            self._state,
            self._inbox,
            clock=self.clock,
            new_id=self.new_id,
            crash=crash,
        )
        return compactor.run(force=force)

    def compact_soon(self) -> None:
        """Compact in a thread when it is due. Trouble is logged: the rows stay in the inbox."""
        going = self._compacting
        if (going is None or not going.is_alive()) and self._inbox.is_due():
            self._compacting = threading.Thread(
                target=self._compact_quietly, name="claw compaction", daemon=True
            )
            self._compacting.start()

    def _compact_quietly(self) -> None:
        try:
            self.compact()
        except StoreError as error:
            _log.warning("The log is not sealed yet: %s", error)

    @cached_property
    def _snapshots(self) -> Snapshots:
        from claw_nb.store.catalog import Snapshots

        return Snapshots(self._state)

    def connect(
        self, *, frames: Mapping[str, object] | None = None, external_access: bool = True
    ) -> duckdb.DuckDBPyConnection:
        """An in-memory DuckDB connection with every view made fresh; the caller closes it.

        ``frames`` are visible by their names. Without ``external_access`` it can read no file and
        write nothing, and its settings are locked.
        """
        from claw_nb.store import catalog

        self._inbox.import_spilled()
        access: catalog.Access = "files" if external_access else "none"
        return catalog.connection(self._snapshots, self.paths, frames=frames or {}, access=access)

    def select(self, sql: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of our own SQL over the views, by column; ``values`` stand for its ``?``."""
        from claw_nb.store import catalog

        self._inbox.import_spilled()
        words = set(re.findall(r"\w+", sql.lower()))
        with closing(
            catalog.connection(self._snapshots, self.paths, frames={}, words=words)
        ) as duck:
            found = duck.execute(sql, list(values))
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    async def query(
        self, sql: str, *, frames: Mapping[str, object] | None = None, trust: Trust = "user"
    ) -> Result:
        """The result of one SQL query over the views and ``frames``; cancelling it interrupts it.

        ``trust="agent"`` allows only to look. Raises InvalidInput for wrong SQL.
        """
        from claw_nb.store import query

        self._inbox.import_spilled()
        return await query.query(
            sql, snapshots=self._snapshots, home=self.paths, frames=frames or {}, trust=trust
        )


def _rows_of(
    files: Sequence[Path], session_id: str, columns: Sequence[str]
) -> list[tuple[Any, ...]]:
    from claw_nb.store.segments import rows_of

    return rows_of(files, session_id, columns)
