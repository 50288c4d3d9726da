"""Recipes that tell what was done, from the agent's own log in SQL."""

from __future__ import annotations

import re

from claw_nb.core.messages import ToolResult
from claw_nb.providers.offline.recipe import Asked, Call, Recipe, Step, call, trouble

_LAST = (
    "WITH last AS (SELECT run_id, ts FROM events WHERE kind IN ('run.finished', 'run.failed') "
    "AND run_id IS NOT NULL ORDER BY seq DESC LIMIT 1) "
)
_HEAD = _LAST + (
    "SELECT strftime(last.ts, '%Y-%m-%d %H:%M') AS \"ended (UTC)\", "
    "(SELECT text FROM messages m WHERE m.run_id = last.run_id AND role = 'user' "
    "ORDER BY seq LIMIT 1) AS asked, "
    "(SELECT count(*) FROM llm_calls c WHERE c.run_id = last.run_id) AS turns, "
    "(SELECT count(*) FROM tool_calls t WHERE t.run_id = last.run_id) AS tools, "
    "(SELECT round(sum(cost), 4) FROM llm_calls c WHERE c.run_id = last.run_id) AS dollars "
    "FROM last"
)
_TOOLS = _LAST + (
    "SELECT tool, status, round(ms) AS ms, left(arguments::VARCHAR, 80) AS arguments "
    "FROM tool_calls JOIN last USING (run_id) ORDER BY seq"
)
_TASK = (
    "SELECT task, status, strftime(started, '%Y-%m-%d %H:%M') AS \"started (UTC)\", "
    "round(seconds, 1) AS seconds, coalesce(error, result) AS outcome, notebook, report "
    "FROM task_runs WHERE started IS NOT NULL ORDER BY started DESC LIMIT 1"
)


def last_run(match: re.Match[str], asked: Asked) -> Recipe:
    """The last finished run: what was asked, which tools ran, what it cost."""
    if re.search(r"\btask|\bscheduled", match[0], re.I):
        return _last_task()
    return _last_run()


def _last_run() -> Recipe:
    calls = tuple(Call(tool="sql", arguments={"query": query}) for query in (_HEAD, _TOOLS))
    head, tools = yield Step(calls=calls)
    if head.error or tools.error:
        return trouble(head) or trouble(tools)
    if not _has_rows(head):
        return "No run has finished here yet."
    did = f"Its tool calls:\n\n{tools.text}" if _has_rows(tools) else "It called no tools."
    return f"The last finished run:\n\n{head.text}\n\n{did}"


def _last_task() -> Recipe:
    result = yield from call("sql", query=_TASK)
    if result.error:
        return trouble(result)
    if not _has_rows(result):
        return "No scheduled task has run yet."
    return f"The last run of a task:\n\n{result.text}"


def _has_rows(result: ToolResult) -> bool:
    """Whether a Markdown table has a row under its head."""
    lines = [line for line in result.text.splitlines() if line.lstrip().startswith("|")]
    return len(lines) > 2
