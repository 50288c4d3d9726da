"""What a model is sent of a long conversation: pure functions over its messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from claw_nb.core.events import CompactionReason
from claw_nb.core.messages import (
    Compaction,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    user,
)
from claw_nb.core.protocols import ToolSpec

BYTES_PER_TOKEN = 4
"""Of UTF-8: near enough for English, code and CJK; a service's own count corrects it."""

IMAGE_TOKENS = 1_600
"""About what vendors count for a picture of usual size."""

_MESSAGE_TOKENS = 4

PREFACE = """\
[The beginning of this conversation was summarised by the host to save room. What follows is a \
record of it, not a request.]

"""


@dataclass(frozen=True, kw_only=True)
class Window:
    """How much a model can read, in tokens.

    A conversation is compacted when it leaves less than ``reserve`` free, and then about ``keep``
    tokens of its newest turns stay as they are. Small windows take a quarter for each instead.
    ``summary`` says who writes it: fixed rules, or the model itself.
    """

    size: int = 128_000
    reserve: int = 16_384
    keep: int = 20_000
    summary: Literal["rules", "model"] = "rules"

    @property
    def threshold(self) -> int:
        """Tokens above which a conversation is compacted."""
        return self.size - min(self.reserve, self.size // 4)

    @property
    def kept(self) -> int:
        """Tokens of the newest turns that stay."""
        return min(self.keep, self.size // 4)

    @property
    def summary_length(self) -> int:
        """Characters of a summary at most."""
        return min(4_000, self.size // 8) * BYTES_PER_TOKEN


def tokens_of(text: str) -> int:
    """How many tokens a text has, estimated."""
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def tokens(message: Message) -> int:
    """How many tokens a message has, estimated."""
    count = _MESSAGE_TOKENS
    for part in message.parts:
        match part:
            case Text(text=text) | Thinking(text=text):
                count += tokens_of(text)
            case Image():
                count += IMAGE_TOKENS
            case ToolCall(name=name, arguments=arguments):
                given = json.dumps(dict(arguments), ensure_ascii=False, default=str)
                count += tokens_of(name) + tokens_of(given)
            case ToolResult() as result:
                pictures = sum(isinstance(part, Image) for part in result.parts)
                count += tokens_of(result.text) + pictures * IMAGE_TOKENS
    return count


def overhead(instructions: str, tools: Sequence[ToolSpec]) -> int:
    """The tokens of what stands before every conversation, estimated."""
    told = [json.dumps(dict(tool.parameters), default=str) + tool.description for tool in tools]
    return tokens_of(instructions) + sum(map(tokens_of, told))


def view(messages: Sequence[Message], compaction: Compaction | None) -> tuple[Message, ...]:
    """What stands for the messages: the summary of the older turns, then the newer ones.

    Messages from before the compaction lose their raw blocks, which services bind to what stood
    before them.
    """
    if compaction is None:
        return tuple(messages)
    start = begin(messages, compaction)
    older = messages[start : max(start, compaction.at)]
    return (
        user(PREFACE + compaction.summary),
        *(unbound(message) for message in older),
        *messages[start + len(older) :],
    )


def begin(messages: Sequence[Message], compaction: Compaction) -> int:
    """Where the newer turns begin; never inside a turn, even if the transcript has lost lines."""
    start = min(compaction.covers, len(messages))
    while 0 < start < len(messages) and messages[start].role != "user":
        start -= 1
    return start


def unbound(message: Message) -> Message:
    """The message without its provider's raw blocks."""
    origin = message.origin
    if origin is None or not origin.raw:
        return message
    return replace(message, origin=replace(origin, raw=()))


def cut(messages: Sequence[Message], sizes: Sequence[int], *, after: int, keep: int) -> int | None:
    """The user's message before which to cut, so that at most ``keep`` tokens stay, if it can be.

    It lies beyond ``after`` (an earlier cut is never crossed), and the turn that is going on is
    never cut, however long it is. None when there is no such place.
    """
    starts = [at for at, message in enumerate(messages) if message.role == "user" and at > after]
    if not starts:
        return None
    left = sum(sizes[starts[0] :])
    for at, following in zip(starts, [*starts[1:], None], strict=True):
        if left <= keep or following is None:
            return at
        left -= sum(sizes[at:following])
    return None


def enough(reason: CompactionReason, *, before: int, after: int, window: Window) -> bool:
    """Whether a compaction was worth it: a smaller context, and one that helps its reason."""
    match reason:
        case "threshold":
            return after < before and after <= window.threshold
        case "overflow":
            # The estimate was wrong, or the window is smaller than thought: a clear step.
            return after <= before * 0.8
        case "asked":
            return after < before
