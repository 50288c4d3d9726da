"""The saving stage: a stream of events becomes log rows, and is passed on unchanged."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from claw_nb.core.clock import Clock, NewId
from claw_nb.core.errors import StoreError
from claw_nb.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    CompactionFinished,
    CompactionStarted,
    Event,
    MessageAdded,
    ReminderAdded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    RunStarted,
    SessionRotated,
    SubagentFinished,
    SubagentStarted,
    TextAdded,
    ThinkingAdded,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from claw_nb.core.messages import Message, ToolResult, Usage
from claw_nb.core.records import LogRow, Session
from claw_nb.core.redact import redact, redact_json
from claw_nb.core.wire import to_json

FOR_WATCHING = (TextAdded, ThinkingAdded, ToolProgressed, TurnStarted)
"""Events that are not kept: what they say is whole in a later one."""


@dataclass(kw_only=True)
class Recording:
    """One run as it is written down."""

    session: Session
    agent: str
    task_id: str | None
    clock: Clock
    new_id: NewId
    task_run: str | None = None
    run_id: str | None = field(default=None, init=False)
    provider: str | None = field(default=None, init=False)
    model: str | None = field(default=None, init=False)
    _running: set[str] = field(default_factory=set, init=False)

    def row(self, event: Event) -> LogRow | None:
        """The log row of an event, free of secrets; None when it is for watching only."""
        if isinstance(event, FOR_WATCHING):
            return None
        if isinstance(event, RunStarted):
            self.run_id, self.provider, self.model = event.run_id, event.provider, event.model
        hot = self._hot(event)
        text = hot.pop("text", None)
        message = event.message if isinstance(event, MessageAdded) else None
        return LogRow(
            id=self.new_id(),
            ts=self.clock(),
            kind=kind_of(event),
            session_id=self.session.id,
            run_id=self.run_id,
            task_id=self.task_id,
            agent=self.agent,
            text=None if text is None else redact(text),
            data=redact_json(hot.pop("data", None) or to_json(message or event)),
            **hot,
        )

    def can_wait(self, event: Event) -> bool:
        """Whether the next event follows at once, so that both may be saved together.

        After the model's answer comes its message, then the first of its calls, which waits until
        that was heard; and after the last tool that was running the message with the results.
        """
        match event:
            case ToolStarted(call=call):
                self._running.add(call.id)
            case ToolFinished(call=call):
                self._running.discard(call.id)
                return not self._running
            case MessageAdded(message=message):
                return bool(message.tool_calls)
        return isinstance(event, TurnFinished)

    def _hot(self, event: Event) -> dict[str, Any]:
        """The event's columns: what is asked for often stands in one of its own."""
        match event:
            case RunStarted():
                return {"text": event.prompt, "name": event.provider, "model": event.model}
            case MessageAdded(message=message):
                origin = message.origin
                return {
                    "role": message.role,
                    "text": _words(message),
                    "model": origin.model if origin else None,
                }
            case TurnFinished(usage=usage):
                return self._end(event) | {
                    "status": event.stop,
                    "data": {"turn": event.turn, "context": event.context} | self._cached(usage),
                }
            case CompactionStarted():
                return {"status": event.reason}
            case CompactionFinished(compaction=made):
                covered = {"covers": made.covers, "at": made.at} if made else {}
                return self._spent(event.usage) | {
                    "status": "ok" if made else "none",
                    "text": made.summary if made else None,
                    "data": {
                        "reason": event.reason,
                        "before": event.before,
                        "after": event.after,
                        "by": event.by,
                    }
                    | covered
                    | self._cached(event.usage),
                }
            case SessionRotated():
                return {"status": "ok"}
            case ToolStarted(call=call):
                return {"name": call.name}
            case ToolFinished(call=call, result=result):
                return {
                    "name": call.name,
                    "status": result.error or "ok",
                    "ms": event.ms,
                    "text": result.text,
                    # The result is in the transcript; here it is only to be read.
                    "data": {"call_id": call.id, "arguments": dict(call.arguments)},
                }
            case ApprovalRequested(request=request):
                return {"name": request.call.name, "text": request.reason}
            case ApprovalResolved(request=request):
                return {
                    "name": request.call.name,
                    "status": event.decision,
                    "text": event.why or None,
                }
            case ReminderAdded():
                return {"status": event.reason, "text": event.text}
            case SubagentStarted(task=task):
                return {"name": "subagent", "text": task}
            case SubagentFinished(usage=usage):
                return {
                    "name": "subagent",
                    "status": event.stop,
                    "ms": event.ms,
                    "tokens_in": usage.input,
                    "tokens_out": usage.output,
                    "cost": usage.cost,
                }
            case RetryScheduled():
                return {"status": event.kind, "text": event.error, "model": self.model}
            case RunFinished():
                return self._end(event) | {"status": event.stop}
            case RunFailed():
                return self._end(event) | {"status": event.kind, "text": event.error}
            case _:
                return {}

    def _end(self, event: TurnFinished | RunFinished | RunFailed) -> dict[str, Any]:
        return self._spent(event.usage) | {"ms": event.ms}

    def _spent(self, usage: Usage) -> dict[str, Any]:
        return {
            "name": self.provider,
            "model": self.model,
            "tokens_in": usage.input,
            "tokens_out": usage.output,
            "cost": usage.cost,
        }

    def _cached(self, usage: Usage) -> dict[str, Any]:
        """What of the usage has no column, and the run of a task that it belongs to."""
        cached = {"cache_read": usage.cache_read, "cache_write": usage.cache_write}
        return cached | ({"task_run": self.task_run} if self.task_run else {})


@lru_cache
def _kind(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", ".", name).lower()


def kind_of(event: Event) -> str:
    """``RunStarted`` is ``run.started``."""
    return _kind(type(event).__name__)


def _words(message: Message) -> str:
    results = [part.text for part in message.parts if isinstance(part, ToolResult)]
    return "\n".join(part for part in (message.text, *results) if part)


_LEFT = RunFailed(
    kind="cancelled", error="Nobody waited for the end.", hint="Ask again to go on.",
    turns=0, tools=0, usage=Usage(), ms=0.0,
)  # fmt: skip


async def record(
    events: AsyncIterator[Event],
    recording: Recording,
    *,
    save: Callable[[Session, Sequence[LogRow]], None],
    succeed: Callable[[Session, str], Session],
) -> AsyncGenerator[Event, None]:
    """Save each event that matters before anybody sees it, and pass every one on.

    One that the next follows at once is saved together with that. ``succeed`` makes the session in
    which a conversation goes on. A run whose reader leaves early ends in the log all the same.
    """
    waiting: list[LogRow] = []
    going = False
    try:
        async for event in events:
            row = recording.row(event)
            if row is not None:
                waiting.append(row)
            can_wait = recording.can_wait(event)
            if waiting and not can_wait:
                save(recording.session, waiting)
                waiting = []
            if isinstance(event, SessionRotated):
                recording.session = succeed(recording.session, event.session_id)
            going = not isinstance(event, RunFinished | RunFailed)
            yield event
    finally:
        if waiting:
            save(recording.session, waiting)
        # Closing this stage closes the one before it, at once and not when memory is freed.
        if isinstance(events, AsyncGenerator):
            await events.aclose()
        if going and (last := recording.row(_LEFT)):
            with suppress(StoreError):  # what ended it may be this very disk
                save(recording.session, [last])
