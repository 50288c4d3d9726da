"""Recipes that run what the user gives as it stands: code, SQL, a shell command, a file to read."""

from __future__ import annotations

import re

from claw_nb.providers.offline.markdown import code, count, fence
from claw_nb.providers.offline.recipe import Asked, Recipe, call, trouble

_SHOWN = 40


def run_code(match: re.Match[str], asked: Asked) -> Recipe:
    """Run Python in the kernel."""
    return _run_code(_given(match))


def _run_code(source: str) -> Recipe:
    result = yield from call("run_python", code=source)
    if result.error:
        return trouble(result)
    text = result.text.strip()
    text = "" if text == "(the code ran and showed nothing)" else text
    return f"I ran it:\n\n{fence(_short(text))}" if text else "I ran it; it showed nothing."


def run_sql(match: re.Match[str], asked: Asked) -> Recipe:
    """Query the log, the memories and the data frames."""
    return _run_sql(_given(match).rstrip("; \n"))


def _run_sql(query: str) -> Recipe:
    result = yield from call("sql", query=query)
    return trouble(result) or result.text


def run_shell(match: re.Match[str], asked: Asked) -> Recipe:
    """Run a shell command in the workspace."""
    return _run_shell(_given(match))


def _run_shell(command: str) -> Recipe:
    result = yield from call("bash", command=command)
    if result.error:
        return trouble(result)
    text = result.text.strip()
    return fence(_short(text)) if text else f"{code(command)} printed nothing."


def read_file(match: re.Match[str], asked: Asked) -> Recipe:
    """Show a file of the workspace."""
    return _read_file(match["what"].strip("`"))


def _read_file(path: str) -> Recipe:
    result = yield from call("read_file", path=path)
    return trouble(result) or fence(_short(result.text))


def _given(match: re.Match[str]) -> str:
    """The text in the fence, or after the colon."""
    given = next(text for text in match.groups() if text)
    return given.strip().strip("`").strip()


def _short(text: str) -> str:
    lines = text.splitlines()
    if len(lines) <= _SHOWN:
        return text
    return "\n".join([*lines[:_SHOWN], f"… and {count(len(lines) - _SHOWN, 'line')} more"])
