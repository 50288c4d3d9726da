"""Outputs as text for a terminal, or as JSON."""

from __future__ import annotations

import json
import sys

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from claw_nb.commands import output as outputs
from claw_nb.commands.output import Listing, Note, Output, Record


def show(output: Output, *, as_json: bool) -> None:
    """Print an output; JSON goes to standard output alone."""
    if as_json:
        click.echo(json.dumps(outputs.as_json(output), ensure_ascii=False, indent=2, default=str))
        return
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    match output:
        case Note(text=text):
            console.print(Text(text))
        case Record(title=title, fields=values):
            console.print(Text(title, style="bold"))
            width = max((len(name) for name in values), default=0)
            for name, value in values.items():
                console.print(Text(f"  {name:<{width}}  {'' if value is None else value}"))
        case Listing(rows=rows, empty=empty) if not rows:
            console.print(Text(empty))
        case Listing(title=title, columns=columns, rows=rows):
            table = Table(title=title, title_justify="left", box=None, pad_edge=False)
            for column in columns:
                table.add_column(column, header_style="bold", overflow="fold")
            for row in rows:
                table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
            console.print(table)
