"""`%claw help`: what can be written after `%claw`, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from claw_nb.commands import group
from claw_nb.notebook.question import OPTIONS, SQL_OPTIONS
from claw_nb.notebook.style import framed

WORDS: Mapping[str, str] = {
    "ask QUESTION": "ask the agent; in a cell, `%%claw ask` and the question below it",
    "new": "begin a new conversation with the next question",
    "sql QUERY": "look things up in the log and in your data frames; `%%claw sql` for more lines",
    "help": "this text",
}


def bundle() -> dict[str, str]:
    """The help as HTML, Markdown and plain text."""
    rows = [(f"%claw {word}", what) for word, what in WORDS.items()]
    rows += [
        (f"%claw {name}", command.get_short_help_str(limit=100))
        for name, command in sorted(group.commands.items())
        if name != "sql"
    ]
    parts = [
        ("What you can write", rows),
        ("Options of ask, before the question", _options(OPTIONS)),
        ("Options of sql, before the query", _options(SQL_OPTIONS)),
    ]
    return {
        "text/html": framed("".join(_section(*part) for part in parts), label="Help"),
        "text/markdown": "\n\n".join(_markdown(*part) for part in parts),
        "text/plain": "\n\n".join(_plain(*part) for part in parts),
    }


def _options(options: Mapping[str, tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"{name} {value}".strip(), what) for name, (value, what) in options.items()]


def _section(title: str, rows: list[tuple[str, str]]) -> str:
    lines = "".join(
        f'<tr><th scope="row"><code>{escape(what)}</code></th><td>{escape(does)}</td></tr>'
        for what, does in rows
    )
    return f"<table><caption>{title}</caption><tbody>{lines}</tbody></table>"


def _markdown(title: str, rows: list[tuple[str, str]]) -> str:
    return "\n".join([f"**{title}**", "", *(f"- `{what}`: {does}" for what, does in rows)])


def _plain(title: str, rows: list[tuple[str, str]]) -> str:
    width = max(len(what) for what, _ in rows)
    return "\n".join([title, *(f"  {what:<{width}}  {does}" for what, does in rows)])
