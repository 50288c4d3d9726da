"""Tables and what commands give back, as HTML, Markdown and plain text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from claw_nb.commands.output import Listing, Note, Output, Record, as_json
from claw_nb.core.invisible import visible, visible_json
from claw_nb.notebook.inert import inert, inert_cell
from claw_nb.notebook.style import framed

Rows = Sequence[Sequence[Any]]
Bundle = dict[str, str]

WIDE = 200
"""Characters of one cell that are shown."""


def bundle(output: Output) -> Bundle:
    """The MIME bundle of a command's output."""
    match output:
        case Note(text=told):
            text = visible(told)
            return {
                "text/html": framed(f"<div>{escape(text)}</div>", label="Note"),
                "text/markdown": inert(text),
                "text/plain": text,
            }
        case Record(title=title, fields=values):
            rows = [(name, "" if value is None else value) for name, value in values.items()]
            return table(("", ""), rows, title=title)
        case Listing(rows=rows, empty=empty) if not rows:
            return bundle(Note(text=empty))
        case Listing(title=title, columns=columns, rows=rows):
            return table(columns, rows, title=title)


def json_bundle(output: Output) -> Bundle:
    """The same for ``--json``."""
    text = json.dumps(as_json(output), ensure_ascii=False, indent=2, default=str)
    return {"text/plain": visible_json(text)}


def table(columns: Sequence[str], rows: Rows, *, title: str = "", note: str = "") -> Bundle:
    """A table; ``note`` stands below it."""
    columns, title = [visible(name) for name in columns], visible(title)
    texts = [[cell(value) for value in row] for row in rows]
    return {
        "text/html": _html(columns, rows, texts, title=title, note=note),
        "text/markdown": _markdown(columns, texts, title=title, note=note),
        "text/plain": _plain(columns, texts, title=title, note=note),
    }


def cell(value: object) -> str:
    """A value in a table cell."""
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e15 else f"{value:g}"
    text = visible(str(value))
    return text if len(text) <= WIDE else text[: WIDE - 1] + "…"


def _html(
    columns: Sequence[str], rows: Rows, texts: Sequence[Sequence[str]], *, title: str, note: str
) -> str:
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    head = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    body = "".join(
        "<tr>" + "".join(_td(value, text) for value, text in zip(row, words, strict=True)) + "</tr>"
        for row, words in zip(rows, texts, strict=True)
    )
    below = f'<div class="claw-facts">{escape(note)}</div>' if note else ""
    inner = f'<table class="dataframe">{caption}{head}<tbody>{body}</tbody></table>{below}'
    return framed(
        f'<div class="tex2jax_ignore mathjax_ignore">{inner}</div>', label=escape(title or "Table")
    )


def _td(value: object, text: str) -> str:
    kind = ""
    if value is None:
        kind = ' class="claw-null"'
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        kind = ' class="claw-number"'
    return f"<td{kind}>{escape(text)}</td>"


def _markdown(
    columns: Sequence[str], texts: Sequence[Sequence[str]], *, title: str, note: str
) -> str:
    def row(cells: Sequence[str]) -> str:
        clean = (inert_cell(text).replace("|", "\\|").replace("\n", " ") for text in cells)
        return f"| {' | '.join(clean)} |"

    lines = [row(columns), row(["---"] * len(columns)), *(row(words) for words in texts)]
    parts = [
        f"**{inert_cell(title)}**" if title else "",
        "\n".join(lines),
        f"*{note}*" if note else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _plain(columns: Sequence[str], texts: Sequence[Sequence[str]], *, title: str, note: str) -> str:
    flat = [[text.replace("\n", " ") for text in words] for words in texts]
    grid = [list(columns), *flat] if any(columns) else flat
    widths = [max((len(row[i]) for row in grid), default=0) for i in range(len(columns))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in grid
    ]
    return "\n".join(line for line in (title, *lines, note) if line)
