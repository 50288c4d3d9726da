"""The Stop button: the run is cancelled at once, user code is interrupted, the third press is hard.

ipykernel's own handler only cancels when the loop next wakes up, and the terminal's leaves the task
pending; so while a run is on, SIGINT is ours.
"""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

HARD = 3
"""The press that no longer waits for a clean end."""


class Interrupts:
    """SIGINT during one run; all of it happens on the main thread."""

    def __init__(self) -> None:
        self.presses = 0
        self.timed_out = False
        self._stop: Callable[[], object] | None = None
        self._in_code = 0
        self._time_is_up = False

    @contextmanager
    def watching(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` when the user presses Stop. Does nothing on another thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self.presses = 0
        self._stop = stop
        before = signal.signal(signal.SIGINT, self._pressed)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self._stop = None

    @contextmanager
    def code(self, *, timeout: float | None = None) -> Iterator[None]:
        """Blocking code runs here: Stop and the time limit raise KeyboardInterrupt inside it.

        ``timed_out`` tells afterwards which of the two it was.
        """
        self.timed_out = False
        self._in_code += 1
        timer = threading.Timer(timeout, self._ring) if timeout and self._stop else None
        if timer:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            self._in_code -= 1
            if timer:
                timer.cancel()
            self._time_is_up = False

    def _ring(self) -> None:
        self._time_is_up = True
        if hasattr(signal, "pthread_kill"):
            ident = threading.main_thread().ident
            assert ident is not None
            signal.pthread_kill(ident, signal.SIGINT)
        else:
            _thread.interrupt_main(signal.SIGINT)

    def _pressed(self, signum: int, frame: FrameType | None) -> None:
        if self._time_is_up:
            self._time_is_up = False
            if self._in_code:
                self.timed_out = True
                raise KeyboardInterrupt
            return
        self.presses += 1
        if self._stop is not None:
            self._stop()
        if self._in_code or self.presses >= HARD:
            raise KeyboardInterrupt
