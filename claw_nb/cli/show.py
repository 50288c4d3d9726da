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
from claw_nb.core.invisible import visible, visible_json

_NO_LIMIT = 100_000
"""Columns of where there is no screen."""


def _text(text: str, *, style: str = "") -> Text:
    """Text that a terminal shows and does not obey."""
    return Text(visible(text), style=style)


def show(output: Output, *, as_json: bool) -> None:
    """Print an output; JSON goes to standard output alone."""
    if as_json:
        text = json.dumps(outputs.as_json(output), ensure_ascii=False, indent=2, default=str)
        click.echo(visible_json(text))
        return
    # Whoever reads a pipe wants whole lines: only a terminal has a width.
    width = None if sys.stdout.isatty() else _NO_LIMIT
    console = Console(highlight=False, width=width)
    match output:
        case Note(text=text):
            console.print(_text(text))
        case Record(title=title, fields=values):
            console.print(_text(title, style="bold"))
            width = max((len(name) for name in values), default=0)
            for name, value in values.items():
                console.print(_text(f"  {name:<{width}}  {'' if value is None else value}"))
        case Listing(rows=rows, empty=empty) if not rows:
            console.print(_text(empty))
        case Listing(title=title, columns=columns, rows=rows):
            # A table's own title is folded to the width of its columns.
            console.print(_text(title, style="italic"))
            table = Table(box=None, pad_edge=False)
            for column in columns:
                table.add_column(_text(column), header_style="bold", overflow="fold")
            for row in rows:
                table.add_row(*(_text("" if cell is None else str(cell)) for cell in row))
            console.print(table)
