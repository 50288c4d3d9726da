"""Who is answering in a session: one at a time, and a killed process holds nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from claw_nb.core.clock import Clock
from claw_nb.core.errors import Conflict
from claw_nb.core.locks import FileLock
from claw_nb.store.jsonl import path_of


class Leases:
    """One lock file for each session. The operating system lets go of it when its holder dies."""

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    @contextmanager
    def hold(self, session_id: str) -> Iterator[None]:
        """Be the only one to write in a session; Conflict says who is at it already."""
        file = self._file(session_id)
        lock = FileLock(file)
        if not lock.acquire("try"):
            raise Conflict(
                f"Session {session_id[:13]} is being answered elsewhere{self._holder(file)}.",
                hint="Wait until it is done or stop it there; or begin another session.",
            )
        try:
            mine = {"pid": os.getpid(), "since": self._clock()}
            with suppress(OSError):  # only for the message that another one gets
                file.write_text(json.dumps(mine), encoding="utf-8")
            yield
        finally:
            lock.release()

    def held(self, session_id: str) -> bool:
        """Whether somebody is writing in a session right now."""
        file = self._file(session_id)
        if not file.exists():
            return False
        lock = FileLock(file)
        if not lock.acquire("try"):
            return True
        lock.release()
        return False

    def forget(self, session_id: str) -> None:
        """Delete the file of a session that is no more."""
        with suppress(OSError):
            self._file(session_id).unlink(missing_ok=True)

    def _file(self, session_id: str) -> Path:
        return path_of(self._folder, session_id).with_suffix(".lock")

    def _holder(self, file: Path) -> str:
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
            since = datetime.fromtimestamp(told["since"] / 1e6, UTC).astimezone()
            return f" (process {told['pid']}, since {since:%H:%M:%S})"
        except (OSError, ValueError, KeyError, TypeError):
            return ""
