"""What happens during a run: one union, in started/finished pairs, in the order it happened.

A run begins with ``RunStarted`` and always ends with ``RunFinished`` or ``RunFailed``.
Every message that joins the transcript is announced by one ``MessageAdded``; a listener that
keeps those, in order, has the whole conversation. Deltas are for watching only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from claw_nb.core.messages import Message, StopReason, ToolCall, ToolResult, Usage

Decision = Literal["once", "session", "denied"]


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """An agent set to work. ``prompt`` is the user's text."""

    run_id: str
    session_id: str
    agent: str
    provider: str
    model: str
    prompt: str


@dataclass(frozen=True, kw_only=True)
class MessageAdded:
    """A message joined the transcript."""

    message: Message


@dataclass(frozen=True, kw_only=True)
class TurnStarted:
    """The model is asked for the ``turn``-th time in this run, from 1."""

    turn: int


@dataclass(frozen=True, kw_only=True)
class TextAdded:
    """Some more words of the answer."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ThinkingAdded:
    """Some more words of the summarised reasoning."""

    text: str


@dataclass(frozen=True, kw_only=True)
class PartialDiscarded:
    """The answer so far is void: the stream was cut or failed and the model is asked again."""

    turn: int


@dataclass(frozen=True, kw_only=True)
class RetryScheduled:
    """The provider failed for now; it is asked again after ``wait`` seconds."""

    attempt: int
    wait: float
    kind: str
    error: str


@dataclass(frozen=True, kw_only=True)
class TurnFinished:
    """The model has answered; ``ms`` counts its time in milliseconds, without retries' waits."""

    turn: int
    stop: StopReason
    usage: Usage
    ms: float


@dataclass(frozen=True, kw_only=True)
class ToolStarted:
    """A tool call was let through and begins."""

    call: ToolCall
    effect: str


@dataclass(frozen=True, kw_only=True)
class ToolFinished:
    """A tool call came to its end, well or not (``result.error``)."""

    call: ToolCall
    result: ToolResult
    ms: float


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest:
    """One exact call that waits for a yes or a no. ``digest`` binds the answer to it."""

    call: ToolCall
    effect: str
    reason: str
    digest: str
    preview: str = ""


@dataclass(frozen=True, kw_only=True)
class ApprovalRequested:
    """A person is asked."""

    request: ApprovalRequest


@dataclass(frozen=True, kw_only=True)
class ApprovalResolved:
    """The person, a rule or the clock has answered; ``why`` is a denial's reason."""

    request: ApprovalRequest
    decision: Decision
    by: str
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class ReminderAdded:
    """The host put a system message into the transcript."""

    reason: Literal["repeated_failure", "turns_low"]
    text: str


@dataclass(frozen=True, kw_only=True)
class RunFinished:
    """The agent is done. ``stop`` tells a full answer from one cut by a limit."""

    stop: Literal["end", "max_turns", "max_tokens", "refused"]
    turns: int
    tools: int
    usage: Usage
    ms: float


@dataclass(frozen=True, kw_only=True)
class RunFailed:
    """The run broke off. ``kind`` is a provider error's kind, ``cancelled`` or ``internal``."""

    kind: str
    error: str
    hint: str
    turns: int
    tools: int
    usage: Usage
    ms: float


Event = (
    RunStarted
    | MessageAdded
    | TurnStarted
    | TextAdded
    | ThinkingAdded
    | PartialDiscarded
    | RetryScheduled
    | TurnFinished
    | ToolStarted
    | ToolFinished
    | ApprovalRequested
    | ApprovalResolved
    | ReminderAdded
    | RunFinished
    | RunFailed
)
