"""The end of a run's process and of everything that it started.

Kernels live in sessions of their own, so the tree is taken down by its members and its groups.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence

import psutil

PATIENCE = 8.0
"""Seconds in which a stopped run may save what it has, before it is killed."""

_LAST_WORDS = 1.0
"""Seconds in which the streams of a dead process may still be read to their end."""


async def end(
    process: asyncio.subprocess.Process,
    talking: asyncio.Task[None],
    complaining: asyncio.Task[None],
    *,
    groups: Sequence[int],
) -> None:
    """Bring a run to its end, well or not: ask it to stop if it still goes, then leave nothing.

    ``talking`` reads its output, which ends with it; ``groups`` lead the groups of its kernels.
    """
    tree: list[psutil.Process] = []
    if not talking.done():
        tree = _tree(process.pid)
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await asyncio.wait({talking}, timeout=PATIENCE)
    await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=_LAST_WORDS)
    for member in {*tree, *_tree(process.pid)}:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    for group in (process.pid, *groups):
        _kill_group(group)
    await process.wait()
    reading = {talking, complaining}
    await asyncio.wait(reading, timeout=_LAST_WORDS)
    for reader in reading:
        reader.cancel()
    # Something outside every group may still hold the pipes; they are closed here all the same.
    process._transport.close()  # type: ignore[attr-defined]


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _kill_group(leader: int) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
