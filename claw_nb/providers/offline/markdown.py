"""Answers in Markdown: cells, tables and fences that hold any text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [_row(columns), _row(["---"] * len(columns)), *(_row(row) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(cell(value) for value in cells)} |"


def cell(value: object) -> str:
    """One value in a table: on one line, with no bar that would end it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(cell(item) for item in value)
    text = " ".join(str(value).split()).replace("|", "\\|")
    return text if len(text) <= 80 else f"{text[:79]}…"


def code(name: object) -> str:
    """A name in code style, whatever it holds."""
    text = " ".join(str(name).split())
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def fence(text: str, language: str = "") -> str:
    """A fenced block; the fence is longer than any in the text."""
    mark = "```"
    while mark in text:
        mark += "`"
    return f"{mark}{language}\n{text.strip(chr(10))}\n{mark}"


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
