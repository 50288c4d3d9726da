"""The scheduler as a background task of the server: kept, watched, and started again if it dies."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claw_nb_server.desk import Desk

if TYPE_CHECKING:
    from claw_nb.tasks.scheduler import Scheduler

REST = 5.0
"""Seconds before a dead scheduler is started again, or an empty home is looked at again."""


@dataclass(kw_only=True)
class Background:
    """Runs due tasks for as long as the server lives."""

    desk: Desk
    slots: int
    """Runs at once at most; 0 takes the setting ``tasks.max_parallel``."""
    log: logging.Logger | logging.LoggerAdapter[Any]
    on_active: Callable[[], None]
    _task: asyncio.Task[None] | None = None
    _scheduler: Scheduler | None = None

    def __post_init__(self) -> None:
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Begin, on the running loop."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep(), name="claw_nb scheduler")

    async def stop(self) -> None:
        """Stop the runs that are going, and end."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def wake(self) -> None:
        """Look for due tasks now."""
        self._wake.set()
        if self._scheduler is not None:
            self._scheduler.wake()

    @property
    def running(self) -> tuple[str, ...]:
        """The ids of the runs that are going here."""
        return self._scheduler.pulse.running if self._scheduler is not None else ()

    @property
    def pulse(self) -> Any:
        """How the scheduler is doing; None before it has begun."""
        return self._scheduler.pulse if self._scheduler is not None else None

    async def _keep(self) -> None:
        while True:
            try:
                # A server that is merely started leaves no data home behind.
                if await self.desk.is_inhabited():
                    self._scheduler = await self._make()
                    await self._scheduler.serve()
            except Exception as error:
                self.log.exception("The scheduler of claw_nb died; it starts again soon.")
                if self._scheduler is not None:
                    self._scheduler.pulse.last_error = str(error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REST):
                    await self._wake.wait()
            self._wake.clear()

    async def _make(self) -> Scheduler:
        workspace = await self.desk.workspace()
        tasks, slots = workspace.tasks, self.slots or workspace.settings.max_parallel

        def make() -> Scheduler:
            from claw_nb.tasks.runner import Runner  # noqa: PLC0415
            from claw_nb.tasks.scheduler import Scheduler  # noqa: PLC0415

            log = logging.getLogger("claw_nb.tasks")
            return Scheduler(
                tasks=tasks, execute=Runner(home=tasks.home), slots=slots, log=log,
                on_active=self.on_active,
            )  # fmt: skip

        return await asyncio.to_thread(make)
