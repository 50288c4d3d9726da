"""What models took: sums that are kept with the log, fast enough to be asked before each call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from claw_nb.core.clock import Clock
from claw_nb.core.messages import Usage
from claw_nb.store.state import State

DAY = 86_400_000_000
"""Microseconds."""

Grouping = Literal["day", "model", "session", "task", "agent"]

_SUMS = (
    "coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), coalesce(sum(cache_read), 0), "
    "coalesce(sum(cache_write), 0), coalesce(sum(cost), 0)"
)
_NAMES: dict[Grouping, str] = {
    "day": "date(day * 86400, 'unixepoch')",
    "model": "provider || '/' || model",
    "session": "session_id",
    "task": "coalesce((SELECT name FROM tasks WHERE id = task_id), task_id)",
    "agent": "agent",
}


_FAMILY = """session_id IN (
    WITH RECURSIVE family(id) AS (
        VALUES (?)
        UNION
        SELECT s.id FROM family JOIN sessions s ON s.next = family.id
            OR s.id = (SELECT next FROM sessions WHERE id = family.id)
            OR s.key = 'subagent:' || family.id
            OR 'subagent:' || s.id = (SELECT key FROM sessions WHERE id = family.id)
    )
    SELECT id FROM family
)"""
"""Sessions that are one conversation to a person."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """A row of a report. ``unpriced`` counts the calls whose price is not known."""

    name: str
    calls: int
    unpriced: int
    usage: Usage


class Spending:
    """Sums over all processes of a home. They stay when a session is removed."""

    def __init__(self, state: State, *, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def of_session(self, session_id: str) -> Usage:
        """All that a session has taken, with those it went on from and in, and its subagents."""
        return self._sum(_FAMILY, session_id)

    def of_task_run(self, run_id: str) -> Usage:
        """All that one run of a task has taken."""
        return self._sum("task_run_id = ?", run_id)

    def today(self) -> Usage:
        """All that was taken since midnight UTC."""
        return self._sum("day = ?", self._clock() // DAY)

    def listing(self, by: Grouping, *, days: int | None = None) -> tuple[Spent, ...]:
        """What was taken in the last ``days``, today being one, the latest or dearest first."""
        since = 0 if days is None else self._clock() // DAY - days + 1
        order = "1 DESC" if by == "day" else "sum(cost) DESC, sum(tokens_in + cache_read) DESC"
        only = " AND task_id <> ''" if by == "task" else ""
        with self._state.read() as read:
            rows = read.execute(
                f"SELECT {_NAMES[by]}, sum(calls), sum(unpriced), {_SUMS} FROM spent "
                f"WHERE day >= ?{only} GROUP BY 1 ORDER BY {order}",
                (since,),
            ).fetchall()
        return tuple(
            Spent(name=row[0], calls=row[1], unpriced=row[2], usage=_usage(tuple(row)[3:]))
            for row in rows
        )

    def _sum(self, where: str, value: str | int) -> Usage:
        with self._state.read() as read:
            row = read.execute(f"SELECT {_SUMS} FROM spent WHERE {where}", (value,)).fetchone()
        return _usage(tuple(row))


def _usage(sums: tuple[float, ...]) -> Usage:
    into, out, read, write, cost = sums
    return Usage(
        input=int(into), output=int(out), cache_read=int(read), cache_write=int(write), cost=cost
    )
