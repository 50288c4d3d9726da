"""Recipes that look at the kernel's variables: list them, describe one or several."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from claw_nb.core.messages import ToolResult
from claw_nb.providers.offline.markdown import cell, code, count, table
from claw_nb.providers.offline.recipe import (
    Asked,
    Call,
    Recipe,
    Results,
    Step,
    call,
    json_of,
    trouble,
)

_FILLER = re.compile(
    r"\b(?:the|my|this|that|all|a|an|please|me|of|in|for|variables?|data[ _-]?(?:frame|set)s?"
    r"|tables?|objects?|values?|columns?|content|contents|kernel)\b",
    re.I,
)
_FRAME_WORD = re.compile(r"\b(?:data[ _-]?(?:frame|set)|table|data)\b", re.I)


def list_all(match: re.Match[str], asked: Asked) -> Recipe:
    """What is in the kernel."""
    return _list_all()


def _list_all() -> Recipe:
    result = yield from call("list_variables")
    found = variables(result)
    if result.error:
        return trouble(result)
    if not found:
        return "There are no variables in the kernel yet."
    rows = [(code(row["name"]), row.get("type"), row.get("summary")) for row in found]
    return f"The kernel holds {count(len(found), 'variable')}:\n\n" + table(
        ["name", "type", "what it is"], rows
    )


def describe(match: re.Match[str], asked: Asked) -> Recipe | None:
    """One variable or several; None when the words name nothing that could be one."""
    words = match["what"]
    names = named(words)
    if names:
        return _describe(names)
    return _describe_frame() if _FRAME_WORD.search(words) and not _left(words) else None


def named(words: str) -> tuple[str, ...]:
    """The variables that words name: those in backticks, or a list of nothing but names."""
    quoted = re.findall(r"`([^`]+)`", words)
    if quoted:
        return tuple(dict.fromkeys(quoted))
    rest = [part for part in re.split(r",|\band\b|\s", _left(words)) if part]
    separate = len(re.findall(r",|\band\b", words)) + 1
    if not all(re.fullmatch(r"[^\W\d]\w*(?:\.\w+)*", part) for part in rest):
        return ()
    return tuple(rest) if len(rest) <= separate else ()


def _left(words: str) -> str:
    return _FILLER.sub(" ", words).strip(" .?!:")


def _describe(names: Sequence[str]) -> Recipe:
    calls = tuple(Call(tool="inspect_variable", arguments={"name": name}) for name in names)
    results = yield Step(calls=calls)
    if any(result.error == "not_found" for result in results):
        known = yield from call("list_variables")
        return "\n\n".join(
            _unknown(name, known) if result.error == "not_found" else told(result)
            for name, result in zip(names, results, strict=False)
        )
    return "\n\n".join(told(result) for result in results)


def _describe_frame() -> Recipe:
    found = yield from the_frame()
    if isinstance(found, str):
        return found
    result = yield from call("inspect_variable", name=found["name"])
    return told(result)


def the_frame(mentioned: str = "") -> Generator[Step, Results, Mapping[str, Any] | str]:
    """The data frame that a text mentions, or the only one; a sentence when that is unclear."""
    result = yield from call("list_variables")
    if result.error:
        return trouble(result)
    frames = [row for row in variables(result) if is_frame(row)]
    meant = [row for row in frames if re.search(rf"\b{re.escape(row['name'])}\b", mentioned)]
    if len(meant or frames) == 1:
        return (meant or frames)[0]
    if not frames:
        return "There is no data frame in the kernel yet. Load one in a cell and ask again."
    names = ", ".join(code(row["name"]) for row in meant or frames)
    return f"There are several data frames: {names}. Which one do you mean?"


def is_frame(row: Mapping[str, Any]) -> bool:
    """Whether a variable is a table with columns, of pandas, polars or another library."""
    return str(row.get("type", "")).rpartition(".")[2] in ("DataFrame", "LazyFrame", "Table")


def variables(result: ToolResult) -> list[Mapping[str, Any]]:
    """The rows of ``list_variables``."""
    found = json_of(result)
    if isinstance(found, Mapping):
        found = found.get("variables")
    if not isinstance(found, list):
        return []
    return [row for row in found if isinstance(row, Mapping) and "name" in row]


def _unknown(name: str, known: ToolResult) -> str:
    names = [str(row["name"]) for row in variables(known)]
    near = get_close_matches(name, names, n=2, cutoff=0.6)
    if near:
        return f"There is no variable {code(name)}. Did you mean {' or '.join(map(code, near))}?"
    listed = ", ".join(map(code, names[:12]))
    return f"There is no variable {code(name)}. " + (
        f"The kernel holds {listed}." if names else "The kernel holds none yet."
    )


def told(result: ToolResult) -> str:
    """What ``inspect_variable`` found, in words and tables."""
    found = json_of(result)
    if result.error or not isinstance(found, Mapping):
        return trouble(result) or result.text
    columns = found.get("columns")
    if isinstance(columns, list) and columns and isinstance(columns[0], Mapping):
        return _frame(found, columns)
    return _value(found)


_FACTS = (
    ("dtype", "type"),
    ("nulls", "missing"),
    ("unique", "distinct"),
    ("min", "min"),
    ("mean", "mean"),
    ("max", "max"),
    ("sample", "for example"),
)


def _frame(found: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> str:
    name, kind = code(found.get("name", "it")), found.get("type", "table")
    shape = found.get("shape")
    size = ""
    if isinstance(shape, list) and len(shape) == 2:
        rows, width = count(int(shape[0]), "row"), count(int(shape[1]), "column")
        size = f" with **{rows}** and **{width}**"
    facts = [(key, head) for key, head in _FACTS if any(key in column for column in columns)]
    body = table(
        ["column", *(head for _, head in facts)],
        [(code(column.get("name")), *(column.get(key) for key, _ in facts)) for column in columns],
    )
    parts = [f"{name} is {_a(kind)}{size}.", body]
    shown = len(columns)
    if isinstance(shape, list) and len(shape) == 2 and shown < int(shape[1]):
        parts.append(f"(The first {shown} columns.)")
    parts.append(_missing(columns))
    parts.append(_first_rows(found.get("rows"), columns))
    return "\n\n".join(part for part in parts if part)


def _missing(columns: Sequence[Mapping[str, Any]]) -> str:
    counted = [(c.get("name"), c.get("nulls")) for c in columns if isinstance(c.get("nulls"), int)]
    gaps = sorted(((n, name) for name, n in counted if n), key=lambda pair: -pair[0])
    if not counted:
        return ""
    if not gaps:
        return "No value is missing."
    listed = ", ".join(f"{code(name)} ({n:,})" for n, name in gaps[:6])
    return f"Values are missing in {listed}{' and others' if len(gaps) > 6 else ''}."


def _first_rows(rows: object, columns: Sequence[Mapping[str, Any]]) -> str:
    """The first rows, which are objects by column name, or lists in the columns' order."""
    if not isinstance(rows, list) or not rows:
        return ""
    heads = [str(column.get("name")) for column in columns]
    body = [
        [row.get(head) for head in heads] if isinstance(row, Mapping) else row[: len(heads)]
        for row in rows[:3]
        if isinstance(row, Mapping | list)
    ]
    return "The first rows:\n\n" + table(heads, body) if body else ""


def _value(found: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in found.items() if k not in ("name", "type", "shape") and v is not None}
    head = f"{code(found.get('name', 'it'))} is {_a(found.get('type', 'value'))}"
    shape = found.get("shape")
    if isinstance(shape, list) and shape:
        head += f" of shape {' × '.join(map(str, shape))}"
    if not rest:
        return f"{head}."
    if len(rest) == 1:
        return f"{head}: {code(cell(next(iter(rest.values()))))}"
    return f"{head}:\n\n" + "\n".join(f"- {key}: {code(cell(v))}" for key, v in rest.items())


def _a(kind: object) -> str:
    return f"{'an' if str(kind)[:1].lower() in 'aeiou' else 'a'} {code(kind)}"
