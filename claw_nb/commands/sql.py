"""``claw sql``: everything that was done and kept, in DuckDB SQL."""

from __future__ import annotations

import asyncio

import click

from claw_nb.commands.context import place
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Listing
from claw_nb.core.counted import counted


@click.command()
@click.argument("query")
@click.option("--limit", "-n", type=click.IntRange(1), default=100, show_default=True,
              help="Rows shown at most; --json shows them all.")  # fmt: skip
@json_option
@click.pass_context
def sql(ctx: click.Context, query: str, limit: int) -> Listing:
    """Run a DuckDB SQL QUERY over the log and all that is kept.

    The views are events, messages, tool_calls, llm_calls, sessions, tasks, task_runs, memories,
    usage and approvals; `DESCRIBE events` shows a view's columns. In a notebook the data frames
    are tables by their names.
    """
    found = place(ctx)
    result = asyncio.run(found.workspace.store.query(query, frames=found.frames()))
    rows = result.rows()
    shown = counted(len(rows), "row") if len(rows) <= limit else f"{limit} of {len(rows)} rows"
    return Listing(
        title=shown,
        columns=result.columns,
        rows=rows[:limit],
        records=[dict(zip(result.columns, row, strict=True)) for row in rows],
        empty="No rows.",
    )
