"""``claw usage``: the tokens and the money that models took."""

from __future__ import annotations

from typing import Any, get_args

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Listing
from claw_nb.core.messages import Usage
from claw_nb.providers.pricing import AS_OF
from claw_nb.store.spending import Grouping, Spent


@click.command()
@click.option("--by", type=click.Choice(get_args(Grouping)), default="day", show_default=True,
              help="What the sums are of.")  # fmt: skip
@click.option("--days", type=click.IntRange(1), help="Only the last so many days (UTC).")
@json_option
@click.pass_context
def usage(ctx: click.Context, by: Grouping, days: int | None) -> Listing:
    """Show what the models took, in tokens and in US dollars, and what is left of the budgets.

    Prices come from a table of list prices and from your own `[prices]` in config.toml. Answers
    that were played back cost nothing and are not counted.
    """
    work = workspace(ctx)
    spending = work.store.spending
    rows = spending.listing(by, days=days)
    return Listing(
        title=_title(by, spending.today(), work.settings),
        columns=(by, "calls", "tokens in", "cached", "tokens out", "cost"),
        rows=[
            (
                row.name[:13] if by == "session" else row.name,
                row.calls,
                f"{row.usage.input + row.usage.cache_write:,}",
                f"{row.usage.cache_read:,}",
                f"{row.usage.output:,}",
                _money(row),
            )
            for row in rows
        ],
        records=[_record(by, row) for row in rows],
        empty="No model was asked yet.",
    )


def _title(by: Grouping, today: Usage, settings: Any) -> str:
    parts = [f"Usage by {by}, prices of {AS_OF}"]
    if settings.prices:
        parts[0] += f" and {len(settings.prices)} of your own"
    if settings.day_cost:
        parts.append(f"today ${today.cost or 0:.2f} of ${settings.day_cost:.2f}")
    if settings.day_tokens:
        used = today.input + today.cache_read + today.cache_write + today.output
        parts.append(f"today {used:,} of {settings.day_tokens:,} tokens")
    return " · ".join(parts)


def _money(row: Spent) -> str:
    cost = row.usage.cost or 0.0
    if row.unpriced == row.calls:
        return "unknown"
    words = f"${cost:.4f}" if 0 < cost < 0.1 else f"${cost:.2f}"
    return f"{words} + {row.unpriced} unknown" if row.unpriced else words


def _record(by: Grouping, row: Spent) -> dict[str, Any]:
    usage = row.usage
    return {
        by: row.name,
        "calls": row.calls,
        "tokens_in": usage.input,
        "tokens_out": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "cost": usage.cost,
        "unpriced": row.unpriced,
    }
