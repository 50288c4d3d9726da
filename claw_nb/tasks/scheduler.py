"""The scheduler: looks for what is due, and sees each run through to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from claw_nb.core.errors import ClawError
from claw_nb.core.records import Run, Task
from claw_nb.store.queue import Plan
from claw_nb.store.runs import Outcome
from claw_nb.store.workers import Worker
from claw_nb.tasks.due import plan
from claw_nb.tasks.schedule import SECOND
from claw_nb.tasks.tasks import Tasks

LOOK = 1.0
"""Seconds between looks; a task that is due sooner shortens the wait. A look costs microseconds."""

BEAT = 10 * SECOND
"""How often a worker says that it lives, and looks for others that don't."""

AT_ONCE = 500
"""Due tasks that one look takes on."""

_ORPHANED = "The process that ran it ended before the run did."


class Execute(Protocol):
    """Do one run; must end soon after ``stop`` is set, and leave no process behind."""

    async def __call__(self, task: Task, run: Run, stop: asyncio.Event) -> Outcome:
        """Give how it ended."""
        ...


@dataclass(kw_only=True)
class _Going:
    run: Run
    stop: asyncio.Event
    work: asyncio.Task[None]


@dataclass(kw_only=True)
class Pulse:
    """How the scheduler is doing. Times are UTC microseconds."""

    worker: str | None = None
    slots: int
    started: int | None = None
    last_tick: int | None = None
    last_error: str | None = None
    running: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Scheduler:
    """One worker on a home. Any number of them may serve: an occurrence runs once.

    ``on_active`` is called at each look while a run is going.
    """

    tasks: Tasks
    execute: Execute
    slots: int = 2
    log: logging.Logger = field(default_factory=lambda: logging.getLogger(__name__))
    on_active: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.pulse = Pulse(slots=self.slots)
        self._going: dict[str, _Going] = {}
        self._wake = asyncio.Event()
        self._beaten = 0

    def wake(self) -> None:
        """Look now instead of at the next look."""
        self._wake.set()

    async def serve(self) -> None:
        """Work until cancelled; then stop what is going, and leave."""
        worker = await asyncio.to_thread(self.tasks.workers.join, slots=self.slots)
        self.pulse.worker, self.pulse.started = worker.id, worker.started
        try:
            while True:
                # A look that takes runs must come to its end, or nobody would see them through.
                tick = asyncio.ensure_future(self._tick(worker))
                try:
                    wait = await asyncio.shield(tick)
                except asyncio.CancelledError:
                    await tick
                    raise
                await self._wait(wait)
        finally:
            self.pulse.worker = None
            await asyncio.shield(self._leave(worker))

    async def _tick(self, worker: Worker) -> float:
        """One look; gives the seconds until the next. Trouble is shown, and does not end it."""
        try:
            going = frozenset(self._going)
            taken, lost, wait = await asyncio.to_thread(self._look, worker, going)
        except Exception as error:
            self.log.exception("The scheduler could not look for due tasks.")
            self.pulse.last_error = str(error)
            return LOOK
        for run_id in lost:
            if run_id in self._going:
                self._going[run_id].stop.set()
        for task, run in taken:
            stop = asyncio.Event()
            work = asyncio.create_task(self._see_through(task, run, stop), name=f"run {run.id}")
            self._going[run.id] = _Going(run=run, stop=stop, work=work)
        self.pulse.last_tick = self.tasks.clock()
        self.pulse.running = tuple(self._going)
        if self._going:
            self.on_active()
        return wait

    def _look(
        self, worker: Worker, going: frozenset[str]
    ) -> tuple[list[tuple[Task, Run]], frozenset[str], float]:
        """Everything that asks the store, in a thread: due tasks, free slots, lost runs."""
        tasks, now = self.tasks, self.tasks.clock()
        if abs(now - self._beaten) >= BEAT:
            tasks.workers.beat(worker)
            bury_dead(tasks)
            tasks.compact_soon()
            self._beaten = now
        if due := tasks.table.due(now, limit=AT_ONCE):
            tasks.queue.enqueue([made for task in due if (made := self._plan(task, now))])
        free = self.slots - len(going)
        if free > 0 and tasks.occurrences.open("queued"):
            tasks.occurrences.take(worker.id, limit=free)
        mine = [run for run in tasks.occurrences.open("running") if run.worker == worker.id]
        # Among them may be some that a look took which then failed.
        taken = [(tasks.get(run.task_id), run) for run in mine if run.id not in going]
        upcoming = tasks.table.next_due()
        wait = LOOK if upcoming is None else min(LOOK, max(upcoming - tasks.clock(), 0) / SECOND)
        return taken, going - {run.id for run in mine}, wait

    def _plan(self, task: Task, now: int) -> Plan | None:
        try:
            return plan(task, now)
        except Exception as error:
            # One task that cannot be reckoned, say after its zone has gone, must not stop the rest.
            self.log.exception("Task %r is paused: its schedule cannot be reckoned.", task.name)
            self.tasks.table.update(
                task, kind="task.paused", status="paused", last_result=f"Error: {error}"
            )
            return None

    async def _see_through(self, task: Task, run: Run, stop: asyncio.Event) -> None:
        self.log.info("Running task %r (run %s).", task.name, run.id)
        try:
            outcome = await self.execute(task, run, stop)
        except asyncio.CancelledError:
            outcome = Outcome(status="cancelled", error="The scheduler was stopped.")
        except Exception as error:
            self.log.exception("Task %r could not be run.", task.name)
            outcome = Outcome(status="error", error=f"{type(error).__name__}: {error}")
        try:
            # A run whose end is not kept would count as going, and block its task.
            while not await asyncio.to_thread(self._finish, run, outcome):
                if self.pulse.worker is None:
                    break
                await asyncio.sleep(LOOK)
        finally:
            self._going.pop(run.id, None)
            self._wake.set()

    def _finish(self, run: Run, outcome: Outcome) -> bool:
        """Whether the end is kept; the next worker finds one that never was orphaned."""
        try:
            if not self.tasks.occurrences.finish(run, outcome):
                self.log.info("Run %s had already been ended elsewhere.", run.id)
        except ClawError as error:
            self.log.exception("The end of run %s could not be kept.", run.id)
            self.pulse.last_error = str(error)
            return False
        return True

    async def _wait(self, seconds: float) -> None:
        # Not wait_for: in Python 3.11 it loses a cancellation that comes with the wake.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()

    async def _leave(self, worker: Worker) -> None:
        going = list(self._going.values())
        for one in going:
            one.stop.set()
        await asyncio.gather(*(one.work for one in going), return_exceptions=True)
        try:
            await asyncio.to_thread(self.tasks.workers.leave, worker)
        except ClawError:
            self.log.exception("The scheduler could not sign off.")


