"""The tasks of a data home: kept rows, changed by compare and swap."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from claw_nb.core.errors import Conflict, InvalidInput, NotFound
from claw_nb.core.records import LogRow, Task
from claw_nb.store.store import Store

_JSON = frozenset({"target", "grant", "channel_ids"})
_COLUMNS = tuple(field.name for field in fields(Task))
_NAMES = ", ".join(f'"{name}"' for name in _COLUMNS)

CHANGEABLE = frozenset(_COLUMNS) - {"id", "agent_id", "created", "updated", "rev"}
"""What ``update`` may set."""


class TaskTable:
    """Every change is one transaction together with its log row."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, task: Task) -> Task:
        """Keep a new task; its name must be new for its agent, else Conflict."""
        marks = ", ".join("?" for _ in _COLUMNS)
        with self._store.tx() as tx:
            _check_name(tx, task)
            tx.execute(f"INSERT INTO tasks ({_NAMES}) VALUES ({marks})", _values(task))
            self._log(tx, "task.added", task)
        return task

    def get(self, task_id: str) -> Task:
        """The task with exactly that id, else NotFound."""
        with self._store.read() as db:
            return _get(db, task_id)

    def find(self, name: str, *, agent_id: str | None = None) -> Task:
        """The one task with that id, that name, or an id that begins so; else NotFound.

        A name that several agents use is a Conflict, as is a beginning of several ids.
        """
        whose = "" if agent_id is None else " AND agent_id = ?"
        agent = () if agent_id is None else (agent_id,)
        begins = name if len(name) >= 6 and name.isalnum() else "-"
        with self._store.read() as db:
            rows = db.execute(
                f"SELECT {_NAMES} FROM tasks WHERE (id = ? OR name = ? OR id GLOB ? || '*'){whose}"
                " ORDER BY id = ? DESC, name = ? DESC LIMIT 3",
                (name, name, begins, *agent, name, name),
            ).fetchall()
        found = [_task(row) for row in rows]
        exact = [task for task in found if task.id == name] or [
            task for task in found if task.name == name
        ]
        match exact or found:
            case [task]:
                return task
            case []:
                raise _unknown(name)
            case several:
                ids = ", ".join(task.id for task in several)
                raise Conflict(f"{name!r} means more than one task.", hint=f"Use the id: {ids}.")

    def list(
        self, *, agent_id: str | None = None, limit: int = 20, offset: int = 0
    ) -> tuple[tuple[Task, ...], int]:
        """A page of tasks, the newest first, and how many there are."""
        where, values = ("WHERE agent_id = ?", (agent_id,)) if agent_id is not None else ("", ())
        with self._store.read() as db:
            total: int = db.execute(f"SELECT count(*) FROM tasks {where}", values).fetchone()[0]
            rows = db.execute(
                f"SELECT {_NAMES} FROM tasks {where} ORDER BY created DESC, id DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            ).fetchall()
        return tuple(_task(row) for row in rows), total

    def due(self, now: int, *, limit: int) -> tuple[Task, ...]:
        """Active tasks whose next run has come, the longest due first."""
        with self._store.read() as db:
            rows = db.execute(
                f"SELECT {_NAMES} FROM tasks WHERE status = 'active' AND next_run <= ?"
                " ORDER BY next_run LIMIT ?",
                (now, limit),
            ).fetchall()
        return tuple(_task(row) for row in rows)

    def next_due(self) -> int | None:
        """When the next active task is due."""
        with self._store.read() as db:
            query = "SELECT min(next_run) FROM tasks WHERE status = 'active'"
            found: int | None = db.execute(query).fetchone()[0]
            return found

    def update(self, task: Task, *, kind: str = "task.updated", **changes: Any) -> Task:
        """Change a task as it was read; Conflict when somebody else was faster."""
        if unknown := sorted(changes.keys() - CHANGEABLE):
            raise InvalidInput(f"A task has no changeable field {', '.join(unknown)}.")
        new = replace(task, **changes, updated=self._store.clock(), rev=task.rev + 1)
        names = [*changes, "updated", "rev"]
        with self._store.tx() as tx:
            _check_name(tx, new)
            sets = ", ".join(f'"{name}" = ?' for name in names)
            values = [_value(name, getattr(new, name)) for name in names]
            done = tx.execute(
                f"UPDATE tasks SET {sets} WHERE id = ? AND rev = ?", (*values, task.id, task.rev)
            )
            if done.rowcount == 0:
                _get(tx, task.id)
                raise Conflict(
                    f"The task {task.name!r} was changed by somebody else in the meantime.",
                    hint="Read it again and repeat the change.",
                )
            self._log(tx, kind, new, changed=sorted(changes))
            return _get(tx, task.id)

    def remove(self, task: Task) -> None:
        """Remove a task with its runs; what they logged stays in the log."""
        with self._store.tx() as tx:
            if tx.execute("DELETE FROM tasks WHERE id = ?", (task.id,)).rowcount == 0:
                raise _unknown(task.id)
            self._log(tx, "task.removed", task)

    def _log(self, tx: sqlite3.Connection, kind: str, task: Task, **more: Any) -> None:
        row = LogRow(
            id=self._store.new_id(),
            ts=self._store.clock(),
            kind=kind,
            task_id=task.id,
            agent=task.agent_id,
            name=task.name,
            status=task.status,
            data=more
            | {
                "target": dict(task.target),
                "schedule_type": task.schedule_type,
                "schedule_value": task.schedule_value,
                "timezone": task.timezone,
                "next_run": task.next_run,
            },
        )
        self._store.append([row], tx=tx)


def _get(db: sqlite3.Connection, task_id: str) -> Task:
    row = db.execute(f"SELECT {_NAMES} FROM tasks WHERE id = ?", (task_id,)).fetchone()
    if row is None:
        raise _unknown(task_id)
    return _task(row)


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no task {name!r}.", hint="`claw task list` shows them all.")


def _check_name(tx: sqlite3.Connection, task: Task) -> None:
    query = "SELECT id FROM tasks WHERE agent_id = ? AND name = ? AND id <> ?"
    if tx.execute(query, (task.agent_id, task.name, task.id)).fetchone():
        raise Conflict(
            f"There is already a task named {task.name!r}.",
            hint="Choose another name, or remove the old one first: `claw task rm NAME`.",
        )


def _value(name: str, value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=_plain) if name in _JSON else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidInput(
        f"A task cannot keep {value!r}: it is not JSON.",
        hint="Parameters may be texts, numbers, true, false, null, lists and objects of those.",
    )


def _values(task: Task) -> tuple[Any, ...]:
    return tuple(_value(name, getattr(task, name)) for name in _COLUMNS)


def _task(row: sqlite3.Row) -> Task:
    given = {name: json.loads(row[name]) if name in _JSON else row[name] for name in _COLUMNS}
    return Task(**given | {n: tuple(given[n]) for n in ("grant", "channel_ids")})
