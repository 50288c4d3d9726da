"""Moving the log from the inbox into Parquet: each row exactly once, by whoever gets the lock."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from claw_nb.core.clock import Clock, NewId
from claw_nb.core.errors import StoreError
from claw_nb.core.locks import FileLock
from claw_nb.store import purging
from claw_nb.store import segments as lake
from claw_nb.store.catalog import publish
from claw_nb.store.home import Home
from claw_nb.store.inbox import Inbox
from claw_nb.store.rows import COLUMNS
from claw_nb.store.segments import Segment
from claw_nb.store.state import State
from claw_nb.store.trouble import explain_disk

SECOND = 1_000_000

BATCH_ROWS = 50_000
BATCH_CHARACTERS = 64_000_000
"""What one segment takes at most from the inbox, to bound the memory that sealing needs."""

MERGE_AT = 4
"""So many segments of one size class become one of the next (four times the size)."""

SMALL = 4_096
"""Up to so many rows all segments are of one class: merging them costs next to nothing."""

LARGEST = 4_000_000
"""Rows above which a segment is never merged again."""

GRACE = 15 * 60 * SECOND
"""A replaced file stays so long for queries that have already listed it."""

ORPHAN = 3600 * SECOND
"""A file that no manifest row names, left by a killed compactor, goes after this time."""

POINTS = (
    "written",
    "renamed",
    "in transaction",
    "committed",
    "merge written",
    "merge renamed",
    "merge in transaction",
    "merge committed",
    "published",
)
"""Where ``crash`` is called, in order: the places where a death would leave something half done."""


@dataclass(frozen=True, kw_only=True)
class Compaction:
    """What one compaction did. ``sealed`` counts rows, the others files."""

    sealed: int = 0
    segments: int = 0
    merged: int = 0
    deleted: int = 0


class Compactor:
    """Seals, merges and sweeps. Any process may try; one at a time does."""

    def __init__(
        self,
        home: Home,
        state: State,
        inbox: Inbox,
        *,
        clock: Clock,
        new_id: NewId,
        crash: Callable[[str], None] = lambda point: None,
    ) -> None:
        assert state.data_id is not None
        self._home = home
        self._state = state
        self._inbox = inbox
        self._clock = clock
        self._crash = crash
        self._writer = lake.SegmentWriter(home, data_id=state.data_id, clock=clock, new_id=new_id)

    def run(self, *, force: bool = False) -> Compaction | None:
        """Compact when it is due or forced; None when it is not, or when another process is at it."""
        lock = FileLock(self._home.locks / "compact.lock")
        if not lock.acquire("try"):
            return None
        try:
            self._inbox.import_spilled()
            if not force and not self._inbox.is_due():
                return None
            with explain_disk(self._home.lake):
                return self._compact()
        except duckdb.Error as error:
            raise StoreError(
                f"The log could not be sealed: {error}.",
                hint="Nothing is lost: the rows stay in state.db and the next compaction takes "
                "them. Check the space on the disk.",
            ) from error
        finally:
            lock.release()

    def _compact(self) -> Compaction:
        with self._state.read() as read:
            until = read.execute("SELECT coalesce(max(seq), 0) FROM inbox").fetchone()[0]
        sealed = list(iter(lambda: self._seal(until), None))
        purged = self._purge()
        merged = self._merge()
        deleted = self._sweep()
        publish(self._home, self._state)
        self._crash("published")
        self._state.checkpoint("whole" if purged else "passive")
        return Compaction(
            sealed=sum(segment.rows for segment in sealed),
            segments=len(sealed),
            merged=merged,
            deleted=deleted,
        )

    # -- sealing -------------------------------------------------------------------------------

    def _seal(self, until: int) -> Segment | None:
        rows = self._batch(until)
        if not rows:
            return None
        lo, hi = rows[0][0], rows[-1][0]
        name, fresh = self._writer.begin()
        self._writer.write(fresh, lake.arrow(rows))
        self._crash("written")
        segment = self._writer.finish(name, fresh, lo=lo, hi=hi, rows=len(rows))
        self._crash("renamed")
        # Power loss must not bring back an older manifest than the files on the disk.
        with self._state.tx(survives="power") as tx:
            lake.register(tx, segment)
            tx.execute("DELETE FROM inbox WHERE seq <= ?", (hi,))
            self._crash("in transaction")
        self._crash("committed")
        return segment

    def _batch(self, until: int) -> list[tuple[Any, ...]]:
        rows, size = [], 0
        query = f"SELECT {', '.join(COLUMNS)} FROM inbox WHERE seq <= ? ORDER BY seq LIMIT ?"
        with self._state.read() as read:
            for row in read.execute(query, (until, BATCH_ROWS)):
                rows.append(tuple(row))
                size += len(row["text"] or "") + len(row["data"])
                if size > BATCH_CHARACTERS:
                    break
        return rows

    # -- merging -------------------------------------------------------------------------------

    def _merge(self) -> int:
        with self._state.read() as read:
            segments = lake.live(read)
        classes: dict[int, list[Segment]] = defaultdict(list)
        for segment in segments:
            if segment.rows < LARGEST:
                classes[int(math.log(max(segment.rows, SMALL), MERGE_AT))].append(segment)
        due = [group for group in classes.values() if len(group) >= MERGE_AT]
        for group in due:
            self._replace(group)
        return sum(len(group) for group in due)

    def _replace(self, old: Sequence[Segment], *, without: str = "false") -> None:
        name, fresh = self._writer.begin()
        rows = self._writer.write(fresh, self._files(old), without=without)
        self._crash("merge written")
        lo, hi = min(segment.lo for segment in old), max(segment.hi for segment in old)
        merged = self._writer.finish(name, fresh, lo=lo, hi=hi, rows=rows)
        self._crash("merge renamed")
        with self._state.tx(survives="power") as tx:
            lake.register(tx, merged)
            lake.bury(tx, old, at=self._clock())
            self._crash("merge in transaction")
        self._crash("merge committed")

    def _files(self, segments: Sequence[Segment]) -> list[Path]:
        return [self._home.lake / segment.path for segment in segments]

    # -- removed conversations -----------------------------------------------------------------

    def _purge(self) -> bool:
        """Take removed conversations out of the files; says whether there were any."""
        with self._state.read() as read:
            sessions = purging.removed(read)
            segments = lake.live(read)
        for segment in purging.holding(self._home.lake, segments, sessions):
            self._replace([segment], without=purging.condition(sessions))
        # A payload just saved may belong to a row that is not committed yet.
        settled = self._clock() - ORPHAN
        with self._state.read() as read:
            old = purging.removed(read, before=settled)
            files = self._files(lake.live(read))
            query = "SELECT blob FROM inbox WHERE blob IS NOT NULL"
            hot = [row[0] for row in read.execute(query)]
        if old:
            purging.sweep_blobs(self._inbox.blobs, files, hot, before=settled / SECOND)
            with self._state.tx(survives="power") as tx:
                tx.executemany(
                    "DELETE FROM removed_sessions WHERE id = ?", [(name,) for name in old]
                )
        return bool(sessions)

    # -- sweeping ------------------------------------------------------------------------------

    def _sweep(self) -> int:
        now = self._clock()
        with self._state.read() as read:
            dead = read.execute("SELECT id, path FROM segments WHERE died < ?", (now - GRACE,))
            gone = [(row["id"], self._home.lake / row["path"]) for row in dead]
            listed = {row[0] for row in read.execute("SELECT path FROM segments")}
        orphans = [path for path in self._strangers(listed) if _age(path, now) > ORPHAN]
        for path in [*(path for _, path in gone), *orphans]:
            path.unlink(missing_ok=True)
        if gone:
            # After the files: a crash between leaves a row whose file is gone, and it is tried again.
            with self._state.tx() as tx:
                tx.executemany("DELETE FROM segments WHERE id = ?", [(name,) for name, _ in gone])
        return len(gone) + len(orphans)

    def _strangers(self, listed: set[str]) -> list[Path]:
        files = (self._home.lake / "events").rglob("*.parquet")
        return [
            file for file in files if file.relative_to(self._home.lake).as_posix() not in listed
        ]


def _age(path: Path, now: int) -> float:
    return now - path.stat().st_mtime * SECOND
