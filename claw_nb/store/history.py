"""What was said in a session, read from inbox, segments and blobs, and kept at hand."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from claw_nb.core.records import LogRow
from claw_nb.store import rows as form
from claw_nb.store.blobs import Blobs
from claw_nb.store.home import Home
from claw_nb.store.state import State

_COLUMNS = (
    "seq",
    "id",
    "ts",
    "kind",
    "run_id",
    "task_id",
    "agent",
    "role",
    "model",
    "text",
    "data",
    "blob",
)
_SESSIONS = 16
"""Conversations kept at hand at once."""


Sealed = Callable[[Sequence[Path], str, Sequence[str]], list[tuple[Any, ...]]]
"""``segments.rows_of``, handed in so that only who needs it loads DuckDB."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One message, or one compaction, as it was logged; ``data`` is the JSON object."""

    seq: int
    id: str
    ts: int
    kind: str
    run_id: str | None
    task_id: str | None
    agent: str | None
    role: str | None
    model: str | None
    text: str | None
    raw: str

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The message, or the compaction."""
        found: Mapping[str, Any] = json.loads(self.raw)
        return found

    @classmethod
    def of(cls, row: LogRow, packed: form.Packed, seq: int) -> Entry:
        """The entry of a row just logged: with clean text, as it will be read back."""
        kept = {name: packed[name] for name in _COLUMNS[1:-2]}
        if packed["blob"]:
            return cls(seq=seq, **kept | {"text": row.text}, raw=form.dumps(row.data))
        return cls(seq=seq, **kept, raw=packed["data"])


def said(row: LogRow) -> bool:
    """Whether a row is part of what was said; ``rows.SAID`` is the same for SQL."""
    return row.kind == "message.added" or (row.kind == "compaction.finished" and row.status == "ok")


class History:
    """Reads conversations. One that goes on in this process never needs the sealed log."""

    def __init__(self, home: Home, state: State, blobs: Blobs, *, sealed: Sealed) -> None:
        self._home = home
        self._state = state
        self._blobs = blobs
        self._read_sealed = sealed
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Entry, ...]] = OrderedDict()

    def entries(self, session_id: str) -> tuple[Entry, ...]:
        """The messages and compactions of a session in order."""
        with self._lock:
            known = self._known.get(session_id, ())
        last = known[-1].seq if known else 0
        with self._state.read() as read:
            (count,) = read.execute(
                "SELECT messages + compactions FROM sessions WHERE id = ?", (session_id,)
            ).fetchone() or (None,)
            rows = read.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM inbox WHERE session_id = ? AND {form.SAID} "
                "ORDER BY seq",
                (session_id,),
            ).fetchall()
            paths = read.execute("SELECT path FROM segments WHERE died IS NULL").fetchall()
        hot = self._unpack([tuple(row) for row in rows])
        whole = known + tuple(entry for entry in hot if entry.seq > last)
        # The head counts in the transaction that appends, so it tells whether any are missing.
        if len(whole) != count:
            sealed = self._sealed(session_id, [self._home.lake / row[0] for row in paths])
            whole = sealed + hot
        self._keep(session_id, whole)
        return whole

    def learn(self, session_id: str, entry: Entry) -> None:
        """Note a message that this process has just logged."""
        with self._lock:
            known = self._known.get(session_id)
            if known is not None:
                self._known[session_id] = (*known, entry)

    def forget(self, session_id: str) -> None:
        """Read the session anew next time."""
        with self._lock:
            self._known.pop(session_id, None)

    def _keep(self, session_id: str, entries: tuple[Entry, ...]) -> None:
        with self._lock:
            self._known[session_id] = entries
            self._known.move_to_end(session_id)
            while len(self._known) > _SESSIONS:
                self._known.popitem(last=False)

    def _sealed(self, session_id: str, files: Sequence[Path]) -> tuple[Entry, ...]:
        return self._unpack(self._read_sealed(files, session_id, _COLUMNS)) if files else ()

    def _unpack(self, rows: Sequence[tuple[Any, ...]]) -> tuple[Entry, ...]:
        entries = []
        for row in rows:
            columns = dict(zip(_COLUMNS, row, strict=True))
            blob = columns.pop("blob")
            raw = columns.pop("data")
            if blob:
                raw = form.dumps(form.payload(raw, blob, self._blobs.load))
            entries.append(Entry(**columns, raw=raw))
        return tuple(entries)
