"""How a running tool tells the run's listeners something before it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from claw_nb.core.events import Event, ToolProgressed


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The call that is running, and the way to the listeners of its run."""

    call_id: str
    tell: Callable[[Event], None]

    def say(self, text: str) -> None:
        """Show some words of what the call is doing; they are for watching only."""
        self.tell(ToolProgressed(call_id=self.call_id, text=text))


_SILENT = Progress(call_id="", tell=lambda _: None)
_current: ContextVar[Progress] = ContextVar("claw_nb_progress", default=_SILENT)


def progress() -> Progress:
    """The progress of the tool call that this code runs in; outside of one nobody listens."""
    return _current.get()


@contextmanager
def telling(call_id: str, tell: Callable[[Event], None]) -> Iterator[None]:
    """Everything in the block, and the tasks that it starts, tells its progress there."""
    token = _current.set(Progress(call_id=call_id, tell=tell))
    try:
        yield
    finally:
        _current.reset(token)
