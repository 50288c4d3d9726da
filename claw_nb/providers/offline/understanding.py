"""From what the user said to a recipe; what isn't understood gets an honest answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claw_nb.providers.offline.intents import INTENTS, Intent
from claw_nb.providers.offline.markdown import code
from claw_nb.providers.offline.recipe import Asked, Recipe, in_turn, say

_HELP = re.compile(
    r"(?:help|hello|hi|hey|what can (?:you|i) (?:do|ask)|who are you|what are you)\b.{0,40}",
    re.I | re.S,
)
_VERBS = (
    r"describe|inspect|summari[sz]e|look at|show|tell me|list|plot|draw|chart|visuali[sz]e"
    r"|remember|note|recall|what|schedule|run|execute|read|sql:|shell:"
)
_JOINT = re.compile(
    rf"\s*(?:[;.\n]|,?\s*\band\b(?:\s+then\b)?|,?\s*\bthen\b|,)\s+(?=(?:please\s+)?(?:{_VERBS})\b)",
    re.I,
)


def understand(asked: Asked) -> Recipe:
    """The recipe for what the user said; what isn't understood gets an honest answer."""
    text = asked.text.strip()
    recipes: list[Recipe] = []
    while text:
        recipe, text = _first(text, asked)
        if recipe is None:
            return say(cannot(asked))
        recipes.append(recipe)
    return in_turn(recipes) if recipes else say(cannot(asked))


def _first(text: str, asked: Asked) -> tuple[Recipe | None, str]:
    """The first command of a text, and what comes after it."""
    joint = _JOINT.search(text)
    head, tail = (text[: joint.start()], text[joint.end() :]) if joint else (text, "")
    for intent in INTENTS:
        words = text if intent.rest else head
        match = intent.pattern.fullmatch(words.strip())
        if match is None:
            continue
        missing = [tool for tool in intent.tools if tool not in asked.tools]
        recipe = say(_unavailable(intent, missing)) if missing else intent.recipe(match, asked)
        if recipe is not None:
            return recipe, "" if intent.rest else tail
    return None, ""


def _unavailable(intent: Intent, missing: Sequence[str]) -> str:
    where = (
        "It works in a notebook, where I can see the kernel."
        if set(missing) & {"list_variables", "inspect_variable", "run_python"}
        else "It is switched off here."
    )
    return f"I have no tool here to {intent.about.partition(':')[0]}. {where}"


def cannot(asked: Asked) -> str:
    """What the interpreter is, what it can do and how to get a language model instead."""
    helped = _HELP.fullmatch(asked.text.strip())
    first = (
        "I am claw's built-in interpreter. I am **not a language model**: I understand a few "
        "plain commands"
    )
    first += "." if helped else ", and this is none of them."
    rows = "\n".join(
        f"- {intent.about} — {code(intent.example)}"
        for intent in reversed(INTENTS)
        if set(intent.tools) <= asked.tools
    )
    return f"{first}\n\n{rows}\n\n{_REAL_MODEL}"


_REAL_MODEL = """\
For everything else set a real model:

- Claude: `claw config set provider anthropic`, with the key in `ANTHROPIC_API_KEY`
- OpenAI, or Ollama, vLLM, llama.cpp on this machine: `claw config set provider openai`, with \
`OPENAI_API_KEY` or `claw config set provider.base_url http://localhost:11434/v1`
- for one question only: `%claw ask --provider anthropic …`; for one process: `CLAW_PROVIDER`"""
