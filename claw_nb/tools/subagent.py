"""Handing a task to a fresh agent, which has nothing but the task and comes back with its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from claw_nb.core.errors import ToolError
from claw_nb.core.tools import Review, Tool, tool
from claw_nb.tools.failures import shortened, told_to_the_model

Delegate = Callable[[str], Awaitable[str]]
"""Let a fresh agent do a task and give its final answer; raises ClawError when it could not."""


def subagent_tools(delegate: Delegate) -> tuple[Tool, ...]:
    """``subagent`` over a function."""

    def allowed(_: Mapping[str, Any]) -> Review:
        reason = "It works under the same rules; what it does is asked about call by call."
        return Review(verdict="allow", reason=reason)

    @tool(effect="execute", sequential=True, review=allowed)
    async def subagent(
        task: Annotated[
            str, "The whole task: what to find or do, where, and what the answer must say."
        ],
    ) -> str:
        """Let a fresh agent do a task of many steps, and get only its final answer.

        Good for broad searches and inspections whose details you don't need. It knows nothing of
        this conversation, has your tools but this one, and few turns.
        """
        if not task.strip():
            raise ToolError("there is no task", kind="validation")
        with told_to_the_model():
            return shortened(await delegate(task.strip()))

    return (subagent,)
