"""What the parts promise each other: providers, approval, kernels."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from claw_nb.core.events import ApprovalRequest, Decision
from claw_nb.core.messages import Image, Message, StopReason, Usage

# -- providers ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One question to a model. ``messages`` is repaired and holds no system prompt."""

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 16_000
    effort: Literal["low", "medium", "high"] | None = None


@dataclass(frozen=True, kw_only=True)
class TextPiece:
    """Some more words."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ThinkingPiece:
    """Some more summarised reasoning."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The whole answer; always the last event of a stream that did not fail."""

    message: Message
    stop: StopReason
    usage: Usage = field(default_factory=Usage)


ModelEvent = TextPiece | ThinkingPiece | Reply


class Provider(Protocol):
    """One wire protocol.

    ``stream`` yields pieces as they come and ends with exactly one Reply whose message has
    role ``assistant`` and an origin. It raises ProviderError only, retries nothing, and closes
    its connection at once when the consuming task is cancelled. Raw blocks of another
    (provider, model) are dropped. An empty answer is a Reply without parts. Clients are made
    inside the call: they belong to one event loop.
    """

    @property
    def name(self) -> str:
        """The name users configure, such as ``anthropic``."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model."""
        ...


# -- approval ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A person's or a rule's answer to an approval request."""

    decision: Decision
    by: str
    why: str = ""


Approve = Callable[[ApprovalRequest], Awaitable[Answer]]
"""Ask whoever may say yes. Must answer; a time limit inside answers ``denied``."""


class StandingRules(Protocol):
    """The approvals that hold beyond one call. Risky calls are never shown to them."""

    def covering(self, request: ApprovalRequest) -> tuple[Decision, str] | None:
        """The reach of the rule that lets the call run unasked, and its words; None asks."""
        ...

    def keep(self, request: ApprovalRequest, answer: Answer) -> None:
        """Remember an answer that was given for a session, a tool or a path."""
        ...


# -- the kernel --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Execution:
    """What running code in a kernel gave. Text is plain (no ANSI); ``error`` is a traceback."""

    text: str = ""
    images: tuple[Image, ...] = ()
    error: str | None = None


@runtime_checkable
class Kernel(Protocol):
    """The user's live namespace, seen from the agent's tools. Everything runs on the main thread."""

    @property
    def namespace(self) -> Mapping[str, Any]:
        """The user's variables by name, without IPython's own (``In``, ``_1``, ``exit`` ...)."""
        ...

    async def execute(self, code: str, *, timeout: float | None = None) -> Execution:
        """Run code as a cell would, show its output to the user and return it."""
        ...


# -- searching what is remembered --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MemoryHit:
    """A remembered text with its source and why it was found (``why``: signal to share)."""

    id: str
    text: str
    score: float
    weak: bool
    category: str
    tags: tuple[str, ...]
    source: str
    session_id: str | None
    created: str
    why: Mapping[str, float]


Remember = Callable[[str, str, Sequence[str]], Awaitable[str]]
"""``remember(text, category, tags)`` keeps a text and returns its id."""

Recall = Callable[[str, int], Awaitable[Sequence[MemoryHit]]]
"""``recall(query, limit)`` finds what fits, best first."""
