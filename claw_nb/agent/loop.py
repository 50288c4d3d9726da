"""One run: ask the model, run its tools, ask again, until it is done or a limit is reached."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from claw_nb.agent import summary
from claw_nb.agent.approval import ask_nobody
from claw_nb.agent.batch import Batch
from claw_nb.agent.budget import OverBudget
from claw_nb.agent.compaction import overhead, tokens
from claw_nb.agent.context import Context
from claw_nb.agent.reminders import Reminders
from claw_nb.core.errors import ProviderError
from claw_nb.core.events import (
    CompactionReason,
    Event,
    MessageAdded,
    PartialDiscarded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    RunStarted,
    SubagentFinished,
    TextAdded,
    ThinkingAdded,
    TurnFinished,
    TurnStarted,
)
from claw_nb.core.messages import Compaction, Message, StopReason, Text, Usage, system
from claw_nb.core.protocols import (
    Approve,
    ModelRequest,
    Reply,
    StandingRules,
    TextPiece,
    ThinkingPiece,
    ToolSpec,
)

if TYPE_CHECKING:
    from claw_nb.agent.agent import Agent

#: Seconds before the first repetition; doubled each time, with up to a quarter of jitter.
FIRST_WAIT = 0.5

_Stop = Literal["end", "max_turns", "max_tokens", "refused"]
_STOPS: dict[StopReason, _Stop] = {"max_tokens": "max_tokens", "refused": "refused"}


@dataclass(kw_only=True)
class Loop:
    """The state of one run."""

    agent: Agent
    history: Sequence[Message]
    compaction: Compaction | None = None
    run_id: str = ""
    session_id: str = ""
    approve: Approve = ask_nobody
    grant: frozenset[str] = frozenset()
    allowed: set[str] = field(default_factory=set)
    rules: StandingRules | None = None
    sleep: Callable[[float], Awaitable[None]] | None = None
    turns: int = 0
    tools_run: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.perf_counter)
    _context: Context = field(init=False)
    _specs: tuple[ToolSpec, ...] = ()
    _cached: int = 0
    _batch: Batch | None = None
    _reply: Reply | None = None
    _partial: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._specs = self.agent.specs
        self._context = Context(
            window=self.agent.window,
            fixed=overhead(self.agent.instructions, self._specs),
            messages=list(self.history),
            compaction=self.compaction,
        )

    def compacted(self, reason: CompactionReason) -> AsyncGenerator[Event, None]:
        """Make room in the conversation."""
        return self._context.compacted(reason, summarise=self._summarise)

    async def events(self, prompt: Message) -> AsyncGenerator[Event, None]:
        """The run from its first event to its last."""
        yield RunStarted(
            run_id=self.run_id,
            session_id=self.session_id,
            agent=self.agent.name,
            provider=self.agent.provider.name,
            model=self.agent.model,
            prompt=prompt.text,
        )
        try:
            yield self._add(prompt)
            async with aclosing(self._turns()) as turns:
                async for event in turns:
                    yield event
        except asyncio.CancelledError:
            for event in self._unfinished():
                yield event
            yield self._failed("cancelled", "The run was stopped.", "Ask again to go on.")
            raise
        except ProviderError as error:
            yield self._failed(error.kind, error.message, error.hint)
        except OverBudget as error:
            yield self._failed("budget", error.message, error.hint)
        except Exception as error:  # noqa: BLE001 - a run always ends with its last event
            hint = "This is a fault in claw_nb; please report it."
            yield self._failed("internal", f"{type(error).__name__}: {error}", hint)

    async def _turns(self) -> AsyncGenerator[Event, None]:
        limits = self.agent.limits
        reminders = Reminders(max_turns=limits.max_turns)
        tools = {tool.name: tool for tool in self.agent.tools}
        while self.turns < limits.max_turns:
            self.turns += 1
            yield TurnStarted(turn=self.turns)
            async with aclosing(self._ask_model()) as events:
                async for event in events:
                    yield event
            reply = self._reply
            assert reply is not None
            if reply.message.parts:
                yield self._add(reply.message)
            calls = reply.message.tool_calls
            if not calls:
                if reply.stop == "paused":
                    continue
                yield self._finished(_STOPS.get(reply.stop, "end"))
                return
            self._batch = Batch(
                tools=tools,
                calls=calls,
                approve=self.approve,
                grant=self.grant,
                allowed=self.allowed,
                rules=self.rules,
                limit=self.agent.result_limit,
                keep=self.agent.keep_result,
            )
            async with aclosing(self._batch.events()) as events:
                async for event in events:
                    if isinstance(event, SubagentFinished):
                        self.usage += event.usage
                    yield event
            results = self._batch.ordered()
            self._batch = None
            self.tools_run += len(results)
            yield self._add(Message(role="tool", parts=results))
            for reminder in reminders.after(self.turns, calls, results):
                yield reminder
                yield self._add(system(reminder.text))
        yield self._finished("max_turns")

    async def _ask_model(self) -> AsyncGenerator[Event, None]:
        """One turn's model call, repeated while the provider fails for now."""
        limits = self.agent.limits
        attempt, forced = 0, False
        if self._context.is_full:
            async for event in self.compacted("threshold"):
                yield event
        while True:
            before = self._context.tokens
            self.agent.budget.check(run=self.usage, context=before, cached=self._cached)
            request = self._request()
            shown = False
            self._partial.clear()
            begun = time.perf_counter()
            try:
                async with aclosing(self.agent.provider.stream(request)) as pieces:
                    async for piece in pieces:
                        match piece:
                            case TextPiece(text=text):
                                shown = True
                                self._partial.append(text)
                                yield TextAdded(text=text)
                            case ThinkingPiece(text=text):
                                shown = True
                                yield ThinkingAdded(text=text)
                            case Reply() as reply:
                                took = (time.perf_counter() - begun) * 1000
                                yield self._answered(reply, took)
                                return
                raise ProviderError("the stream ended without an answer", kind="cut")
            except ProviderError as error:
                self._partial.clear()
                if shown:
                    yield PartialDiscarded(turn=self.turns)
                if error.kind == "overflow" and not forced:
                    forced = True
                    async for event in self.compacted("overflow"):
                        yield event
                    if self._context.tokens < before:
                        continue
                wait = _wait(error, attempt)
                if not error.transient or attempt >= limits.max_retries or wait > limits.max_wait:
                    raise
                attempt += 1
                yield RetryScheduled(
                    attempt=attempt, wait=wait, kind=error.kind, error=error.message
                )
            await (self.sleep or asyncio.sleep)(wait)

    def _answered(self, reply: Reply, took: float) -> TurnFinished:
        self._reply = reply
        self._partial.clear()
        usage = reply.usage
        self.usage += usage
        read = usage.input + usage.cache_read + usage.cache_write
        self._cached = read if usage.cache_read or usage.cache_write else 0
        context = self._context.counted(usage)
        return TurnFinished(turn=self.turns, stop=reply.stop, usage=usage, ms=took, context=context)

    async def _summarise(self, older: Sequence[Message], earlier: str) -> tuple[str, Usage] | None:
        """The older messages in the model's own words; None leaves it to the rules."""
        agent = self.agent
        asked = summary.request(older, earlier=earlier, model=agent.model, window=agent.window)
        try:
            agent.budget.check(run=self.usage, context=tokens(asked.messages[0]))
            reply = await summary.reply(agent.provider, asked)
        except (ProviderError, OverBudget):
            return None
        self.usage += reply.usage
        text = reply.message.text.strip()
        return (text, reply.usage) if text else None

    def _request(self) -> ModelRequest:
        agent = self.agent
        return ModelRequest(
            model=agent.model,
            system=agent.instructions,
            messages=self._context.sent(),
            tools=self._specs,
            max_tokens=agent.limits.max_tokens,
        )

    def _add(self, message: Message) -> MessageAdded:
        self._context.add(message)
        return MessageAdded(message=message)

    def _unfinished(self) -> list[Event]:
        """What a cancelled run leaves: the words shown so far, or its calls' results."""
        if self._partial:
            said = Text(text="".join(self._partial))
            self._partial.clear()
            return [self._add(Message(role="assistant", parts=(said,)))]
        if self._batch is None:
            return []
        batch, self._batch = self._batch, None
        results = batch.ordered()
        self.tools_run += len(results)
        return [*batch.left(), self._add(Message(role="tool", parts=results))]

    def _finished(self, stop: _Stop) -> RunFinished:
        return RunFinished(
            stop=stop,
            turns=self.turns,
            tools=self.tools_run,
            usage=self.usage,
            ms=self._took(),
        )

    def _failed(self, kind: str, error: str, hint: str) -> RunFailed:
        return RunFailed(
            kind=kind,
            error=error,
            hint=hint,
            turns=self.turns,
            tools=self.tools_run,
            usage=self.usage,
            ms=self._took(),
        )

    def _took(self) -> float:
        return (time.perf_counter() - self.started) * 1000


def _wait(error: ProviderError, attempt: int) -> float:
    """Seconds until the next try: what the service asked for, else exponential with jitter."""
    if error.retry_after is not None:
        return error.retry_after
    return FIRST_WAIT * 2.0**attempt * (1 + random.random() / 4)
