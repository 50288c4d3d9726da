"""The list of things to do, in a file, and the history of its changes beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from claw_nb.core.atomic import write_whole
from claw_nb.core.clock import Clock, now
from claw_nb.core.errors import Conflict, InvalidInput, NotFound, StoreError
from claw_nb.core.locks import FileLock

Status = Literal["pending", "in_progress", "blocked", "completed", "cancelled"]
ACTIVE: tuple[Status, ...] = ("pending", "in_progress", "blocked")
STATUSES: tuple[Status, ...] = get_args(Status)

MOST_ACTIVE = 100
LONGEST = 500

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Todo:
    """One thing to do. ``note`` says what is in the way, or what came of it."""

    id: int
    text: str
    status: Status = "pending"
    note: str = ""
    created: str = ""
    updated: str = ""

    @property
    def line(self) -> str:
        """As people and models read it."""
        note = f" ({self.note})" if self.note else ""
        return f"{self.id}. [{self.status}] {self.text}{note}"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a todo is to be; None leaves a field as it is."""

    text: str | None = None
    status: Status | None = None
    note: str | None = None


class Todos:
    """The todos in a folder. Every change is atomic, under one lock, and a line of the history."""

    def __init__(self, folder: Path, *, clock: Clock = now) -> None:
        self._file = folder / "todos.json"
        self._history = folder / "history.jsonl"
        self._lock = folder / ".lock"
        self._clock = clock

    def all(self) -> tuple[Todo, ...]:
        """Every todo that was not removed, in order."""
        return self._read()[0]

    def active(self) -> tuple[Todo, ...]:
        """Those that are still to be done."""
        return tuple(todo for todo in self.all() if todo.status in ACTIVE)

    def add(self, texts: Sequence[Wanted]) -> tuple[Todo, ...]:
        """Add todos at the end; returns them."""

        def added(todos: list[Todo], next_id: int) -> list[Todo]:
            return [*todos, *self._made(texts, next_id)]

        return self._change("add", added)

    def update(self, id: int, wanted: Wanted, *, action: str = "update") -> Todo:  # noqa: A002
        """Change one todo."""

        def updated(todos: list[Todo], _next: int) -> list[Todo]:
            at = _place(todos, id)
            given = {name: value for name, value in asdict(wanted).items() if value is not None}
            changed = replace(todos[at], **given, updated=self._moment())
            _check(changed.text)
            return [*todos[:at], changed, *todos[at + 1 :]]

        return self._change(action, updated)[0]

    def remove(self, id: int) -> Todo:  # noqa: A002
        """Take one todo off the list; the history keeps it."""
        gone: list[Todo] = []

        def removed(todos: list[Todo], _next: int) -> list[Todo]:
            gone.append(todos.pop(_place(todos, id)))
            return todos

        self._change("remove", removed)
        return gone[0]

    def replace(self, texts: Sequence[Wanted]) -> tuple[Todo, ...]:
        """Make these the active todos; what was done or cancelled stays."""

        def replaced(todos: list[Todo], next_id: int) -> list[Todo]:
            old = [todo for todo in todos if todo.status not in ACTIVE]
            return [*old, *self._made(texts, next_id)]

        return self._change("replace", replaced)

    def _made(self, texts: Sequence[Wanted], next_id: int) -> list[Todo]:
        moment = self._moment()
        for wanted in texts:
            _check(wanted.text or "")
        return [
            Todo(
                id=next_id + count,
                text=(wanted.text or "").strip(),
                status=wanted.status or "pending",
                note=wanted.note or "",
                created=moment,
                updated=moment,
            )
            for count, wanted in enumerate(texts)
        ]

    def _change(
        self, action: str, change: Callable[[list[Todo], int], list[Todo]]
    ) -> tuple[Todo, ...]:
        """Make a change and return the todos that are new or other than before."""
        with FileLock(self._lock):
            before, next_id = self._read()
            after = change(list(before), next_id)
            active = sum(todo.status in ACTIVE for todo in after)
            if active > MOST_ACTIVE:
                raise InvalidInput(
                    f"there would be {active} active todos, and {MOST_ACTIVE} are the most",
                    hint="Complete or cancel some, or put several into one.",
                )
            fresh = tuple(todo for todo in after if todo not in before)
            kept = {todo.id for todo in after}
            gone = [todo for todo in before if todo.id not in kept]
            last = max([next_id - 1, *kept])
            body = {"version": 1, "next_id": last + 1, "todos": [asdict(todo) for todo in after]}
            write_whole(self._file, json.dumps(body, ensure_ascii=False, indent=1) + "\n")
            self._note(action, fresh, gone)
        return fresh

    def _note(self, action: str, fresh: Sequence[Todo], gone: Sequence[Todo]) -> None:
        record = {
            "ts": self._moment(),
            "action": action,
            "todos": [asdict(todo) for todo in fresh],
            "removed": [asdict(todo) for todo in gone],
        }
        line = json.dumps(record, ensure_ascii=False) + "\n"
        try:
            handle = os.open(self._history, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(handle, "ab") as file:  # noqa: PTH123 - a handle
                file.write(line.encode("utf-8", "replace"))
        except OSError as error:
            raise StoreError(f"{self._history} cannot be written: {error.strerror}") from error

    def _read(self) -> tuple[tuple[Todo, ...], int]:
        try:
            body: Mapping[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
            todos = tuple(_todo(todo) for todo in body["todos"])
            return todos, int(body["next_id"])
        except FileNotFoundError:
            return (), 1
        except OSError as error:
            raise StoreError(f"{self._file} cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise Conflict(
                f"{self._file.name} is not a list of todos: {error}",
                hint="It was left alone. Ask the user to mend or remove it.",
            ) from error

    def _moment(self) -> str:
        return (_EPOCH + timedelta(microseconds=self._clock())).isoformat(timespec="seconds")


def _todo(found: Mapping[str, Any]) -> Todo:
    """A todo of the file; ValueError when this list could not have written it."""
    if type(found["id"]) is not int or not isinstance(found["text"], str):
        raise ValueError(f"the id or the text of {found['id']!r} is of the wrong kind")
    if found.get("status", "pending") not in STATUSES:
        raise ValueError(f"todo {found['id']} has no known status")
    return Todo(**found)


def _place(todos: Sequence[Todo], wanted: int) -> int:
    for at, todo in enumerate(todos):
        if todo.id == wanted:
            return at
    known = ", ".join(str(todo.id) for todo in todos) or "none"
    raise NotFound(f"there is no todo {wanted}", hint=f"The todos are: {known}.")


def _check(text: str) -> None:
    if not text.strip():
        raise InvalidInput("a todo needs a text", hint="Say what is to be done.")
    if len(text) > LONGEST:
        raise InvalidInput(
            f"a todo has at most {LONGEST} characters, and this one has {len(text)}",
            hint="Say it shortly; keep the rest in a file.",
        )
