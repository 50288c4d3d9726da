"""A recipe that plots columns: it learns them from the data frame and runs matplotlib code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from claw_nb.core.messages import ToolResult
from claw_nb.providers.offline.markdown import code, count, fence
from claw_nb.providers.offline.plot_code import Column, Kind, Plot, program
from claw_nb.providers.offline.recipe import Asked, Recipe, call, json_of, trouble
from claw_nb.providers.offline.variables import the_frame

_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"\bscatter", "scatter"),
    (r"\blines?\b", "line"),
    (r"\bbars?\b|\bcounts?\b", "bar"),
    (r"\bbox", "box"),
    (r"\bhist\w*|\bdistributions?\b", "hist"),
)
_AGAINST = re.compile(r"\b(?:against|versus|vs\.?|over|as a function of|on)\b", re.I)
_GROUP = re.compile(
    r"\b(?:colou?red by|grouped by|split by|for each|for every|per|by(?: the)?)\b", re.I
)
_WORDS = re.compile(r"[^\W_]+")


def plot(match: re.Match[str], asked: Asked) -> Recipe:
    """Draw what the words ask for."""
    return _plot(match["what"] or match["alone"])


def _plot(words: str) -> Recipe:
    found = yield from the_frame(words)
    if isinstance(found, str):
        return found
    name = str(found["name"])
    inspected = yield from call("inspect_variable", name=name)
    columns = _columns(json_of(inspected))
    if inspected.error or not columns:
        return trouble(inspected) or f"{code(name)} has no columns that I could plot."
    # Only polars calls a type of words String.
    polars = "polars" in str(found.get("type")) or any(c.dtype == "String" for c in columns)
    chosen = understand(words, name, columns, polars=polars)
    if isinstance(chosen, str):
        return chosen
    source = program(chosen)
    drawn = yield from call("run_python", code=source)
    if drawn.error is not None:
        return _not_drawn(drawn, source)
    return caption(chosen, json_of(inspected))


def _columns(found: object) -> list[Column]:
    rows = found.get("columns") if isinstance(found, Mapping) else None
    if not isinstance(rows, list):
        return []
    return [
        Column(
            name=str(row["name"]),
            dtype=str(row.get("dtype", "")),
            nulls=row["nulls"] if isinstance(row.get("nulls"), int) else 0,
        )
        for row in rows
        if isinstance(row, Mapping) and "name" in row
    ]


def understand(
    words: str, frame: str, columns: Sequence[Column], *, polars: bool = False
) -> Plot | str:
    """The plot that the words mean, or a sentence that says what is unclear."""
    wanted = next((kind for pattern, kind in _KINDS if re.search(pattern, words, re.I)), None)
    text = re.sub(rf"`?\b{re.escape(frame)}\b`?", " ", words)
    axes, _, grouping = _split(_GROUP, text)
    first, against, second = _split(_AGAINST, axes)
    found = find_columns(first, columns)
    if isinstance(found, str):
        return found
    others = find_columns(second, columns) if against else []
    if isinstance(others, str):
        return others
    groups = find_columns(grouping, columns) if grouping else []
    if isinstance(groups, str):
        return groups
    x, y, group = _axes(found, others, groups)
    if x is None and re.search(r"\S", _plain(axes)):
        return _no_column(_plain(axes), columns)
    kind = wanted or _kind(x, y, group)
    return Plot(frame=frame, kind=kind, x=x, y=y, group=group, polars=polars)


def _split(pattern: re.Pattern[str], text: str) -> tuple[str, str, str]:
    parts = pattern.split(text, maxsplit=1)
    return (parts[0], "yes", parts[1]) if len(parts) == 2 else (text, "", "")


def _axes(
    found: list[Column], others: list[Column], groups: list[Column]
) -> tuple[Column | None, Column | None, Column | None]:
    """x, y and group: "a against b" has b on the x axis, "a and b" has a there."""
    group = groups[0] if groups else None
    if others:
        return others[0], found[0] if found else None, group
    if len(found) >= 2:
        return found[0], found[1], group or (found[2] if len(found) > 2 else None)
    if found and group:
        return group, found[0], None
    return (found[0] if found else None), None, group


def _kind(x: Column | None, y: Column | None, group: Column | None) -> Kind:
    if x is None or y is None:
        return "hist" if x is None or x.numeric else "bar"
    if x.temporal:
        return "line"
    return "scatter" if x.numeric else "box"


_NOT_COLUMNS = re.compile(
    r"\b(?:the|a|an|of|in|from|my|all|columns?|data(?:[ _-]?frame)?|plots?|charts?|graphs?|me"
    r"|scatter\w*|lines?|bars?|counts?|box\w*|hist\w*|distributions?|table|please|and|with|as|for"
    r"|values?|its?)\b",
    re.I,
)


def _plain(text: str) -> str:
    return " ".join(_NOT_COLUMNS.sub(" ", text).strip(" .?!,:`").split())


def find_columns(text: str, columns: Sequence[Column]) -> list[Column] | str:
    """The columns that a text names, in its order; a sentence when a name fits several.

    A column is named by its exact name, or by words that are words of its name.
    """
    found: list[tuple[int, Column]] = []
    rest = text
    for column in sorted(columns, key=lambda c: -len(c.name)):
        match = re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", rest, re.I)
        if match:
            found.append((match.start(), column))
            rest = rest[: match.start()] + " " * len(match[0]) + rest[match.end() :]
    for match in re.finditer(r"[^,]+?(?=,|\band\b|$)", rest):
        words = _plain(match[0])
        if not words:
            continue
        fitting = [column for column in columns if _fits(words, column.name)]
        if len(fitting) > 1:
            names = ", ".join(code(column.name) for column in fitting)
            return f"“{words}” could be {names}. Which one do you mean?"
        if not fitting:
            return _no_column(words, columns)
        found.append((match.start(), fitting[0]))
    return [column for _, column in sorted(found, key=lambda pair: pair[0])]


def _fits(words: str, name: str) -> bool:
    wanted = [word.lower() for word in _WORDS.findall(words)]
    parts = [part.lower() for part in _WORDS.findall(name)]
    return bool(wanted) and all(
        any(part.startswith(word) or (word.endswith("s") and part == word[:-1]) for part in parts)
        for word in wanted
    )


def _no_column(words: str, columns: Sequence[Column]) -> str:
    names = ", ".join(code(column.name) for column in columns)
    return f"I found no column for “{words}”. The columns are {names}."


_ALONE: Mapping[Kind, str] = {
    "hist": "The distribution of {}",
    "bar": "How often each value of {} occurs",
    "line": "{} in the order of the rows",
    "scatter": "{} in the order of the rows",
    "box": "The distribution of {}",
}


def caption(plot: Plot, found: Any) -> str:
    """What is drawn, with the facts that the data frame told."""
    frame = code(plot.frame)
    shape = found.get("shape") if isinstance(found, Mapping) else None
    rows = f"{count(int(shape[0]), 'row')} of {frame}" if isinstance(shape, list) else frame
    if plot.x is None:
        return f"The distribution of each numeric column: {rows}."
    used = [column for column in (plot.x, plot.y, plot.group) if column is not None]
    if plot.y is None:
        says = _ALONE[plot.kind].format(code(plot.x.name))
    else:
        between = "for each" if plot.kind in ("box", "bar") else "against"
        says = f"{code(plot.y.name)} {between} {code(plot.x.name)}"
    if plot.group is not None:
        says += f", one colour for each {code(plot.group.name)}"
    gaps = [f"{column.nulls:,} in {code(column.name)}" for column in used if column.nulls]
    missing = f" Rows with a missing value are left out ({', '.join(gaps)})." if gaps else ""
    return f"{says}: {rows}.{missing}"


def _not_drawn(drawn: ToolResult, source: str) -> str:
    why = trouble(drawn)
    if "No module named 'matplotlib'" in drawn.text:
        why = "Plots need matplotlib, which is not installed: `%pip install matplotlib`."
    return f"{why}\n\nThis is the code:\n\n{fence(source, 'python')}"
