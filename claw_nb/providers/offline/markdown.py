"""Answers in Markdown: cells, tables and fences that hold any text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from claw_nb.core.tables import markdown


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table with short cells."""
    return markdown([cell(name) for name in columns], [[cell(v) for v in row] for row in rows])


def cell(value: object) -> str:
    """One value on one line, shortened; a list without repetitions; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.10g}"
    if isinstance(value, list | tuple):
        return ", ".join(dict.fromkeys(cell(item) for item in value))
    text = " ".join(str(value).split())
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
