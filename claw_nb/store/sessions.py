"""The conversations: their heads in state.db, their messages in the log."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from claw_nb.core.clock import Clock, NewId
from claw_nb.core.errors import InvalidInput, NotFound
from claw_nb.core.messages import Compaction, Message, repair
from claw_nb.core.records import LogRow, Session
from claw_nb.core.wire import message_from_json
from claw_nb.store.history import Entry, History
from claw_nb.store.inbox import Inbox
from claw_nb.store.jsonl import Journal, read_transcript, transcript_lines
from claw_nb.store.state import State

_COLUMNS = ", ".join(field.name for field in fields(Session))
_INDEXED = 1_000
"""Conversations that index.json lists at most, the last used ones."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What an import brought: new messages, and lines that could not be read."""

    session: Session
    added: int
    broken: int


@dataclass(frozen=True, kw_only=True)
class Past:
    """A conversation: every message, and the summary that a model is sent for the first of them."""

    messages: tuple[Message, ...]
    compaction: Compaction | None


class Sessions:
    """Find, begin and read conversations."""

    def __init__(
        self,
        state: State,
        inbox: Inbox,
        history: History,
        journal: Journal,
        *,
        clock: Clock,
        new_id: NewId,
    ) -> None:
        self._state = state
        self._inbox = inbox
        self._history = history
        self._journal = journal
        self._clock = clock
        self._new_id = new_id

    def create(self, key: str, agent: str, title: str = "") -> Session:
        """Begin a conversation at a place (``key``)."""
        now = self._clock()
        session = Session(
            id=self._new_id(), key=key, agent=agent, title=title, created=now, updated=now
        )
        with self._state.tx() as tx:
            self._insert(tx, session)
        return session

    def get(self, id: str) -> Session:  # noqa: A002
        """The session with this id, or whose id begins so."""
        with self._state.read() as read:
            found = read.execute(
                f"SELECT {_COLUMNS} FROM sessions WHERE id = ? "
                f"OR (id >= ? AND id < ? || char(1114111)) ORDER BY id = ? DESC LIMIT 2",
                (id, id, id, id),
            ).fetchall()
        if not found or not id:
            raise NotFound(f"There is no session {id!r}.", hint="`claw sessions` lists them.")
        if len(found) > 1 and found[0]["id"] != id:
            raise InvalidInput(
                f"More than one session begins with {id!r}.", hint="Give more of the id."
            )
        return Session(**dict(found[0]))

    def latest(self, key: str, agent: str) -> Session | None:
        """The conversation at this place in which something was last said."""
        with self._state.read() as read:
            row = read.execute(
                f"SELECT {_COLUMNS} FROM sessions WHERE key = ? AND agent = ? "
                "ORDER BY updated DESC, id DESC LIMIT 1",
                (key, agent),
            ).fetchone()
        return Session(**dict(row)) if row else None

    def list(
        self, limit: int = 20, offset: int = 0, agent: str | None = None
    ) -> tuple[tuple[Session, ...], int]:
        """A page of sessions, the last used first, and how many there are in all."""
        where, values = ("WHERE agent = ?", (agent,)) if agent else ("", ())
        with self._state.read() as read:
            rows = read.execute(
                f"SELECT {_COLUMNS} FROM sessions {where} "
                "ORDER BY updated DESC, id DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            ).fetchall()
            (total,) = read.execute(f"SELECT count(*) FROM sessions {where}", values).fetchone()
        return tuple(Session(**dict(row)) for row in rows), total

    def messages(self, id: str) -> tuple[Message, ...]:  # noqa: A002
        """The conversation so far, repaired: every tool call has its result."""
        return repair(self.past(id).messages)

    def past(self, id: str) -> Past:  # noqa: A002
        """The whole conversation as it was logged, and what stands for its beginning."""
        entries = self._entries(self.get(id))
        said = tuple(message_from_json(e.data) for e in entries if e.kind == "message.added")
        made = next((e for e in reversed(entries) if e.kind == "compaction.finished"), None)
        return Past(messages=said, compaction=_compaction(made) if made else None)

    def succeed(self, old: Session, id: str) -> Session:  # noqa: A002
        """Begin the conversation in which an old one goes on, at the same place."""
        now = self._clock()
        session = replace(
            old, id=id, created=now, updated=now, messages=0, compactions=0, context_tokens=0,
            next="",
        )  # fmt: skip
        with self._state.tx() as tx:
            self._insert(tx, session)
        return session

    def living(self, id: str) -> Session:  # noqa: A002
        """The session with this id, or the one in which it goes on."""
        session = self.get(id)
        seen = {session.id}
        while session.next and session.next not in seen:
            try:
                session = self.get(session.next)
            except NotFound:
                break
            seen.add(session.id)
        return session

    def rename(self, id: str, title: str) -> Session:  # noqa: A002
        """Give a conversation another title."""
        session = replace(self.get(id), title=title)
        with self._state.tx() as tx:
            tx.execute("UPDATE sessions SET title = ? WHERE id = ?", (title, session.id))
            self._inbox.append([self._row("session.renamed", session)], tx=tx)
        return session

    def remove(self, id: str) -> Session:  # noqa: A002
        """Delete a conversation. It is gone at once; sealed files follow at the next compaction."""
        session = self.get(id)
        runs = {entry.run_id for entry in self._entries(session) if entry.run_id}
        with self._state.tx(survives="power") as tx:
            tx.execute("DELETE FROM sessions WHERE id = ?", (session.id,))
            tx.execute("DELETE FROM inbox WHERE session_id = ?", (session.id,))
            tx.execute("DELETE FROM approvals WHERE session_id = ?", (session.id,))
            tx.execute("DELETE FROM approval_rules WHERE session_id = ?", (session.id,))
            tx.execute(
                "INSERT OR REPLACE INTO removed_sessions (id, removed) VALUES (?, ?)",
                (session.id, self._clock()),
            )
            self._inbox.append([self._removal(session)], tx=tx)
        self._history.forget(session.id)
        self._journal.forget(session.id, runs)
        self.write_index()
        return session

    def export(self, id: str) -> Iterator[str]:  # noqa: A002
        """The conversation as JSON lines, as its file in ``sessions/`` has them."""
        session = self.get(id)
        yield from transcript_lines(session, map(_log_row, self._entries(session)))

    def restore(self, path: Path) -> Imported:
        """Take a conversation in from its JSON lines; what is here already is left alone."""
        transcript = read_transcript(path)
        session = transcript.session
        with self._state.tx(survives="power") as tx:
            known = tx.execute("SELECT 1 FROM sessions WHERE id = ?", (session.id,)).fetchone()
            if not known:
                tx.execute("DELETE FROM removed_sessions WHERE id = ?", (session.id,))
                self._insert(tx, session)
        have = {entry.id for entry in self._entries(session)}
        rows = [
            replace(row, session_id=session.id) for row in transcript.rows if row.id not in have
        ]
        self._inbox.append(rows)
        self._history.forget(session.id)
        self.write_index()
        return Imported(session=self.get(session.id), added=len(rows), broken=transcript.broken)

    def write_index(self) -> None:
        """Bring ``sessions/index.json`` up to date."""
        self._journal.index(self.list(limit=_INDEXED)[0])

    def _entries(self, session: Session) -> tuple[Entry, ...]:
        self._inbox.import_spilled()
        return self._history.entries(session.id)

    def _insert(self, tx: sqlite3.Connection, session: Session) -> None:
        tx.execute(
            "INSERT INTO sessions (id, key, agent, source, title, created, updated) "
            "VALUES (:id, :key, :agent, :source, :title, :created, :updated)",
            {field.name: getattr(session, field.name) for field in fields(session)},
        )
        self._inbox.append([self._row("session.created", session)], tx=tx)

    def _row(self, kind: str, session: Session) -> LogRow:
        return LogRow(
            id=self._new_id(), ts=self._clock(), kind=kind, session_id=session.id,
            agent=session.agent, text=session.title or None,
            data={"key": session.key, "source": session.source},
        )  # fmt: skip

    def _removal(self, session: Session) -> LogRow:
        # Without the session's id in its column: rows that have it disappear.
        return LogRow(
            id=self._new_id(), ts=self._clock(), kind="session.removed", agent=session.agent,
            data={"session": session.id},
        )  # fmt: skip


def _log_row(entry: Entry) -> LogRow:
    given = {field.name: getattr(entry, field.name) for field in fields(entry)}
    del given["seq"], given["raw"]
    return LogRow(**given, data=entry.data)


def _compaction(entry: Entry) -> Compaction:
    return Compaction(covers=entry.data["covers"], at=entry.data["at"], summary=entry.text or "")
