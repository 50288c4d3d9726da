"""One run's conversation as the model is sent it: measured, repaired, and compacted when it fills up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from claw_nb.agent import compaction as rules
from claw_nb.agent import summary as words
from claw_nb.agent.compaction import Window
from claw_nb.core.clock import NewId, new_id
from claw_nb.core.events import (
    CompactionFinished,
    CompactionReason,
    CompactionStarted,
    Event,
    MessageAdded,
    SessionRotated,
)
from claw_nb.core.messages import Compaction, Message, Usage, repair, user

Summarise = Callable[[Sequence[Message], str], Awaitable[tuple[str, Usage] | None]]
"""Let a model say older messages and the summary before them in few words; None when it can't."""

_LEAST = 400
"""Characters that a summary may have, however short what it stands for is."""

_AGAIN = 1.1
"""A compaction that came to nothing is tried again when the context has grown by this factor."""

ROTATED = """\
[This session goes on from an earlier one that had grown too long for the model. What follows is \
the host's record of it, not a request. Finish what the user asked last; look again at anything \
whose details you need.]

"""


@dataclass(kw_only=True)
class Context:
    """The transcript, and what of it is sent.

    ``fixed`` are the tokens of the instructions and tools. Sizes are estimates, corrected by what
    the service counts.
    """

    window: Window
    fixed: int = 0
    messages: list[Message] = field(default_factory=list)
    compaction: Compaction | None = None
    new_id: NewId = new_id
    _sizes: list[int] = field(default_factory=list)
    _sent: list[Message] = field(default_factory=list)
    _taken: int = 0
    _estimate: int = 0
    _ratio: float = 1.0
    _gave_up_at: float = 0.0

    def __post_init__(self) -> None:
        self._sizes = [rules.tokens(message) for message in self.messages]
        self._restart()

    @property
    def tokens(self) -> int:
        """How long the next request is."""
        return int(self._estimate * self._ratio)

    @property
    def is_full(self) -> bool:
        """Whether it is time to compact."""
        return self.tokens > max(self.window.threshold, self._gave_up_at)

    def add(self, message: Message) -> None:
        """A message joins the transcript."""
        size = rules.tokens(message)
        self.messages.append(message)
        self._sizes.append(size)
        self._estimate += size

    def sent(self) -> tuple[Message, ...]:
        """The messages of the next request: compacted, and every tool call with its result."""
        # What was repaired once is sound, so only what came since is looked at.
        self._sent += repair(self.messages[self._taken :])
        self._taken = len(self.messages)
        return tuple(self._sent)

    def counted(self, usage: Usage) -> int:
        """Learn from the service how many tokens the request and its answer really had."""
        read = usage.input + usage.cache_read + usage.cache_write
        if read and self._estimate:
            self._ratio = min(4.0, max(0.25, read / self._estimate))
        return read + usage.output if read else self.tokens

    async def compacted(
        self, reason: CompactionReason, *, summarise: Summarise | None = None
    ) -> AsyncGenerator[Event, None]:
        """Make room: summarise the older turns, and when that doesn't help begin a new session."""
        before = self.tokens
        old, sizes = self.compaction, self._estimate
        at = self._place(reason)
        if at is None and reason == "asked":
            return
        yield CompactionStarted(reason=reason, before=before)
        usage, by_model = Usage(), False
        if at is not None:
            text, usage, by_model = await self._said(at, summarise)
            self.compaction = Compaction(covers=at, at=len(self.messages), summary=text)
            self._restart()
        done = rules.enough(reason, before=before, after=self.tokens, window=self.window)
        if at is not None and not done:
            self.compaction, self._estimate = old, sizes
            self._restart()
        yield CompactionFinished(
            reason=reason,
            before=before,
            after=self.tokens,
            compaction=self.compaction if done else None,
            by="model" if by_model else "rules",
            usage=usage,
        )
        if not done and reason != "asked":
            for event in self._rotated(reason, before):
                yield event

    def _place(self, reason: CompactionReason) -> int | None:
        after = self.compaction.covers if self.compaction else 0
        total = sum(self._sizes[after:])
        keep = {
            "threshold": int(self.window.kept / self._ratio),
            "overflow": min(int(self.window.kept / self._ratio), total // 3),
            "asked": 0,
        }[reason]
        return rules.cut(self.messages, self._sizes, after=after, keep=keep)

    async def _said(self, at: int, summarise: Summarise | None) -> tuple[str, Usage, bool]:
        """The summary of what comes before a place, and who wrote it."""
        old = self.compaction
        earlier = old.summary if old else ""
        older = self.messages[rules.begin(self.messages, old) if old else 0 : at]
        if self.window.summary == "model" and summarise is not None:
            given = await summarise(older, earlier)
            if given is not None:
                text = words.clipped(given[0], self.window.summary_length, lines="kept")
                return text, given[1], True
        text = words.summary(older, earlier=earlier, limit=self._length(older, earlier))
        return text, Usage(), False

    def _length(self, older: Sequence[Message], earlier: str) -> int:
        """Characters of a summary: about a quarter of what it stands for, or there is no gain."""
        material = sum(map(rules.tokens, older)) + rules.tokens_of(earlier)
        return min(self.window.summary_length, max(_LEAST, material))

    def _rotated(self, reason: CompactionReason, before: int) -> list[Event]:
        """A new session with a record of this one and the last question, if that is shorter."""
        start = max((at for at, m in enumerate(self.messages) if m.role == "user"), default=0)
        if not self.messages:
            return []
        asked = self.messages[start]
        old = self.compaction
        older = self.messages[rules.begin(self.messages, old) if old else 0 :]
        earlier = old.summary if old else ""
        text = words.summary(older, earlier=earlier, limit=self._length(older, earlier))
        fresh = [user(ROTATED + text), asked]
        after = int((self.fixed + sum(map(rules.tokens, fresh))) * self._ratio)
        if not rules.enough(reason, before=before, after=after, window=self.window):
            self._gave_up_at = before * _AGAIN
            return []
        self.messages, self._sizes = list(fresh), [rules.tokens(m) for m in fresh]
        self.compaction = None
        self._restart()
        return [
            SessionRotated(session_id=self.new_id(), before=before, after=after),
            *(MessageAdded(message=message) for message in fresh),
        ]

    def _restart(self) -> None:
        """Begin the next request anew, and measure it."""
        shown = rules.view(self.messages, self.compaction)
        self._sent = list(repair(shown))
        self._taken = len(self.messages)
        self._estimate = self.fixed + sum(
            self._sizes if self.compaction is None else map(rules.tokens, shown)
        )
