"""Recipes that keep a text beyond the conversation, and find it again with its source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from claw_nb.providers.offline.markdown import code
from claw_nb.providers.offline.recipe import Asked, Recipe, call, json_of, trouble

_CATEGORIES = (
    (r"\b(?:prefer|like|love|hate|always|never|favou?rite)\b", "preference"),
    (r"\b(?:decided?|decision|agreed?|will use|chose)\b", "decision"),
)


def remember(match: re.Match[str], asked: Asked) -> Recipe:
    """Keep a finding, a preference or a decision."""
    return _remember(match["what"].strip())


def _remember(text: str) -> Recipe:
    tags = re.findall(r"(?<!\S)#(\w+)", text)
    words = re.sub(r"\s*(?<!\S)#\w+", "", text).strip() or text
    kind = next((name for pattern, name in _CATEGORIES if re.search(pattern, words, re.I)), "fact")
    result = yield from call("remember", text=words, category=kind, tags=tags)
    if result.error:
        return trouble(result)
    return f"I remember, as a {kind}: “{words}”"


def recall(match: re.Match[str], asked: Asked) -> Recipe:
    """Search what was kept."""
    return _recall(match["what"].strip().strip("?").strip())


def _recall(query: str) -> Recipe:
    result = yield from call("recall", query=query)
    if result.error:
        return trouble(result)
    found = json_of(result)
    hits = [hit for hit in found if isinstance(hit, Mapping)] if isinstance(found, list) else []
    if not hits:
        return f"I know nothing about “{query}” yet. `remember …` keeps something."
    strong = [hit for hit in hits if not hit.get("weak")]
    if not strong:
        head = f"I know nothing about “{query}” for sure. These come closest:"
    else:
        head = f"This is what I know about “{query}”:"
    return f"{head}\n\n" + "\n".join(_line(hit) for hit in (strong or hits))


def _line(hit: Mapping[str, Any]) -> str:
    text = " ".join(str(hit.get("text", "")).split())
    source = [str(hit.get("category") or "fact")]
    if hit.get("source"):
        source.append(f"from {code(hit['source'])}")
    if hit.get("session"):
        source.append(f"session {code(str(hit['session'])[:12])}")
    if hit.get("created"):
        source.append(str(hit["created"])[:10])
    return f"- {text} *({', '.join(source)})*"
