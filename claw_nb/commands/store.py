"""``claw store``: the files behind it all."""

from __future__ import annotations

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Note
from claw_nb.core.counted import counted


@click.group()
def store() -> None:
    """The data home: where it is, and making it compact."""


@store.command()
@json_option
@click.pass_context
def path(ctx: click.Context) -> Note:
    """Say where the data is."""
    data = workspace(ctx).store.data
    return Note(text=str(data), facts={"data": str(data)})


@store.command()
@json_option
@click.pass_context
def compact(ctx: click.Context) -> Note:
    """Move the log's recent rows into Parquet now, instead of within a minute."""
    done = workspace(ctx).store.compact(force=True)
    rows = 0 if done is None else done.sealed
    return Note(text=f"Moved {counted(rows, 'row')} into the lake.", facts={"rows": rows})
