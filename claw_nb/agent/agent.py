"""An agent is frozen: a model, instructions, tools and limits; it holds no history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from claw_nb.agent.loop import Loop
from claw_nb.core.events import Event
from claw_nb.core.messages import Message
from claw_nb.core.protocols import Approve, Provider
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
    """Who answers. ``instructions`` is the system prompt."""

    name: str
    provider: Provider
    model: str
    instructions: str
    tools: tuple[Tool, ...] = ()
    limits: Limits = Limits()

    def run(
        self,
        history: Sequence[Message],
        prompt: Message,
        *,
        run_id: str,
        session_id: str,
        approve: Approve,
        grant: Sequence[str] = (),
        allowed: set[str] | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer ``prompt`` after ``history``; see ``claw_nb.core.events`` for the order.

        Tools named in ``grant`` run without being asked about; ``allowed`` collects those that
        the user allowed for the session, and lives as long as the caller keeps it. Cancelling the consuming task
        ends the run with valid history: open calls get an "interrupted" result, ``RunFailed``
        of kind ``cancelled`` is yielded, and then the cancellation goes on.
        """
        loop = Loop(
            agent=self,
            history=history,
            run_id=run_id,
            session_id=session_id,
            approve=approve,
            grant=frozenset(grant),
            allowed=allowed if allowed is not None else set(),
            sleep=sleep,
        )
        return loop.events(prompt)
