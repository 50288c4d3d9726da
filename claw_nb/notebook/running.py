"""Work that a cell waits for and that Stop ends: awaited, or on a thread where nothing can be."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from claw_nb.notebook.bridge import MainThread
from claw_nb.notebook.failure import stopped
from claw_nb.notebook.interrupt import Interrupts

R = TypeVar("R")
Work = Coroutine[Any, Any, R]


async def awaited(work: Work[R], interrupts: Interrupts) -> R:
    """What the work returns; raises RunFailure of kind ``cancelled`` when the user stopped it."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    with interrupts.watching(lambda: loop.call_soon_threadsafe(task.cancel)):
        try:
            return await task
        except asyncio.CancelledError:
            if interrupts.presses:
                raise stopped() from None
            raise


def blocking(
    work: Work[R], interrupts: Interrupts, bridge: MainThread, idle: Callable[[], None]
) -> R:
    """The same, on an event loop in a thread of its own; this thread serves ``bridge`` meanwhile."""
    begun: Future[Callable[[], object]] = Future()
    ended: Future[R] = Future()

    async def run() -> R:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        begun.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    def in_thread() -> None:
        try:
            ended.set_result(asyncio.run(run()))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - raised by the caller
            ended.set_exception(error)
        finally:
            bridge.end()

    thread = threading.Thread(target=in_thread, name="claw", daemon=True)
    thread.start()
    with interrupts.watching(begun.result()):
        try:
            bridge.serve(idle)
        except BaseException:
            # Nobody shows or stops what the agent would still do.
            begun.result()()
            raise
        thread.join()
        try:
            return ended.result()
        except asyncio.CancelledError:
            raise stopped() from None
