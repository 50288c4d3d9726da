"""An agent is frozen: a model, instructions, tools and limits; it holds no history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from claw_nb.agent.budget import Budget
from claw_nb.agent.compaction import Window
from claw_nb.agent.loop import Loop
from claw_nb.agent.results import Keep
from claw_nb.core.events import Event
from claw_nb.core.messages import Compaction, Message
from claw_nb.core.protocols import Approve, Provider, StandingRules, ToolSpec
from claw_nb.core.tools import Tool


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Where a run stops by itself.

    ``max_turns`` counts model calls; a model call that fails for now is repeated up to
    ``max_retries`` times, waiting as long as the service asks but at most ``max_wait`` seconds.
    """

    max_turns: int = 40
    max_tokens: int = 16_000
    max_retries: int = 4
    max_wait: float = 60.0


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Who answers. ``instructions`` is the system prompt.

    A tool's result of more than ``result_limit`` characters is handed to ``keep_result``, and the
    model is shown its ends and the handle.
    """

    name: str
    provider: Provider
    model: str
    instructions: str
    tools: tuple[Tool, ...] = ()
    limits: Limits = Limits()
    window: Window = field(default_factory=Window)
    budget: Budget = field(default_factory=Budget)
    result_limit: int = 64_000
    keep_result: Keep | None = None

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them."""
        return tuple(
            ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)
            for tool in self.tools
        )

    def compact(
        self, history: Sequence[Message], *, compaction: Compaction | None = None
    ) -> AsyncGenerator[Event, None]:
        """Summarise all turns of a transcript but the last; no events when nothing is gained."""
        return Loop(agent=self, history=history, compaction=compaction).compacted("asked")

    def run(
        self,
        history: Sequence[Message],
        prompt: Message,
        *,
        run_id: str,
        session_id: str,
        compaction: Compaction | None = None,
        approve: Approve,
        grant: Sequence[str] = (),
        allowed: set[str] | None = None,
        rules: StandingRules | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer ``prompt`` after ``history``; see ``claw_nb.core.events`` for the order.

        ``history`` is the whole transcript; ``compaction`` is what stands for its beginning.

        Tools named in ``grant`` run without being asked about; ``allowed`` collects those that
        the user allowed for the session, and lives as long as the caller keeps it; ``rules`` are
        those that outlive it. Cancelling the consuming task ends the run with valid history: open calls get an "interrupted" result, ``RunFailed``
        of kind ``cancelled`` is yielded, and then the cancellation goes on.
        """
        loop = Loop(
            agent=self,
            history=history,
            compaction=compaction,
            run_id=run_id,
            session_id=session_id,
            approve=approve,
            grant=frozenset(grant),
            allowed=allowed if allowed is not None else set(),
            rules=rules,
            sleep=sleep,
        )
        return loop.events(prompt)
