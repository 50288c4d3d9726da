"""How much each model can read, for those that are known; users can set it for the others."""

from __future__ import annotations

import re

USUAL = 128_000
"""Tokens, where nothing is known."""

_WINDOWS = (
    (re.compile(r"claude-haiku-"), 200_000),
    (re.compile(r"claude-[a-z]+-5(?:-|$)"), 1_000_000),
    (re.compile(r"claude-"), 200_000),
    (re.compile(r"gpt-(?:5|6)"), 272_000),
)
"""The first that fits counts; from the vendors' pages, on the cautious side."""


def window(model: str) -> int:
    """Tokens that a model reads at most, question and answer together."""
    return next((size for pattern, size in _WINDOWS if pattern.match(model)), USUAL)
