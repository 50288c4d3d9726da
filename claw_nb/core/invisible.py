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


_LINES = "\u2028\u2029"
"""They end a line for some readers and not for others."""


def visible(text: str) -> str:
    """The text with what nobody sees in it spelled out: ``␛`` for ESC, ``⟨U+202E⟩`` for a bidi mark.

    A terminal then shows an escape sequence and does not obey it, and code reads as it will run.
    """
    if text.isascii() and text.isprintable():
        return text
    hidden = {*invisible(text), *_alone(text)}
    if not hidden:
        return text
    return "".join(_spelled(char) if at in hidden else char for at, char in enumerate(text))


def visible_json(text: str) -> str:
    """The same for JSON: the characters are escaped, so that its values stay what they are."""
    hidden = {*invisible(text), *_alone(text)}
    return "".join(_escaped(char) if at in hidden else char for at, char in enumerate(text))


def _alone(text: str) -> list[int]:
    """Line ends that overwrite their line, or are none to everybody."""
    return [
        at
        for at, char in enumerate(text)
        if char in _LINES or (char == "\r" and text[at + 1 : at + 2] != "\n")
    ]


def _spelled(char: str) -> str:
    if char < " ":
        return chr(0x2400 + ord(char))
    return "␡" if char == "\x7f" else f"⟨U+{ord(char):04X}⟩"


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
