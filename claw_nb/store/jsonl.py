"""Conversations and runs as JSON lines beside the database: to tail, to grep, to recover from."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claw_nb.core.errors import InvalidInput, NotFound
from claw_nb.core.records import LogRow, Session
from claw_nb.store.disk import append_line
from claw_nb.store.home import Home
from claw_nb.store.rows import dumps
from claw_nb.store.trouble import explain_disk

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_log = logging.getLogger(__name__)


class Journal:
    """Appends every session to ``sessions/<id>.jsonl`` and every run to ``runs/<id>.jsonl``."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def note(self, session: Session, row: LogRow) -> None:
        """Append a row of a run. The database has it already, so trouble is only logged."""
        try:
            if row.run_id:
                _append(self._home.runs, row.run_id, [_run_line(row)])
            if row.kind == "message.added":
                file = path_of(self._home.sessions, session.id)
                head = [] if file.exists() else [header(session)]
                _append(self._home.sessions, session.id, [*head, message_line(row)])
        except OSError as error:
            _log.warning("%s is not kept as JSON lines: %s", session.id, error)

    def index(self, sessions: Iterable[Session]) -> None:
        """Write ``sessions/index.json`` anew: which conversation is in which file."""
        listing = [
            {"file": path_of(Path(), session.id).name, **_header(session),
             "updated": moment(session.updated), "messages": session.messages}
            for session in sessions
        ]  # fmt: skip
        fresh = self._home.sessions / f".index-{os.getpid()}.json"
        try:
            self._home.sessions.mkdir(parents=True, exist_ok=True)
            fresh.write_text(json.dumps({"version": 1, "sessions": listing}, indent=1) + "\n")
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
        yield dumps(message_line(row))


def header(session: Session) -> dict[str, Any]:
    """The first line of a session's file."""
    return {"type": "session", "version": 1, **_header(session)}


def message_line(row: LogRow) -> dict[str, Any]:
    """A message's line."""
    more = {name: getattr(row, name) for name in ("run_id", "task_id", "agent", "model")}
    return {
        "type": "message",
        "id": row.id,
        "ts": moment(row.ts),
        **{name: value for name, value in more.items() if value is not None},
        "message": row.data,
    }


def moment(ts: int) -> str:
    """UTC microseconds as RFC 3339 text."""
    return (_EPOCH + timedelta(microseconds=ts)).isoformat(timespec="microseconds")


def path_of(folder: Path, name: str) -> Path:
    """The file of an id; ids from elsewhere may hold what a file name may not."""
    return folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.jsonl"


def _append(folder: Path, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
    path = path_of(folder, name)
    try:
        append_line(path, "\n".join(map(dumps, lines)).encode())
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        append_line(path, "\n".join(map(dumps, lines)).encode())


def _header(session: Session) -> dict[str, Any]:
    names = ("id", "key", "agent", "source", "title")
    return {name: getattr(session, name) for name in names} | {"created": moment(session.created)}


def _run_line(row: LogRow) -> dict[str, Any]:
    given = {field.name: getattr(row, field.name) for field in fields(row)}
    kept = {name: value for name, value in given.items() if value is not None and value != {}}
    return kept | {"ts": moment(row.ts)}


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
