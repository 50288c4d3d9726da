"""The server's one way to the data home, opened at its first use, away from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from claw_nb.tasks import Tasks
    from claw_nb.workspace import Workspace

T = TypeVar("T")


class Desk:
    """Blocking calls run in threads; what they need is imported when the first one comes."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._workspace: Workspace | None = None
        self._opening = asyncio.Lock()

    async def workspace(self) -> Workspace:
        """The data home and its settings; this makes the home when there is none."""
        async with self._opening:
            if self._workspace is None:
                self._workspace = await asyncio.to_thread(self._open)
            return self._workspace

    async def tasks(self) -> Tasks:
        """The tasks of the data home."""
        return (await self.workspace()).tasks

    async def ask(self, question: Callable[[Tasks], T]) -> T:
        """What a blocking question to the tasks gives."""
        return await asyncio.to_thread(question, await self.tasks())

    async def is_inhabited(self) -> bool:
        """Whether anything was ever kept there; asking makes nothing."""
        return self._workspace is not None or await asyncio.to_thread(self._has_state)

    async def close(self) -> None:
        """Let go of the home."""
        async with self._opening:
            if self._workspace is not None:
                await asyncio.to_thread(self._workspace.close)
                self._workspace = None

    def _open(self) -> Workspace:
        from claw_nb.workspace import Workspace  # noqa: PLC0415

        workspace = Workspace.open(self._home)
        _ = workspace.tasks  # opens the store, here and not on the event loop
        return workspace

    def _has_state(self) -> bool:
        from claw_nb.workspace import Workspace  # noqa: PLC0415

        return (Workspace.open(self._home).home / "data" / "state.db").exists()
