"""What becomes of a due task: which of its occurrences run, and which are lost and why."""

from __future__ import annotations

from claw_nb.core.records import Task
from claw_nb.store.queue import Plan
from claw_nb.tasks.schedule import SECOND, Schedule, last_due, next_run, of, show

ON_TIME = 120 * SECOND
"""A run that starts this late still counts as on time: looks are at most a minute apart."""

AT_ONCE = 100
"""Missed occurrences that ``misfire="all"`` catches up on at most."""

_COUNTED = 500


def plan(task: Task, now: int) -> Plan:
    """The fate of a task whose ``next_run`` is not after ``now``, by its misfire policy."""
    assert task.next_run is not None
    schedule = of(task)
    last = last_due(schedule, first=task.next_run, now=now, anchor=task.anchor)
    grace = int(task.grace_seconds * SECOND)
    since = now - max(ON_TIME, 0 if task.misfire == "skip" else grace)
    if task.misfire == "all":
        run = _between(task, max(task.next_run, since), last)[-AT_ONCE:]
    else:
        run = [last] if last >= since else []
    missed = []
    if not run or task.next_run < run[0]:
        until = run[0] - 1 if run else last
        missed = [(task.next_run, _reason(task, until, now))]
    return Plan(
        task=task,
        run=run,
        missed=missed,
        next_run=next_run(schedule, after=now, anchor=task.anchor),
    )


def _between(task: Task, first: int, last: int) -> list[int]:
    """The due moments from ``first`` to ``last``; the latest ones when there are very many."""
    schedule = of(task)
    found: list[int] = []
    due = (
        first if first == task.next_run else next_run(schedule, after=first - 1, anchor=task.anchor)
    )
    while due is not None and due <= last and len(found) < 100_000:
        found.append(due)
        due = next_run(schedule, after=due, anchor=task.anchor)
    return found


def _reason(task: Task, until: int, now: int) -> str:
    assert task.next_run is not None
    schedule = of(task)
    first = show(task.next_run, task.timezone)
    count = _count(schedule, task, until)
    if count == 1:
        late = (now - task.next_run) // SECOND
        return f"It was due {first} and nothing was there to run it until {_ago(late)} later."
    many = f"more than {_COUNTED}" if count > _COUNTED else str(count)
    return (
        f"{many} runs, due from {first} on, did not happen: nothing was there to run them "
        f"until {show(now, task.timezone)}."
    )


def _count(schedule: Schedule, task: Task, until: int) -> int:
    count, due = 0, task.next_run
    while due is not None and due <= until and count <= _COUNTED:
        count += 1
        due = next_run(schedule, after=due, anchor=task.anchor)
    return count


def _ago(seconds: int) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} seconds"
