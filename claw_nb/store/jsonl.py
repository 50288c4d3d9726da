"""Conversations and runs as JSON lines beside the database: to tail, to grep, to recover from."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from claw_nb.core.errors import InvalidInput, NotFound
from claw_nb.core.records import LogRow, Session
from claw_nb.store.disk import open_lines, write_line
from claw_nb.store.home import Home
from claw_nb.store.rows import dumps
from claw_nb.store.trouble import explain_disk

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENDS = ("run.finished", "run.failed")
_log = logging.getLogger(__name__)


class Journal:
    """Appends every session to ``sessions/<id>.jsonl`` and every run to ``runs/<id>.jsonl``."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._runs, self._sessions = home.runs, home.sessions
        self._open: dict[Path, int] = {}
        self._lock = threading.Lock()

    def note(self, session: Session, rows: Sequence[LogRow], datas: Sequence[str]) -> None:
        """Append rows of a run. The database has them already, so trouble is only logged.

        ``datas`` are the rows' ``data`` as JSON text.
        """
        pairs = list(zip(rows, datas, strict=True))
        run_id = rows[0].run_id
        try:
            if run_id:
                file = path_of(self._runs, run_id)
                self._append(file, [_run_line(row, data) for row, data in pairs])
            lines = [line for row, data in pairs for line in _said(row, data)]
            if lines:
                file = path_of(self._sessions, session.id)
                self._append(file, lines, head=lambda: dumps(header(session)))
        except OSError as error:
            self.close()
            _log.warning("%s is not kept as JSON lines: %s", session.id, error)
        # Between runs no file is held open: others may move or delete it.
        if not run_id or rows[-1].kind in _ENDS:
            self.close()

    def close(self) -> None:
        """Let go of the files that a run was being written to."""
        with self._lock:
            for handle in self._open.values():
                os.close(handle)
            self._open.clear()

    def _append(
        self, path: Path, lines: Sequence[str], *, head: Callable[[], str] | None = None
    ) -> None:
        """Append lines; ``head`` goes before them where the file is new."""
        with self._lock:
            handle = self._open.get(path)
            if handle is None:
                if head is not None and not path.exists():
                    lines = [head(), *lines]
                path.parent.mkdir(parents=True, exist_ok=True)
                handle = self._open[path] = open_lines(path)
            write_line(handle, "\n".join(lines).encode())

    def index(self, sessions: Iterable[Session]) -> None:
        """Write ``sessions/index.json`` anew: which conversation is in which file."""
        fresh = self._home.sessions / f".index-{os.getpid()}.json"
        try:
            self._home.sessions.mkdir(parents=True, exist_ok=True)
            # A line for each session: to be read by people, and encoded by C.
            lines = ",\n".join(map(_indexed, sessions))
            fresh.write_text(f'{{"version": 1, "sessions": [\n{lines}\n]}}\n', encoding="utf-8")
            os.replace(fresh, self._home.sessions / "index.json")  # noqa: PTH105
        except OSError as error:
            _log.warning("sessions/index.json is not up to date: %s", error)

    def forget(self, session_id: str, run_ids: Iterable[str]) -> None:
        """Delete a conversation's files."""
        files = [path_of(self._home.sessions, session_id)]
        files += [path_of(self._home.runs, run_id) for run_id in run_ids]
        with explain_disk(self._home.root):
            for file in files:
                file.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """What a session's file holds. ``broken`` counts lines that could not be read."""

    session: Session
    rows: tuple[LogRow, ...]
    broken: int


def read_transcript(path: Path) -> Transcript:
    """Read a session's file back; a torn or strange line costs only itself."""
    with explain_disk(path):
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise NotFound(
                f"There is no file {path}.", hint="Look in the sessions folder of the home."
            ) from error
    head: Session | None = None
    rows: list[LogRow] = []
    broken = 0
    for line in content.splitlines():
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if entry["type"] == "session":
                head = head or _session(entry)
            elif entry["type"] == "message":
                rows.append(_row(entry))
            elif entry["type"] == "compaction":
                rows.append(_compaction(entry))
        except (ValueError, KeyError, TypeError):
            broken += 1
    if head is None:
        raise InvalidInput(
            f"{path} is not a conversation: no line of it says which session it is.",
            hint="Give a file that `claw sessions export` or claw itself has written.",
        )
    return Transcript(session=head, rows=tuple(rows), broken=broken)


