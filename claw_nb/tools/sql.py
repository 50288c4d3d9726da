"""Asking the agent's own log, and the user's data frames, in SQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from claw_nb.core.errors import ToolError
from claw_nb.core.tools import Tool, tool
from claw_nb.tools.failures import shortened, told_to_the_model

_MOST_ROWS = 1_000


def sql_tools(run: Callable[[str, int], Awaitable[str]]) -> tuple[Tool, ...]:
    """``sql`` over ``run(text, limit)``, which returns a table as text.

    ``run`` does so read-only without access to files or the network, and raises ClawError only.
    """

    @tool()
    async def sql(
        query: Annotated[str, "One SELECT statement in DuckDB's SQL."],
        limit: Annotated[int, "Rows at most, 1 to 1000."] = 50,
    ) -> str:
        """Query the log and the user's data frames with DuckDB SQL; reading only.

        Views: events, messages, tool_calls, llm_calls, sessions, tasks, task_runs, memories,
        usage, approvals. Data frames of the kernel are tables by their names. `DESCRIBE name`
        shows the columns.
        """
        if not query.strip():
            raise ToolError("there is no query", kind="validation")
        if not 1 <= limit <= _MOST_ROWS:
            raise ToolError(
                f"limit must be between 1 and {_MOST_ROWS}, not {limit}",
                kind="validation",
                hints=("Count or group in SQL instead of reading many rows.",),
            )
        with told_to_the_model():
            return shortened(await run(query, limit))

    return (sql,)
