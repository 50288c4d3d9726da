"""Subagents: a task goes to a fresh agent with a session of its own, and its answer comes back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claw_nb.config import Settings
from claw_nb.core.clock import new_id
from claw_nb.core.errors import ToolError
from claw_nb.core.events import (
    ApprovalRequested,
    MessageAdded,
    RunFailed,
    RunFinished,
    SubagentFinished,
    SubagentStarted,
    ToolStarted,
)
from claw_nb.core.messages import user
from claw_nb.core.progress import Progress, progress
from claw_nb.core.protocols import Approve, StandingRules
from claw_nb.core.records import Session

if TYPE_CHECKING:
    from claw_nb.workspace.workspace import Workspace

SUBAGENT_TURNS = 12

GUARD = """\
# You are a subagent
Another agent gave you this one task and sees nothing but your final answer. You can't ask it or
the user anything. Do the task and no more, with as few calls as it takes; then answer with what was
asked for: findings with their places (paths, lines, numbers), or plainly why it could not be done."""


@dataclass(frozen=True, kw_only=True)
class Delegation:
    """What a subagent takes over from the run that starts it: rules and approvals, no history."""

    work: Workspace
    settings: Settings
    parent: Session
    approve: Approve
    grant: Sequence[str]
    allowed: set[str]
    rules: StandingRules | None
    task_id: str | None

    async def run(self, task: str) -> str:
        """The final answer of a fresh agent; ToolError says shortly why there is none."""
        store = self.work.store
        session = store.sessions.create(
            f"subagent:{self.parent.id}", self.settings.agent, title=task.splitlines()[0][:80]
        )
        run_id = new_id()
        agent = self.work.agent(self.settings, session_id=session.id)
        events = agent.run(
            (),
            user(task),
            run_id=run_id,
            session_id=session.id,
            approve=self.approve,
            grant=self.grant,
            allowed=self.allowed,
            rules=self.rules,
        )
        told = progress()
        told.tell(
            SubagentStarted(call_id=told.call_id, run_id=run_id, session_id=session.id, task=task)
        )
        kept = store.record(
            events,
            session=session,
            agent=agent.name,
            task_id=self.task_id,
            task_run=self.work.env.get("CLAW_RUN_ID"),
        )
        watched = self.work.watched(kept, inside=told.call_id)
        answer = ""
        ending: RunFinished | RunFailed | None = None
        async with aclosing(watched):
            async for event in watched:
                match event:
                    case MessageAdded(message=message) if message.role == "assistant":
                        answer = message.text
                    case ToolStarted(call=call):
                        told.say(f"{call.name} started")
                    case ApprovalRequested(request=request):
                        told.say(f"{request.call.name} waits for a yes")
                    case RunFinished() | RunFailed():
                        ending = event
                        told.tell(_finished(event, told, run_id=run_id, session_id=session.id))
        return _answer(answer, ending)


def _finished(
    event: RunFinished | RunFailed, told: Progress, *, run_id: str, session_id: str
) -> SubagentFinished:
    return SubagentFinished(
        call_id=told.call_id,
        run_id=run_id,
        session_id=session_id,
        stop=event.stop if isinstance(event, RunFinished) else event.kind,
        turns=event.turns,
        tools=event.tools,
        usage=event.usage,
        ms=event.ms,
    )


def _answer(answer: str, ending: RunFinished | RunFailed | None) -> str:
    hint = "Do it yourself in smaller steps, or give a smaller task."
    if isinstance(ending, RunFailed):
        raise ToolError(
            f"the subagent failed after {ending.turns} turns: {ending.error}", hints=(hint,)
        )
    if ending is None or ending.stop != "end":
        stop = ending.stop if ending else "nothing"
        so_far = f"; its last words were: {answer[:500]}" if answer.strip() else ""
        raise ToolError(f"the subagent was cut off by {stop}{so_far}", hints=(hint,))
    return answer.strip() or "(The subagent finished without an answer.)"
