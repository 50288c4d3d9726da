"""A lock between processes: a file that the operating system unlocks when its holder dies."""

from __future__ import annotations

import os
import sys
import time
import weakref
from pathlib import Path
from typing import Literal

from claw_nb.core.errors import StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


class FileLock:
    """``with FileLock(path):`` waits for its turn; ``acquire("try")`` does not.

    Not for use by two threads at once: each makes its own. A forked child never holds it, even
    when it was held at the fork.
    """

    def __init__(self, path: Path, *, timeout: float = 60.0) -> None:
        self.path = path
        self.timeout = timeout
        self._handle: int | None = None

    def acquire(self, how: Literal["wait", "try"] = "wait") -> bool:
        """Take the lock. ``try`` says False when another holds it; ``wait`` raises StoreError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise StoreError(
                f"The lock file {self.path} cannot be opened: {error.strerror}.",
                hint="Make its folder writable, or set CLAW_HOME to one that is.",
            ) from error
        # From here on a fork must close the handle in the child: it would share the lock.
        self._handle = handle
        _held.add(self)
        deadline = time.monotonic() + self.timeout
        while not _lock(handle):
            if how == "try" or time.monotonic() > deadline:
                self.release()
                if how == "try":
                    return False
                raise StoreError(
                    f"Another process has held {self.path} for {self.timeout:.0f} seconds.",
                    hint="Wait for it, or end the process that hangs.",
                )
            time.sleep(0.005)
        return True

    def release(self) -> None:
        """Let the next one in. Releasing twice is fine."""
        handle, self._handle = self._handle, None
        _held.discard(self)
        if handle is not None:
            os.close(handle)

    def __enter__(self) -> FileLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _forget() -> None:
    # Closing is enough: the parent's handle keeps its lock, and unlocking here would take it away.
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
