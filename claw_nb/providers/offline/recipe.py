"""A recipe is a generator: it yields steps of tool calls, is sent their results, and returns words.

Nothing is kept between two requests. The provider starts the recipe anew each time and sends it
the results that stand in the transcript already, so the transcript is the whole state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from claw_nb.core.clock import Clock, now
from claw_nb.core.messages import ToolResult
from claw_nb.providers.offline.markdown import code


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool to call."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Step:
    """Calls that run at the same time, after some words to the user."""

    calls: tuple[Call, ...]
    say: str = ""


Results = Sequence[ToolResult]
Recipe = Generator[Step, Results, str]
"""Yields steps, is sent their results, returns the answer in Markdown."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user said, and where: ``tools`` are the names that may be called."""

    text: str
    tools: frozenset[str] = frozenset()
    clock: Clock = now


def call(tool: str, **arguments: Any) -> Generator[Step, Results, ToolResult]:
    """One call and its result."""
    results = yield Step(calls=(Call(tool=tool, arguments=arguments),))
    return results[0]


def say(text: str) -> Recipe:
    """The recipe that needs no tool."""
    yield from ()
    return text


def play(recipe: Recipe, rounds: Sequence[Results]) -> Step | str:
    """The recipe's next step, or its answer, after the rounds of results so far."""
    try:
        step = next(recipe)
        for results in rounds:
            step = recipe.send(results)
    except StopIteration as end:
        return str(end.value)
    return step


def in_turn(recipes: Sequence[Recipe]) -> Recipe:
    """One recipe after the other; each but the last says its answer with the next one's calls."""
    said: list[str] = []
    for recipe in recipes:
        try:
            step = next(recipe)
            while True:
                words, said = "\n\n".join([*said, step.say] if step.say else said), []
                step = recipe.send((yield replace(step, say=words)))
        except StopIteration as end:
            said.append(end.value)
    return "\n\n".join(said)


def json_of(result: ToolResult) -> Any:
    """The JSON that a tool gave, or None when it is none."""
    try:
        return json.loads(result.text)
    except json.JSONDecodeError:
        return None


def trouble(result: ToolResult) -> str:
    """Why a call came to nothing, in a sentence for the user; "" when it went well."""
    if result.error is None:
        return ""
    if result.error == "denied":
        reason = result.text.partition("Reason: ")[2].partition("\n")[0]
        because = f" ({reason})" if reason else ""
        return f"You did not allow `{result.name}`{because}, so I stopped there."
    if result.error == "interrupted":
        return f"`{result.name}` was interrupted before it finished."
    if result.name == "run_python":  # its hints are for a model, and the user saw the traceback
        return f"The code failed: {code(_error_line(result.text))}"
    lines = [line for line in result.text.splitlines() if not line.startswith("Error kind:")]
    first = (lines[0] if lines else result.error).removeprefix("Error: ")
    hints = [line for line in lines[1:] if line.startswith("- ")]
    return "\n".join([f"That did not work: {first}", *(["", *hints] if hints else [])])


def _error_line(traceback: str) -> str:
    """The line of a traceback that names the error."""
    before, _, _ = traceback.removeprefix("Error: ").partition("\nError kind:")
    lines = [line for line in before.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"(?:\w+\.)*[A-Z]\w*(?::\s|$)", line)]
    return (named or lines or ["no reason was given"])[-1]
