"""Words of a shell command: quotes and escapes resolved, braces expanded, the unknown marked.

While a word is put together, private-use characters stand for what only unquoted text can mean.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

DYNAMIC = "\uf8f0"
"""Here stands what can't be known."""
UNSET = "\uf8f1"
"""Here stands a variable of the environment, whose value no script has set."""
QUOTED = "\uf8f2"
"""Quotes were here: the word exists even when it is empty."""
_SPACE, _OPEN, _COMMA, _CLOSE = "\uf8f3", "\uf8f4", "\uf8f5", "\uf8f6"

_MOST_WORDS = 200
_MARKS = re.compile(r"[\uf8f0-\uf8ff]")
_BRACES = str.maketrans({"{": _OPEN, ",": _COMMA, "}": _CLOSE})


@dataclass(frozen=True, kw_only=True)
class Word:
    """One word. ``dynamic``: a part of it is only known when it runs; ``unset``: the environment's."""

    text: str
    dynamic: bool = False
    unset: bool = False


def literal(text: str) -> str:
    """Text that means itself."""
    return QUOTED + _MARKS.sub("?", text)


def splittable(text: str) -> str:
    """The value of an unquoted variable, which falls apart at white space."""
    return re.sub(r"\s+", _SPACE, _MARKS.sub("?", text))


def unescaped(text: str) -> str:
    """Unquoted text: a backslash makes the next character mean itself."""
    pieces = re.split(r"\\(.)", _MARKS.sub("?", text), flags=re.DOTALL)
    for at, piece in enumerate(pieces):
        if at % 2 == 0:
            pieces[at] = piece.translate(_BRACES)
    return "".join(pieces)


def in_double_quotes(text: str) -> str:
    """Between double quotes a backslash only escapes four characters."""
    return re.sub(r'\\([$`"\\])', r"\1", text)


def ansi_c(text: str) -> str:
    r"""``$'...'``: ``\x72``, ``\162``, ``\u0072`` and the letters of C."""

    def one(match: re.Match[str]) -> str:
        body = match[1]
        if body[0] in "xuU" and len(body) > 1:
            number = int(body[1:], 16)
            return chr(number) if number < 0x110000 else "?"
        if body[0] in "01234567":
            return chr(int(body, 8) & 0xFF)
        return {"e": "\x1b", "E": "\x1b"}.get(body) or codecs.decode(
            f"\\{body}" if body in "abfnrtv" else body, "unicode_escape"
        )

    pattern = (
        r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|[abfnrtveE\\'\"?])"
    )
    return re.sub(pattern, lambda m: m[1] if m[1] in "\\'\"?" else one(m), text)


def split(text: str) -> list[Word]:
    """The words that marked text becomes: first braces, then white space from variables."""
    found = []
    for expanded in _expand(text):
        for part in expanded.split(_SPACE):
            bare = _MARKS.sub("", part)
            if bare or part:
                found.append(
                    Word(
                        text=bare,
                        dynamic=DYNAMIC in part,
                        unset=UNSET in part,
                    )
                )
    return found


def _expand(text: str) -> list[str]:
    """``{a,b}`` and ``{1..3}`` as bash would; what isn't a brace expression stays."""
    done: list[str] = []
    todo = [text]
    while todo and len(done) + len(todo) <= _MOST_WORDS:
        word = todo.pop(0)
        group = re.search(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}", word)
        if group is None:
            done.append(word.replace(_OPEN, "{").replace(_COMMA, ",").replace(_CLOSE, "}"))
            continue
        options = group[1].split(_COMMA)
        between = re.fullmatch(r"(-?\w+)\.\.(-?\w+)(?:\.\.-?\w+)?", group[1])
        if len(options) == 1:
            # ``{}`` and ``{a..z}``: the ends of a range are enough to judge it by.
            options = list(between.groups()) if between else ["{" + group[1] + "}"]
        head, tail = word[: group.start()], word[group.end() :]
        todo += [head + option + tail for option in options]
    return done + [_MARKS.sub("", word) + DYNAMIC for word in todo]
