"""A line after `%claw ask`: options first, then the words as they were typed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from claw_nb.core.errors import InvalidInput

OPTIONS: Mapping[str, tuple[str, str]] = {
    "--new": ("", "begin a new conversation"),
    "--session": ("ID", "go on in this conversation"),
    "--model": ("NAME", "ask this model"),
    "--provider": ("NAME", "ask this provider: anthropic, openai, offline …"),
    "--allow": ("TOOL", "let this tool run unasked; may be given again"),
    "--record": ("", "record the model's answers, to be played back without a model"),
    "--debug": ("", "show the traceback of an error"),
}
SQL_OPTIONS: Mapping[str, tuple[str, str]] = {
    "--limit": ("ROWS", "show at most so many rows (20)"),
    "--chart": ("KIND", "draw it: line, bar or scatter; chosen by the columns when left out"),
    "--debug": ("", "show the traceback of an error"),
}
CHARTS = ("line", "bar", "scatter")
Chart = Literal["auto", "line", "bar", "scatter"]

_STATEMENTS = frozenset(
    {
        "attach", "call", "copy", "create", "delete", "desc", "describe", "drop", "explain",
        "export", "from", "import", "insert", "install", "load", "pivot", "pragma", "select",
        "set", "show", "summarize", "table", "unpivot", "update", "use", "values", "with",
    }
)  # fmt: skip
"""With which SQL begins, so that it is no kind of chart."""

_WORD = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|(\S+))")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to ask and how."""

    prompt: str
    new: bool = False
    session: str | None = None
    model: str | None = None
    provider: str | None = None
    allow: tuple[str, ...] = ()
    record: bool = False
    debug: bool = False


@dataclass(frozen=True, kw_only=True)
class Query:
    """What to look up and how to show it."""

    sql: str
    limit: int = 20
    chart: Chart | None = None
    debug: bool = False


def question(line: str, cell: str | None = None) -> Question:
    """The question of a line, or of a cell below a line of options."""
    found, rest = _options(line, OPTIONS)
    prompt = "\n".join(part for part in (rest, (cell or "").strip()) if part)
    if not prompt:
        raise InvalidInput(
            "there is no question.", hint="Write it after `%claw ask`, or below `%%claw ask`."
        )
    return Question(
        prompt=prompt,
        new="--new" in found,
        session=_last(found, "--session"),
        model=_last(found, "--model"),
        provider=_last(found, "--provider"),
        allow=tuple(found.get("--allow", ())),
        record="--record" in found,
        debug="--debug" in found,
    )


def query(line: str, cell: str | None = None, *, limit: int = 20) -> Query:
    """The SQL of a line, or of a cell below a line of options; ``limit`` holds if none is given."""
    found, rest = _options(line, SQL_OPTIONS)
    sql = "\n".join(part for part in (rest, (cell or "").strip()) if part)
    if not sql:
        hint = "For instance: `%claw sql select kind, count(*) from events group by all`."
        raise InvalidInput("there is no SQL.", hint=hint)
    rows = _last(found, "--limit") or str(limit)
    if not rows.isdecimal() or int(rows) < 1:
        raise InvalidInput(f"--limit takes a number of rows, not {rows!r}.")
    kinds: dict[str, Chart] = {"line": "line", "bar": "bar", "scatter": "scatter", "": "auto"}
    kind = _last(found, "--chart")
    if kind is not None and kind not in kinds:
        raise _no_chart(kind)
    chart = None if kind is None else kinds[kind]
    return Query(sql=sql, limit=int(rows), chart=chart, debug="--debug" in found)


def _options(line: str, known: Mapping[str, tuple[str, str]]) -> tuple[dict[str, list[str]], str]:
    """The options at the start of a line, and the rest of it untouched."""
    found: dict[str, list[str]] = {}
    rest = line.strip()
    while rest.startswith("--"):
        head = rest.split(maxsplit=1)
        name, equals, value = head[0].partition("=")
        rest = head[1] if len(head) > 1 else ""
        if name == "--":
            break
        if name not in known:
            near = get_close_matches(name, known, n=1)
            guess = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
            raise InvalidInput(f"there is no option {name}.", hint=guess)
        if known[name][0] and not equals:
            value, rest = _value(name, rest)
        found.setdefault(name, []).append(value)
    return found, rest.strip()


def _value(name: str, rest: str) -> tuple[str, str]:
    match = _WORD.match(rest)
    value = next((group for group in match.groups() if group is not None), "") if match else ""
    if name == "--chart" and value not in CHARTS:
        if re.fullmatch(r"[A-Za-z]+", value) and value.lower() not in _STATEMENTS:
            raise _no_chart(value)
        return "", rest
    if match is None or value.startswith("--"):
        raise InvalidInput(f"{name} needs a value.", hint=f"Write {name} and then the value.")
    return value, rest[match.end() :].lstrip()


def _no_chart(kind: str) -> InvalidInput:
    return InvalidInput(
        f"--chart draws {', '.join(CHARTS[:-1])} or {CHARTS[-1]}, not {kind!r}.",
        hint="Leave the kind out, and the columns choose it.",
    )


def _last(found: Mapping[str, list[str]], name: str) -> str | None:
    values = found.get(name)
    return values[-1] if values else None
