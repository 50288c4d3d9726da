"""What a reader sees of a run, kept up to date event by event: words, thoughts, steps, an ending.

While the answer streams, the words are the deltas so far; each message that joins the transcript
then replaces them, so that what stays on the screen is what the transcript holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from claw_nb.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    CompactionFinished,
    Event,
    MessageAdded,
    PartialDiscarded,
    ReminderAdded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    RunStarted,
    SessionRotated,
    TextAdded,
    ThinkingAdded,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnStarted,
)
from claw_nb.core.messages import (
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    interrupted,
)

Status = Literal["waiting", "asking", "running", "done", "failed", "denied", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class Words:
    """A piece of the answer, in Markdown."""

    text: str
    block: int = 0


@dataclass(frozen=True, kw_only=True)
class Thought:
    """Summarised reasoning."""

    text: str
    block: int = 0


@dataclass(frozen=True, kw_only=True)
class Step:
    """A tool call and what it came to; ``answered`` says who allowed or denied it."""

    call: ToolCall
    status: Status = "waiting"
    result: ToolResult | None = None
    ms: float | None = None
    preview: str = ""
    progress: str = ""
    answered: str = ""
    block: int = 0


@dataclass(frozen=True, kw_only=True)
class Remark:
    """Something about the run itself: a retry, a reminder."""

    text: str
    block: int = 0


Item = Words | Thought | Step | Remark


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How the run ended and what it took; ``problem`` is empty when it went well."""

    kind: str
    turns: int
    tools: int
    usage: Usage
    ms: float
    problem: str = ""
    hint: str = ""


@dataclass
class Story:
    """The state; ``feed`` is its only verb that events need.

    ``divide`` says that something else came to stand below: later items get a new block.
    """

    items: list[Item] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    started: RunStarted | None = None
    ending: Ending | None = None
    block: int = 0
    _turn_from: int = 0

    @property
    def streaming(self) -> bool:
        """Whether the last words have not joined the transcript yet."""
        return len(self.items) > self._turn_from

    def divide(self) -> int:
        """Begin a new block and return its number."""
        self.block += 1
        return self.block

    def move(self, call_id: str, block: int) -> None:
        """Let a step stand in another block."""
        self._step(call_id, block=block)

    def in_block(self, block: int) -> tuple[Item, ...]:
        """The items of one block, in order."""
        return tuple(item for item in self.items if item.block == block)

    def ordered(self) -> list[Item]:
        """All items as they stand on the screen."""
        return sorted(self.items, key=lambda item: item.block)

    def feed(self, event: Event) -> None:
        """Take in what happened."""
        match event:
            case RunStarted():
                self.started = event
            case TurnStarted():
                self._turn_from = len(self.items)
            case TextAdded(text=text):
                self._say(text)
            case ThinkingAdded(text=text):
                self._think(text)
            case PartialDiscarded():
                del self.items[self._turn_from :]
            case RetryScheduled(wait=wait, error=error):
                self._remark(f"{error}. Asking again in {wait:.0f} s.")
                self._turn_from = len(self.items)
            case ReminderAdded(text=text):
                self._remark(text)
            case CompactionFinished(before=before, after=after, compaction=made) if made:
                self._remark(
                    f"Older turns were summarised: about {after:,} tokens instead of {before:,}. "
                    "The transcript stays whole."
                )
                self._turn_from = len(self.items)
            case SessionRotated():
                self._remark(
                    "The conversation had grown too long for the model. It goes on in a new "
                    "session, which begins with a summary."
                )
                self._turn_from = len(self.items)
            case MessageAdded(message=message):
                self._message(message)
            case ApprovalRequested(request=asked):
                self._step(asked.call.id, asked.call, status="asking", preview=asked.preview)
            case ApprovalResolved(request=asked, decision=decision, by=by, why=why):
                said = {
                    "once": "allowed once",
                    "session": "allowed for this session",
                    "tool": "always allowed here",
                    "path": "always allowed on this path",
                }
                words = f"{said.get(decision, 'denied')} by {by}" + (f": {why}" if why else "")
                # Where nobody can be asked, the reason says who was.
                words = f"denied: {why}" if by == "headless" else words
                status: Status = "denied" if decision == "denied" else "waiting"
                self._step(asked.call.id, asked.call, status=status, answered=words)
            case ToolStarted(call=call):
                self._step(call.id, call, status="running")
            case ToolProgressed(call_id=call_id, text=text):
                self._step(call_id, progress=text)
            case ToolFinished(call=call, result=result, ms=ms):
                self._step(call.id, call, status=_status(result), result=result, ms=ms)
            case RunFinished() | RunFailed():
                self._end(event)
            case _:
                pass

    def _say(self, text: str) -> None:
        last = self.items[-1] if len(self.items) > self._turn_from else None
        if isinstance(last, Words) and last.block == self.block:
            self.items[-1] = replace(last, text=last.text + text)
        else:
            self.items.append(Words(text=text, block=self.block))

    def _think(self, text: str) -> None:
        last = self.items[-1] if len(self.items) > self._turn_from else None
        if isinstance(last, Thought) and last.block == self.block:
            self.items[-1] = replace(last, text=last.text + text)
        else:
            self.items.append(Thought(text=text, block=self.block))

    def _remark(self, text: str) -> None:
        self.items.append(Remark(text=text, block=self.block))

    def _message(self, message: Message) -> None:
        self.messages.append(message)
        if message.role != "assistant":
            return
        del self.items[self._turn_from :]
        for part in message.parts:
            match part:
                case Text(text=text):
                    self.items.append(Words(text=text, block=self.block))
                case Thinking(text=text):
                    self.items.append(Thought(text=text, block=self.block))
                case ToolCall() as call:
                    self.items.append(Step(call=call, block=self.block))
                case _:
                    pass
        self._turn_from = len(self.items)

    def _step(self, call_id: str, call: ToolCall | None = None, **changes: object) -> None:
        for index in reversed(range(len(self.items))):
            item = self.items[index]
            if isinstance(item, Step) and item.call.id == call_id:
                self.items[index] = replace(item, **changes)  # type: ignore[arg-type]
                return
        if call is not None:
            self.items.append(replace(Step(call=call, block=self.block), **changes))  # type: ignore[arg-type]

    def _end(self, event: RunFinished | RunFailed) -> None:
        for index, item in enumerate(self.items):
            if isinstance(item, Step) and item.status in ("waiting", "asking", "running"):
                cut = interrupted(item.call)
                self.items[index] = replace(item, status="interrupted", result=cut)
        failed = event if isinstance(event, RunFailed) else None
        self.ending = Ending(
            kind=event.kind if isinstance(event, RunFailed) else event.stop,
            turns=event.turns,
            tools=event.tools,
            usage=event.usage,
            ms=event.ms,
            problem=failed.error if failed else "",
            hint=failed.hint if failed else "",
        )


def _status(result: ToolResult) -> Status:
    if result.error is None:
        return "done"
    if result.error in ("denied", "interrupted"):
        return result.error
    return "failed"
