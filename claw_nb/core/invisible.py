"""Characters that nobody sees and that a model reads all the same."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
"""Needed in Persian, in the scripts of India and in emoji; a trick between plain ASCII letters."""

_FILLERS = "\u115f\u1160\u3164\uffa0\u2800"


def invisible(text: str) -> list[int]:
    """Where they stand: controls, bidi and zero-width marks, tags, surrogates, fillers (UTS #39)."""
    return [at for at, char in enumerate(text) if _is_hidden(char, text[at - 1 : at])]


def _is_hidden(char: str, before: str) -> bool:
    if char.isascii():
        return not char.isprintable() and char not in "\n\r\t"
    if char in _JOINERS:
        return not before or before.isascii()
    return unicodedata.category(char) in ("Cf", "Cc", "Cs", "Co") or char in _FILLERS
