"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

JSON = "claw_nb.json"
"""The key in ``ctx.meta`` that tells the surface to show JSON."""

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """``--json``: the surface shows the output's JSON instead of a table."""

    def note(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
        ctx.meta[JSON] = value

    return click.option(
        "--json", is_flag=True, expose_value=False, callback=note, help="Show JSON."
    )(command)


def paging(command: F) -> F:
    """``--limit`` and ``--offset``."""
    limit = click.option(
        "--limit", "-n", type=click.IntRange(1, 10_000), default=20, show_default=True,
        help="Rows at most.",
    )  # fmt: skip
    offset = click.option("--offset", type=click.IntRange(0), default=0, help="Rows to pass over.")
    return limit(offset(command))
