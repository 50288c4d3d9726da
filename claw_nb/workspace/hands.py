"""The tools of an agent, wired to the parts of its workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from claw_nb.core.protocols import MemoryHit
from claw_nb.core.records import Task
from claw_nb.core.tables import markdown
from claw_nb.core.tools import Tool
from claw_nb.memory.files import MemoryFiles
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.exa import Exa
from claw_nb.tools.files import file_tools
from claw_nb.tools.memory import memory_tools
from claw_nb.tools.memory_files import memory_file_tools
from claw_nb.tools.python import python_tools
from claw_nb.tools.results import result_tools
from claw_nb.tools.schedule import schedule_tools
from claw_nb.tools.shell import shell_tools
from claw_nb.tools.skills import Skill, reading
from claw_nb.tools.sql import sql_tools
from claw_nb.tools.todo import todo_tools
from claw_nb.tools.todos import Todos
from claw_nb.tools.variables import variable_tools
from claw_nb.tools.web_search import web_search_tools
from claw_nb.vault import reveal
from claw_nb.workspace.secret_columns import asked_for, masked, without_secrets

if TYPE_CHECKING:
    from claw_nb.workspace.workspace import Workspace


def hands(
    work: Workspace, *, session_id: str | None, skills: Sequence[Skill] = ()
) -> tuple[Tool, ...]:
    """Everything that an agent can do in a workspace.

    Without a kernel there are no tools for variables and Python. What is remembered is told to
    come from the session. ``skills`` may be read wherever they are.
    """
    boundary = Boundary(work.root, forbidden=(work.home,))
    kernel = work.kernel
    live = (*variable_tools(kernel), *python_tools(kernel)) if kernel else ()
    read_file, *changing = file_tools(boundary)
    return (
        *live,
        reading(read_file, skills),
        *changing,
        *shell_tools(boundary),
        *web_search_tools(_exa(work)),
        *_sql(work),
        *_memory(work, session_id),
        *memory_file_tools(MemoryFiles(work.agent_root)),
        *todo_tools(Todos(work.agent_root / "todos")),
        *_schedule(work),
        *_results(work),
    )


def _results(work: Workspace) -> tuple[Tool, ...]:
    async def read(handle: str) -> str:
        return await asyncio.to_thread(work.store.read_result, handle)

    return result_tools(read, most=work.settings.result_limit // 2)


def _exa(work: Workspace) -> Exa:
    settings = work.settings

    def key() -> str | None:
        given = settings.exa_api_key
        if given:
            return reveal(given, home=work.home, env=work.env)
        return work.env.get("EXA_API_KEY") or None

    return Exa(key=key, api=settings.exa_url.rstrip("/"), mcp=settings.exa_mcp_url)


def _sql(work: Workspace) -> tuple[Tool, ...]:
    async def query(statement: str, limit: int) -> str:
        frames = asked_for(statement, work.frames())
        veiled = await asyncio.to_thread(without_secrets, frames)
        result = await work.store.query(statement, frames=veiled, trust="agent")
        table = markdown(result.columns, masked(result, frames, limit))
        return table if len(result) <= limit else f"{table}\n\n{limit} of {len(result)} rows."

    return sql_tools(query)


def _memory(work: Workspace, session_id: str | None) -> tuple[Tool, ...]:
    async def remember(text: str, category: str, tags: Sequence[str]) -> str:
        memory = await asyncio.to_thread(
            work.memories.add,
            text,
            category=category,
            tags=tuple(tags),
            source="agent",
            session_id=session_id,
        )
        return memory.id

    async def recall(query: str, limit: int) -> Sequence[MemoryHit]:
        return await asyncio.to_thread(work.memories.search, query, limit=limit)

    return memory_tools(remember, recall)


def _schedule(work: Workspace) -> tuple[Tool, ...]:
    async def add(
        *,
        name: str,
        notebook: str | None,
        prompt: str | None,
        cron: str | None,
        every: str | None,
        at: str | None,
        timezone: str | None,
    ) -> Task:
        return await asyncio.to_thread(
            work.tasks.add,
            name,
            notebook=work.root / notebook if notebook else None,
            prompt=prompt,
            cron=cron,
            every=every,
            at=at,
            timezone=timezone or work.settings.timezone,
            agent_id=work.settings.agent,
            folder=work.root,
        )

    async def list_() -> Sequence[Task]:
        rows, _total = await asyncio.to_thread(
            work.tasks.list, agent_id=work.settings.agent, limit=100
        )
        return rows

    return schedule_tools(add, list_)
