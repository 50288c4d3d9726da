"""The conversation: messages made of parts, the same for every provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from claw_nb.core.errors import ToolErrorKind

Role = Literal["system", "user", "assistant", "tool"]
StopReason = Literal["end", "tool_use", "max_tokens", "refused", "paused"]


@dataclass(frozen=True, kw_only=True)
class Text:
    """Words."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Thinking:
    """The model's summarised reasoning."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Image:
    """A picture: ``data`` is base64 of the file's bytes."""

    data: str
    media_type: str = "image/png"


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """The model asks for a tool; ``arguments`` is the JSON object that it sent."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What a tool call came to; ``error`` is its kind when it failed."""

    call_id: str
    name: str
    parts: tuple[Text | Image, ...] = ()
    error: ToolErrorKind | Literal["denied", "interrupted"] | None = None

    @property
    def text(self) -> str:
        """The words of the result, without pictures."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


Part = Text | Thinking | Image | ToolCall | ToolResult


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Who wrote a message; ``raw`` blocks only fit a request to the same provider and model."""

    provider: str
    model: str
    raw: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Message:
    """One entry of the transcript."""

    role: Role
    parts: tuple[Part, ...]
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """The words said, without thinking, pictures and tools."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools asked for, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


def user(text: str, *images: Image) -> Message:
    """A user's message."""
    return Message(role="user", parts=(Text(text=text), *images))


def system(text: str) -> Message:
    """A message from the host, such as a reminder."""
    return Message(role="system", parts=(Text(text=text),))


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one or more model calls; ``cost`` in US dollars, None when no price is known."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        costs = [c for c in (self.cost, other.cost) if c is not None]
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            cost=sum(costs) if costs else None,
        )


@dataclass(frozen=True, kw_only=True)
class Compaction:
    """A summary that stands for the first ``covers`` messages of a transcript.

    ``at`` is how many messages the transcript had when it was made. The transcript itself stays
    whole; only what a model is sent is shorter.
    """

    covers: int
    at: int
    summary: str


def repair(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Give each tool call exactly one result right after it, so that any provider accepts it.

    A call without a result gets an "interrupted" one; a result without its call is dropped.
    Sound histories come back as they are.
    """
    fixed: list[Message] = []
    waiting: dict[str, ToolCall] = {}

    def close() -> None:
        if waiting:
            parts = tuple(interrupted(call) for call in waiting.values())
            fixed.append(Message(role="tool", parts=parts))
            waiting.clear()

    for message in messages:
        if message.role == "tool":
            kept = tuple(
                part
                for part in message.parts
                if isinstance(part, ToolResult) and waiting.pop(part.call_id, None) is not None
            )
            if not kept:
                continue
            rest = tuple(interrupted(call) for call in waiting.values())
            waiting.clear()
            whole = kept + rest
            fixed.append(message if whole == message.parts else Message(role="tool", parts=whole))
            continue
        close()
        fixed.append(message)
        waiting = {call.id: call for call in message.tool_calls}
    close()
    return tuple(fixed)


def interrupted(call: ToolCall) -> ToolResult:
    """The result of a call that never ended."""
    text = "The call was interrupted before it finished; its effect is unknown."
    return ToolResult(
        call_id=call.id, name=call.name, parts=(Text(text=text),), error="interrupted"
    )