def bury_dead(tasks: Tasks) -> int:
    """End the runs of workers that have died; gives how many runs that were."""
    # The runs first: who took one of these had joined before.
    running = tasks.occurrences.open("running")
    workers = tasks.workers.list()
    dead = [worker for worker in workers if not tasks.workers.alive(worker)]
    known = {worker.id for worker in workers}
    strays = {run.worker for run in running if run.worker and run.worker not in known}
    gone = {worker.id for worker in dead} | strays
    ended = tasks.occurrences.abandon(gone, _ORPHANED) if gone else 0
    for worker in dead:
        tasks.workers.bury(worker)
    return ended


async def run_here(tasks: Tasks, execute: Execute, run: Run) -> Run:
    """See one queued run through in this process; gives it as it ended.

    A run that another worker was faster with, or that has to wait, comes back as it is.
    """
    worker = await asyncio.to_thread(tasks.workers.join, slots=1)
    try:
        for taken in await asyncio.to_thread(
            tasks.occurrences.take, worker.id, limit=1, only=run.id
        ):
            task = await asyncio.to_thread(tasks.get, taken.task_id)
            try:
                outcome = await execute(task, taken, asyncio.Event())
            except asyncio.CancelledError:
                stopped = Outcome(status="cancelled", error="It was stopped.")
                await asyncio.shield(asyncio.to_thread(tasks.occurrences.finish, taken, stopped))
                raise
            await asyncio.to_thread(tasks.occurrences.finish, taken, outcome)
    finally:
        await asyncio.shield(asyncio.to_thread(tasks.workers.leave, worker))
    return await asyncio.to_thread(tasks.run, run.id)
