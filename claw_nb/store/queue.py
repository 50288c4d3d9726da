"""The queue of runs: a due task becomes runs, each occurrence once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from claw_nb.core.errors import Conflict
from claw_nb.core.records import Run, RunStatus, Task
from claw_nb.store.runs import COLUMNS, NAMES, log_run
from claw_nb.store.store import Store


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What becomes of a due task: the occurrences to run, those that are lost, and the next one."""

    task: Task
    run: Sequence[int]
    missed: Sequence[tuple[int, str]]
    next_run: int | None


class Queue:
    """Every change is one transaction together with its log row."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def enqueue(self, plans: Iterable[Plan]) -> None:
        """Turn due tasks into runs; a task that another worker was faster with stays untouched."""
        with self._store.tx() as tx:
            for plan in plans:
                moved = tx.execute(
                    "UPDATE tasks SET next_run = ?, status = ?"
                    " WHERE id = ? AND next_run = ? AND rev = ? AND status = 'active'",
                    (plan.next_run, _status_after(plan), *_as_read(plan.task)),
                )
                if moved.rowcount:
                    self._keep(tx, plan)

    def _keep(self, tx: sqlite3.Connection, plan: Plan) -> None:
        for due, reason in plan.missed:
            self._insert(tx, plan.task, due, status="missed", error=reason)
        for due in plan.run:
            if plan.task.overlap == "skip" and _is_open(tx, plan.task.id):
                reason = "The run before it had not ended yet."
                self._insert(tx, plan.task, due, status="skipped", error=reason)
            else:
                self._insert(tx, plan.task, due, status="queued")

    def enqueue_now(self, task: Task) -> Run:
        """One run outside the schedule; Conflict when the task is already waiting or running."""
        now = self._store.clock()
        with self._store.tx() as tx:
            if _is_open(tx, task.id) and task.overlap != "allow":
                raise Conflict(
                    f"The task {task.name!r} is already running.",
                    hint="Wait until the run has ended; `claw task logs NAME` shows it.",
                )
            run = self._insert(tx, task, now, status="queued", trigger="manual")
        if run is None:
            raise Conflict(f"The task {task.name!r} was started at this very moment.")
        return run

    def _insert(
        self,
        tx: sqlite3.Connection,
        task: Task,
        due: int,
        *,
        status: RunStatus,
        trigger: Literal["schedule", "manual"] = "schedule",
        error: str | None = None,
    ) -> Run | None:
        """A new run, or None when this occurrence is already there."""
        ended = self._store.clock() if error else None
        run = Run(
            id=self._store.new_id(), task_id=task.id, due=due, trigger=trigger, status=status,
            finished=ended, error=error,
        )  # fmt: skip
        marks = ", ".join("?" for _ in COLUMNS)
        values = tuple(getattr(run, name) for name in COLUMNS)
        done = tx.execute(
            f"INSERT INTO runs ({NAMES}) VALUES ({marks}) ON CONFLICT (task_id, due) DO NOTHING",
            values,
        )
        if not done.rowcount:
            return None
        log_run(self._store, tx, run)
        return run


def _as_read(task: Task) -> tuple[str, int | None, int]:
    return task.id, task.next_run, task.rev


def _status_after(plan: Plan) -> str:
    return "active" if plan.run or plan.next_run is not None else "missed"


def _is_open(tx: sqlite3.Connection, task_id: str) -> bool:
    query = "SELECT 1 FROM runs WHERE task_id = ? AND status IN ('queued', 'running')"
    return tx.execute(query, (task_id,)).fetchone() is not None