def transcript_lines(session: Session, rows: Iterable[LogRow]) -> Iterator[str]:
    """A session as the lines of its file, without line ends."""
    yield dumps(header(session))
    for row in rows:
        yield from _said(row, dumps(row.data))


def header(session: Session) -> dict[str, Any]:
    """The first line of a session's file."""
    return {"type": "session", "version": 1, **_header(session)}


def _said(row: LogRow, data: str) -> list[str]:
    """The line of a row in its session's file, if it has one there."""
    more = {name: getattr(row, name) for name in ("run_id", "task_id", "agent", "model")}
    facts = {
        "id": row.id,
        "ts": moment(row.ts),
        **{name: value for name, value in more.items() if value is not None},
    }
    match row.kind:
        case "message.added":
            return [_with({"type": "message", **facts}, "message", data)]
        case "compaction.finished" if row.status in (None, "ok"):
            rest = {"type": "compaction", **facts, "summary": row.text}
            return [_with(rest, "compaction", data)]
        case "session.rotated":
            return [dumps({"type": "rotated", **facts, **row.data})]
        case _:
            return []


@lru_cache(maxsize=2048)
def _indexed(session: Session) -> str:
    """A session's line in the index."""
    facts = {
        "file": path_of(Path(), session.id).name,
        **_header(session),
        "updated": moment(session.updated),
        "messages": session.messages,
        "compactionCount": session.compactions,
        "contextTokens": session.context_tokens,
    }
    return dumps(facts | ({"rotatedTo": session.next} if session.next else {}))


def _with(facts: Mapping[str, Any], name: str, data: str) -> str:
    """The object with one more member, which is JSON text already."""
    return f'{dumps(facts)[:-1]},"{name}":{data}}}'


def moment(ts: int) -> str:
    """UTC microseconds as RFC 3339 text."""
    seconds, micros = divmod(ts, 1_000_000)
    return f"{_second(seconds)}.{micros:06}+00:00"


@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    # The rows of a run are written within few of them.
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=64)
def path_of(folder: Path, name: str) -> Path:
    """The file of an id; ids from elsewhere may hold what a file name may not."""
    return folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.jsonl"


def _header(session: Session) -> dict[str, Any]:
    names = ("id", "key", "agent", "source", "title")
    return {name: getattr(session, name) for name in names} | {"created": moment(session.created)}


_RUN_COLUMNS = tuple(field.name for field in fields(LogRow) if field.name != "data")
_run_columns = attrgetter(*_RUN_COLUMNS)


def _run_line(row: LogRow, data: str) -> str:
    kept = {
        name: value
        for name, value in zip(_RUN_COLUMNS, _run_columns(row), strict=True)
        if value is not None
    }
    kept["ts"] = moment(row.ts)
    return dumps(kept) if data == "{}" else _with(kept, "data", data)


def _ts(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def _session(entry: Mapping[str, Any]) -> Session:
    created = _ts(entry["created"])
    return Session(
        id=entry["id"], key=entry["key"], agent=entry["agent"], source=entry["source"],
        title=entry["title"], created=created, updated=created,
    )  # fmt: skip


def _row(entry: Mapping[str, Any]) -> LogRow:
    message = entry["message"]
    return LogRow(
        id=entry["id"], ts=_ts(entry["ts"]), kind="message.added", run_id=entry.get("run_id"),
        task_id=entry.get("task_id"), agent=entry.get("agent"), role=message["role"],
        model=entry.get("model"), data=message,
        text="\n".join(p["text"] for p in message["parts"] if p["type"] == "text"),
    )  # fmt: skip


def _compaction(entry: Mapping[str, Any]) -> LogRow:
    return LogRow(
        id=entry["id"], ts=_ts(entry["ts"]), kind="compaction.finished", status="ok",
        run_id=entry.get("run_id"), task_id=entry.get("task_id"), agent=entry.get("agent"),
        text=entry["summary"], data=entry["compaction"],
    )  # fmt: skip
