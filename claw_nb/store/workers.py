"""Who runs tasks on this home: each worker holds the lock file of its id for as long as it lives."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, fields

from claw_nb.core.locks import FileLock
from claw_nb.store.store import Store

LOST_AFTER = 300_000_000
"""Microseconds without a beat after which a worker on another host is given up.

On the same host its lock tells whether it lives, which neither a stopped process nor a clock that
was set can feign.
"""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A process that runs tasks. ``beat`` is when it last looked for due ones."""

    id: str
    host: str
    pid: int
    slots: int
    started: int
    beat: int


_COLUMNS = tuple(field.name for field in fields(Worker))
_NAMES = ", ".join(_COLUMNS)


class Workers:
    """The workers of one home."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[str, FileLock] = {}

    def join(self, *, slots: int) -> Worker:
        """Begin to work."""
        now = self._store.clock()
        worker = Worker(
            id=self._store.new_id(), host=platform.node(), pid=os.getpid(), slots=slots,
            started=now, beat=now,
        )  # fmt: skip
        self._held[worker.id] = lock = self._lock(worker.id)
        lock.acquire()
        marks = ", ".join("?" for _ in _COLUMNS)
        values = tuple(getattr(worker, name) for name in _COLUMNS)
        with self._store.tx() as tx:
            tx.execute(f"INSERT INTO workers ({_NAMES}) VALUES ({marks})", values)
        return worker

    def beat(self, worker: Worker) -> None:
        """Say that it still looks."""
        with self._store.tx() as tx:
            tx.execute("UPDATE workers SET beat = ? WHERE id = ?", (self._store.clock(), worker.id))

    def leave(self, worker: Worker) -> None:
        """Stop working; its runs must have ended."""
        with self._store.tx() as tx:
            tx.execute("DELETE FROM workers WHERE id = ?", (worker.id,))
        if lock := self._held.pop(worker.id, None):
            lock.path.unlink(missing_ok=True)
            lock.release()

    def list(self) -> tuple[Worker, ...]:
        """All that have joined and not left, dead ones included."""
        with self._store.read() as db:
            rows = db.execute(f"SELECT {_NAMES} FROM workers ORDER BY started").fetchall()
        return tuple(Worker(**dict(row)) for row in rows)

    def alive(self, worker: Worker) -> bool:
        """Whether its process still is there."""
        if worker.id in self._held:
            return True
        if worker.host != platform.node():
            return self._store.clock() - worker.beat < LOST_AFTER
        lock = self._lock(worker.id)
        if not lock.acquire("try"):
            return True
        lock.release()
        return False

    def bury(self, worker: Worker) -> None:
        """Forget a dead worker."""
        with self._store.tx() as tx:
            tx.execute("DELETE FROM workers WHERE id = ?", (worker.id,))
        self._lock(worker.id).path.unlink(missing_ok=True)

    def _lock(self, worker_id: str) -> FileLock:
        name = re.sub(r"\W", "", worker_id)
        return FileLock(self._store.data / "locks" / f"worker-{name}.lock")
