"""The agent of a workspace, put together of the settings, the tools and what it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claw_nb.agent import Agent, Limits
from claw_nb.agent.prompt import instructions
from claw_nb.config import Settings
from claw_nb.providers import catalog
from claw_nb.tools.subagent import Delegate, subagent_tools
from claw_nb.workspace.delegation import GUARD, SUBAGENT_TURNS
from claw_nb.workspace.limits import budget_of, result_limit, window_of

if TYPE_CHECKING:
    from claw_nb.workspace.workspace import Workspace


def agent_of(
    work: Workspace, settings: Settings, *, session_id: str | None, delegate: Delegate | None
) -> Agent:
    """The agent that answers in a session; without ``delegate`` it is a subagent itself."""
    model = catalog.model_for(settings.provider, settings.model)
    window = window_of(settings, model)
    tools, max_turns = work.tools(session_id=session_id), settings.max_turns
    sections = work.briefing(session_id).sections
    if delegate is not None:
        tools = (*tools, *subagent_tools(delegate))
    else:
        sections, max_turns = (*sections, GUARD), min(max_turns, SUBAGENT_TURNS)

    def keep(tool: str, text: str) -> str:
        return work.store.keep_result(session_id, tool, text, agent=settings.agent)

    return Agent(
        name=settings.agent,
        provider=work.provider(settings),
        model=model,
        window=window,
        budget=budget_of(work, settings, model, session_id=session_id),
        result_limit=result_limit(settings, window),
        keep_result=keep,
        instructions=instructions(
            tools=tools,
            root=work.root,
            in_notebook=work.kernel is not None,
            sections=sections,
        ),
        tools=tools,
        limits=Limits(
            max_turns=max_turns,
            max_tokens=settings.max_tokens,
            max_retries=settings.max_retries,
        ),
    )
