"""Where a run is shown: an output of the cell that is updated in place, or the terminal."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from claw_nb.core.events import (
    ApprovalRequested,
    Event,
    MessageAdded,
    PartialDiscarded,
    RunFailed,
    RunFinished,
    RunStarted,
    TextAdded,
    ToolFinished,
    ToolStarted,
)
from claw_nb.core.invisible import visible
from claw_nb.core.redact import redact
from claw_nb.core.unfolding import Unfolding
from claw_nb.notebook.masked import Masks, masked
from claw_nb.notebook.page import page
from claw_nb.notebook.render import markdown, plain, plain_step
from claw_nb.notebook.story import Item, Step, Story

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

EVERY = 0.1
"""Seconds between two updates of one output at least."""

_AT_ONCE = (RunStarted, ToolStarted, ToolFinished, ApprovalRequested, RunFinished, RunFailed)

Bundle = Mapping[str, Any]
Publish = Callable[[Bundle, str, bool], None]
"""``publish(bundle, display_id, update)`` shows a MIME bundle or changes a shown one."""


class View(Protocol):
    """Shows one run. All calls come from the main thread."""

    story: Story

    def feed(self, event: Event) -> None:
        """Take in an event, and show it now or soon."""
        ...

    def due(self) -> float | None:
        """Seconds until ``render`` should be called; None while everything is shown."""
        ...

    def render(self) -> None:
        """Show everything."""
        ...

    def divide(self) -> None:
        """Something else is about to appear in the cell: go on below it."""
        ...


class CellView:
    """One display id per stretch that nothing else interrupts: usually one for the whole answer."""

    def __init__(self, publish: Publish, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.story = Story()
        self._publish = publish
        self._clock = clock
        self._id = uuid.uuid4().hex[:12]
        self._masks = Masks()
        self._shown: dict[int, tuple[Any, ...]] = {}
        self._held: set[int] = set()
        self._next = 0.0
        self._dirty = False

    def feed(self, event: Event) -> None:
        """Take in an event; at most ten updates a second are sent, steps at once."""
        self.story.feed(event)
        self._dirty = True
        if isinstance(event, _AT_ONCE) or self._clock() >= self._next:
            self.render()

    def due(self) -> float | None:
        """Seconds until the next update may be sent."""
        return max(0.0, self._next - self._clock()) if self._dirty else None

    def render(self) -> None:
        """Send each block that looks different from what was sent last."""
        self._dirty = False
        self._next = self._clock() + EVERY
        for block in range(self.story.block + 1):
            if block not in self._held:
                self._render(block)

    def divide(self) -> None:
        """Show what is there; later items stand below."""
        self.render()
        self.story.divide()

    def hold(self, call_id: str) -> str:
        """Give a new block to a question about a call; the display id to ask it under."""
        self.divide()
        block = self.story.block
        self.story.move(call_id, block)
        self._held.add(block)
        self._shown[block] = ()
        return self._name(block)

    def release(self) -> None:
        """The question is answered: its place shows the call again."""
        self._held.clear()
        self.render()

    def bundle(self, block: int | None = None) -> Bundle:
        """The MIME bundle of one block, or of the whole answer."""
        story = self.story
        items = story.ordered() if block is None else list(story.in_block(block))
        last = block is None or block == story.block
        ending = story.ending if last else None
        busy = last and not story.ending
        shown = self._masks.of(items, growing=busy and story.streaming)
        return bundle(shown, story, ending_shown=ending is not None, busy=busy)

    def _render(self, block: int) -> None:
        items = self.story.in_block(block)
        last = block == self.story.block
        state = (items, self.story.ending if last else None, last)
        before = self._shown.get(block)
        nothing = not items and not (last and self.story.ending)
        if state == before or (nothing and block > 0 and before is None):
            return
        self._shown[block] = state
        self._publish(self.bundle(block), self._name(block), before is not None)

    def _name(self, block: int) -> str:
        return f"claw-{self._id}-{block}"


def bundle(items: list[Item], story: Story, *, ending_shown: bool, busy: bool) -> Bundle:
    """The same items as HTML, Markdown and plain text: every viewer finds one that it shows.

    The items are masked already.
    """
    ending = story.ending if ending_shown else None
    model = story.started.model if story.started else ""
    return {
        "text/html": page(items, ending, model=model, busy=busy),
        "text/markdown": markdown(items, ending, model=model),
        "text/plain": visible(plain(items, ending, model=model)) or ("…" if busy else ""),
    }


class TerminalView:
    """Words as they come, one line for each finished step; the terminal can't be taken back."""

    def __init__(self, write: Callable[[str], Any] | None = None) -> None:
        self.story = Story()
        self._out = write or _to_stdout
        self._said = ""
        self._coming = Unfolding()
        self._fresh = True

    def feed(self, event: Event) -> None:
        """Print what is new."""
        self.story.feed(event)
        match event:
            case TextAdded(text=text):
                self._said += text
                self._write(self._coming.add(text))
            case PartialDiscarded():
                self._said, self._coming = "", Unfolding()
                self._line("[The answer broke off; asking again.]")
            case MessageAdded(message=message) if message.role == "assistant":
                if message.text.startswith(self._said):
                    rest = message.text.removeprefix(self._said)
                    self._write(self._coming.add(rest) + self._coming.rest())
                else:
                    self._write(f"\n{redact(message.text)}")
                self._said, self._coming = "", Unfolding()
                if message.text:
                    self._line("")
            case ToolFinished(call=call):
                steps = [item for item in self.story.items if isinstance(item, Step)]
                self._line(next(plain_step(_step(s)) for s in steps if s.call.id == call.id))
            case _:
                pass

    def due(self) -> float | None:
        """Nothing is ever kept back."""
        return None

    def render(self) -> None:
        """Everything is shown already."""

    def divide(self) -> None:
        """Begin a line for what comes."""
        self._line("")

    def _line(self, text: str) -> None:
        self._write(("" if self._fresh else "\n") + (f"{text}\n" if text else ""))

    def _write(self, text: str) -> None:
        if text:
            self._out(visible(text))
            self._fresh = text.endswith("\n")


def _step(step: Step) -> Step:
    shown = masked(step)
    assert isinstance(shown, Step)
    return shown


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def view_for(shell: InteractiveShell) -> CellView | TerminalView:
    """The view that fits the front end: kernels can change their output, terminals can't."""
    if not hasattr(shell, "kernel"):
        return TerminalView()

    def publish(data: Bundle, display_id: str, update: bool) -> None:  # noqa: FBT001
        transient = {"display_id": display_id}
        shell.display_pub.publish(data=dict(data), metadata={}, transient=transient, update=update)

    return CellView(publish)
