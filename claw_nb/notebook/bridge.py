"""The main thread works for an event loop in another thread while a cell waits for it."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

TICK = 0.05
"""Seconds between looks at the clock while nothing is to be done."""


class MainThread:
    """Calls from another thread's loop, made one by one on the thread that serves."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    async def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call ``function`` on the main thread and wait for what it returns."""
        future: Future[R] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*args, **kwargs))
                except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it belongs to the caller
                    future.set_exception(error)

        self._calls.put(run)
        return await asyncio.wrap_future(future)

    def post(self, function: Callable[..., Any], *args: Any) -> None:
        """Call ``function`` on the main thread, in order, without waiting."""
        self._calls.put(lambda: function(*args))

    def end(self) -> None:
        """Let ``serve`` return once everything before this has been done."""
        self._calls.put(None)

    def serve(self, idle: Callable[[], None]) -> None:
        """Make the calls until ``end``; ``idle`` is called now and then."""
        while True:
            try:
                work = self._calls.get(timeout=TICK)
            except queue.Empty:
                idle()
                continue
            if work is None:
                return
            work()
