"""The runs of tasks: each occurrence is kept once, and taken by one worker."""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from typing import Literal

from claw_nb.core.errors import NotFound
from claw_nb.core.records import LogRow, Run, RunStatus, Task
from claw_nb.store.store import Store

COLUMNS = tuple(field.name for field in fields(Run))
NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
_OF_RUN = ", ".join(f'runs."{name}"' for name in COLUMNS)

PAUSE_AFTER = 3
"""Failures in a row after which a task is paused."""

RESULT_SHOWN = 200
"""Characters of a result that its task shows as ``last_result``."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended. ``notebook`` and ``report`` are paths."""

    status: Literal["success", "error", "cancelled"]
    result: str | None = None
    error: str | None = None
    session_id: str | None = None
    notebook: str | None = None
    report: str | None = None


class RunTable:
    """Every change is one transaction together with its log row."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # -- looking -------------------------------------------------------------------------------

    def get(self, run_id: str) -> Run:
        """The run with that id, else NotFound."""
        with self._store.read() as db:
            row = db.execute(f"SELECT {NAMES} FROM runs WHERE id = ?", (run_id,)).fetchone()
        if row is None:
            raise NotFound(f"There is no run {run_id!r}.", hint="`claw task logs NAME` shows them.")
        return _run(row)

    def list(
        self, task_id: str, *, limit: int = 20, offset: int = 0
    ) -> tuple[tuple[Run, ...], int]:
        """A page of a task's runs, the newest first, and how many there are."""
        with self._store.read() as db:
            query = "SELECT count(*) FROM runs WHERE task_id = ?"
            total: int = db.execute(query, (task_id,)).fetchone()[0]
            rows = db.execute(
                f"SELECT {NAMES} FROM runs WHERE task_id = ? ORDER BY id DESC LIMIT ? OFFSET ?",
                (task_id, limit, offset),
            ).fetchall()
        return tuple(_run(row) for row in rows), total

    def open(self, status: Literal["queued", "running"]) -> tuple[Run, ...]:
        """All runs that wait, or that are being worked on."""
        with self._store.read() as db:
            query = f"SELECT {NAMES} FROM runs WHERE status = ? ORDER BY due, id"
            return tuple(_run(row) for row in db.execute(query, (status,)))

    # -- the life of a run ---------------------------------------------------------------------

    def take(self, worker: str, *, limit: int, only: str | None = None) -> tuple[Run, ...]:
        """Queued runs that from now on belong to ``worker``, the longest due first.

        A task with ``overlap`` other than ``allow`` never has two runs going at once. ``only``
        names the one run that is wanted.
        """
        if limit < 1:
            return ()
        with self._store.tx() as tx:
            rows = tx.execute(
                f"SELECT {_OF_RUN}, tasks.overlap FROM runs JOIN tasks ON tasks.id = runs.task_id"
                " WHERE runs.status = 'queued' AND runs.id = coalesce(?, runs.id)"
                " ORDER BY runs.due, runs.id",
                (only,),
            )
            taken: builtins.list[Run] = []
            busy = {row[0] for row in tx.execute("SELECT task_id FROM runs WHERE status='running'")}
            for row in rows.fetchall():
                if row["task_id"] in busy and row["overlap"] != "allow":
                    continue
                busy.add(row["task_id"])
                taken.append(self._start(tx, row["id"], worker))
                if len(taken) == limit:
                    break
        return tuple(taken)

    def _start(self, tx: sqlite3.Connection, run_id: str, worker: str) -> Run:
        tx.execute(
            "UPDATE runs SET status = 'running', worker = ?, started = ? WHERE id = ?",
            (worker, self._store.clock(), run_id),
        )
        run = _run(tx.execute(f"SELECT {NAMES} FROM runs WHERE id = ?", (run_id,)).fetchone())
        log_run(self._store, tx, run)
        return run

    def finish(self, run: Run, outcome: Outcome) -> bool:
        """Record how a run ended; False when it was no longer this worker's to end."""
        with self._store.tx() as tx:
            return self._end(tx, run, outcome)

    def _end(self, tx: sqlite3.Connection, run: Run, outcome: Outcome) -> bool:
        done = tx.execute(
            "UPDATE runs SET status = ?, finished = ?, result = ?, error = ?, session_id = ?,"
            " notebook = ?, report = ? WHERE id = ? AND worker = ? AND status = 'running'",
            (
                outcome.status, self._store.clock(), outcome.result, outcome.error, outcome.session_id,
                outcome.notebook, outcome.report, run.id, run.worker,
            ),
        )  # fmt: skip
        if not done.rowcount:
            # Cancelled from elsewhere: how it ended is known, what it left behind is not.
            tx.execute(
                "UPDATE runs SET notebook = ?, report = ? WHERE id = ? AND worker = ?"
                " AND status = 'cancelled'",
                (outcome.notebook, outcome.report, run.id, run.worker),
            )
            return False
        row = tx.execute(f"SELECT {NAMES} FROM runs WHERE id = ?", (run.id,)).fetchone()
        log_run(self._store, tx, _run(row))
        self._tell_task(tx, run, outcome)
        return True

    def _tell_task(self, tx: sqlite3.Connection, run: Run, outcome: Outcome) -> None:
        text = f"Error: {outcome.error}" if outcome.status == "error" else outcome.result
        failures = {"success": "0", "error": "failures + 1", "cancelled": "failures"}
        tx.execute(
            f"UPDATE tasks SET last_run = ?, last_result = ?, failures = {failures[outcome.status]}"
            " WHERE id = ?",
            (run.started, (text or outcome.status.capitalize())[:RESULT_SHOWN], run.task_id),
        )
        self._complete(tx, run.task_id)
        paused = tx.execute(
            "UPDATE tasks SET status = 'paused', rev = rev + 1 WHERE id = ? AND status = 'active'"
            " AND failures >= ? RETURNING name, agent_id, failures",
            (run.task_id, PAUSE_AFTER),
        ).fetchone()
        if paused:
            self._store.append(
                [
                    LogRow(
                        id=self._store.new_id(),
                        ts=self._store.clock(),
                        kind="task.paused",
                        task_id=run.task_id,
                        run_id=run.id,
                        agent=paused["agent_id"],
                        name=paused["name"],
                        status="paused",
                        text=f"{paused['failures']} runs in a row have failed.",
                    )
                ],
                tx=tx,
            )

    def _complete(self, tx: sqlite3.Connection, task_id: str) -> None:
        """A moment that has passed leaves nothing to do, well or not."""
        tx.execute(
            "UPDATE tasks SET status = 'completed' WHERE id = ? AND status = 'active'"
            " AND next_run IS NULL AND NOT EXISTS (SELECT 1 FROM runs WHERE task_id = tasks.id"
            " AND status IN ('queued', 'running'))",
            (task_id,),
        )

    def cancel(self, run: Run) -> Run:
        """End a run that waits or is going; its worker sees it and kills what it started."""
        with self._store.tx() as tx:
            self._close(tx, [run.id], "cancelled", "It was cancelled.")
        return self.get(run.id)

    def skip_queued(self, task: Task, reason: str) -> None:
        """Give up the scheduled runs of a task that have not begun."""
        with self._store.tx() as tx:
            query = """SELECT id FROM runs WHERE task_id = ? AND status = 'queued'
                       AND "trigger" = 'schedule'"""
            ids = [row[0] for row in tx.execute(query, (task.id,))]
            self._close(tx, ids, "skipped", reason)

    def _close(
        self, tx: sqlite3.Connection, ids: Iterable[str], status: RunStatus, reason: str
    ) -> None:
        for run_id in ids:
            closed = tx.execute(
                "UPDATE runs SET status = ?, finished = ?, error = ? WHERE id = ?"
                f" AND status IN ('queued', 'running') RETURNING {NAMES}",
                (status, self._store.clock(), reason, run_id),
            ).fetchone()
            if closed:
                log_run(self._store, tx, _run(closed))
                self._complete(tx, closed["task_id"])

    def abandon(self, dead: Collection[str], reason: str) -> int:
        """End the runs whose worker has died; gives how many."""
        with self._store.tx() as tx:
            rows = tx.execute(f"SELECT {NAMES} FROM runs WHERE status = 'running'").fetchall()
            lost = [_run(row) for row in rows if row["worker"] in dead]
            for run in lost:
                # Not the task's fault, so it does not count as its failure.
                tx.execute("UPDATE tasks SET failures = failures - 1 WHERE id = ?", (run.task_id,))
                self._end(tx, run, Outcome(status="error", error=reason))
        return len(lost)


def log_run(store: Store, tx: sqlite3.Connection, run: Run) -> None:
    """Log what became of a run, in the transaction that did it."""
    logged = {"queued": "queued", "running": "started", "missed": "missed", "skipped": "skipped"}
    row = LogRow(
        id=store.new_id(),
        ts=store.clock(),
        kind=f"task_run.{logged.get(run.status, 'finished')}",
        run_id=run.id,
        task_id=run.task_id,
        session_id=run.session_id,
        status=run.status,
        ms=(run.finished - run.started) / 1000 if run.finished and run.started else None,
        text=run.error or run.result,
        data={
            "due": run.due, "trigger": run.trigger, "worker": run.worker,
            "notebook": run.notebook, "report": run.report,
        },
    )  # fmt: skip
    store.append([row], tx=tx)


def _run(row: sqlite3.Row) -> Run:
    return Run(**{name: row[name] for name in COLUMNS})
