"""Secrets that only their name gives away: ``password = "hunter2"``, ``?token=...``, a column.

The value decides as much as the name, so that code (``token = next(tokens)``), placeholders,
special tokens and prose stay readable.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

SecretKind = Literal["password", "key", "token"]

_WORD = re.compile(r"pass(?:word|wd|phrase|code)|pwd|key|secret|token|credentials?|signature")
_KEY = re.compile(
    r"(?:(?:api|access|account|secret|private|signing|encryption|service|master|auth)[ _-]?key"
    r"|(?:client|app)[ _-]?secret)\Z"
)
_SPELLED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_LONGEST_NAME = 60

_QUOTE = r"\\{0,3}[\"'`]"
_VALUE = re.compile(
    rf"(?P<gap>(?:{_QUOTE})?\]?[ \t]{{0,4}}+(?::=|=>|[:=])[ \t]{{0,4}}+|[ ](?:is:?|was)[ ])"
    rf"(?:[bBrRuU]{{0,2}}(?P<quote>{_QUOTE})(?P<quoted>[^\r\n]{{1,300}}?)(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;&<>(){}\[\]\\|]{4,300}+)(?P<call>[(\[{])?)"
)
PLACEHOLDER = re.compile(
    r"<.*>?|\[.*\]?|\{.*|\$[A-Za-z_{(].*|.*\$\{.*|%\(?\w*\)?[sdr]|%\w+%|[*•]+|.*(?:\.{2,}|…).*|[_-]+|x{3,}.*"
    r"|claw://.*|(?:your|my|the|some|insert|enter)[_ -].*|example[\w-]*|placeholder|change[_-]?me"
    r"|none|null|true|false|str(?:ing)?|text|bytes|password|secret|token|hidden|redacted|required"
    r"|optional|undefined|empty|not[_-]needed|[a-z]+(?:_[a-z0-9]+)*_(?:key|token|password|secret)",
    re.IGNORECASE | re.DOTALL,
)
"""What stands where a secret would: ``<key>``, ``${KEY}``, ``your-api-key``, a type, a name."""
_TERM = re.compile(
    r"(?:sha|md|base|utf|hs|rs|es|ps|aes|ed|x|ipv|http|oauth|blake|argon|pbkdf|bcrypt|scrypt|python)"
    r"[-_]?[0-9]+[a-z]*|[0-9]+(?:[-.:/][0-9]+)*[a-z]{0,12}",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?=[^_.]*[_.])[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\.?")


class _Found(NamedTuple):
    name: str
    kind: SecretKind
    flag: bool
    gap: str
    value: str
    quoted: bool
    call: bool


def mask_named(text: str, lowered: str) -> str:
    """The text with the values masked that their names give away; ``lowered`` is as long."""
    pieces: list[str] = []
    done = 0
    for word in _WORD.finditer(lowered):
        match = _VALUE.match(text, word.end()) if word.start() >= done else None
        if match is None:
            continue
        found = _found(text, lowered, word, match)
        if _is_secret(found):
            start, end = match.span("quoted" if found.quoted else "bare")
            end -= 0 if found.quoted else len(found.value) - len(found.value.rstrip("."))
            pieces += text[done:start], f"[REDACTED:{found.kind}]"
            done = end
    return "".join((*pieces, text[done:])) if pieces else text


def _found(text: str, lowered: str, word: re.Match[str], match: re.Match[str]) -> _Found:
    before = text[max(0, word.start() - _LONGEST_NAME) : word.start()]
    head = before.rstrip(_SPELLED)
    name = before[len(head) :] + text[word.start() : word.end()]
    return _Found(
        name=name.lstrip("-"),
        kind=_kind(word[0], lowered[max(0, word.end() - 16) : word.end()]),
        flag=name.startswith("--") or head.endswith(("?", "&", ";")),
        gap=match["gap"].strip(),
        value=match["quoted"] or match["bare"],
        quoted=match["quoted"] is not None,
        call=match["call"] is not None,
    )


def _kind(word: str, name: str) -> SecretKind:
    if word.startswith("p"):
        return "password"
    return "key" if _KEY.search(name) else "token"


def _is_secret(found: _Found) -> bool:
    value = found.value
    if PLACEHOLDER.fullmatch(value) or found.call or _inside_a_word(found.name):
        return False
    if is_folder(found.name, value):
        return False
    if found.gap.startswith(("is", "was")):
        return (found.name.lower() != "key" or found.kind == "key") and unlike_prose(value)
    if found.kind == "token":
        return random_looking(value, strict=found.name.lower().endswith(("key", "signature")))
    if found.quoted:
        return " " not in value or (found.kind == "password" and unlike_prose(value.split()[0]))
    if found.flag or (found.name.isupper() and found.gap == "="):
        return not _TERM.fullmatch(value)
    return unlike_prose(value) and not _CODE.fullmatch(value)


def is_folder(name: str, value: str) -> bool:
    """``PWD=/home/ann`` is where a shell stands."""
    return name.upper() in ("PWD", "OLDPWD") and bool(re.match(r"[/.~]|[A-Za-z]:\\", value))


def _inside_a_word(name: str) -> bool:
    """``monkey`` isn't a key; ``userKey``, ``user_key`` and ``apikey`` are."""
    return bool(re.search(r"(?i:monkey|donkey|turkey|hockey|jockey|whiskey)\Z", name))


def unlike_prose(value: str) -> bool:
    """Letters with digits or signs among them, and no term of the trade (``sha256``)."""
    value = value.rstrip(".:!?")
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    odd = any(c in "!@#$%^&*+=" for c in value[1:])
    return len(value) >= 6 and (mixed or odd) and not _TERM.fullmatch(value)


def random_looking(value: str, *, strict: bool = False) -> bool:
    """Letters and digits in one long word, as generators make and people don't.

    ``strict`` wants both cases too: what stands there may be a hash or the key of a cache.
    """
    if len(value) < (20 if strict else 12) or _TERM.fullmatch(value):
        return False
    if any(c.isspace() for c in value):
        return False
    letters, digits = sum(c.isalpha() for c in value), sum(c.isdigit() for c in value)
    cases = any(c.islower() for c in value) and any(c.isupper() for c in value)
    return letters >= 2 and digits >= 2 and (cases or (digits >= 3 and not strict))


@lru_cache(maxsize=1024)
def secret_kind(name: str) -> SecretKind | None:
    """What a variable, column or key of this name holds; a ``token`` may also be a word."""
    lowered = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().rstrip("0123456789_")
    ends = [word for word in _WORD.finditer(lowered) if word.end() >= len(lowered.rstrip("s"))]
    if not ends:
        return None
    kind = _kind(ends[-1][0], lowered[: ends[-1].end()])
    return None if kind == "token" and ends[-1][0] in ("key", "signature") else kind


_OPEN = re.compile(
    rf"(?:{_WORD.pattern})(?:{_QUOTE})?\]?[ \t]*+(?:[:=]|\Z|(?<=[ ])(?:is?|wa?s?)(?::?[ ]|\Z|:\Z))"
)
_ORDINARY = frozenset({"administrator", "authentication", "configuration", "authorization"})


def opens_a_value(lowered: str) -> int | None:
    """Where a word begins after which a secret may be coming in this line (in lower case)."""
    found = _OPEN.search(lowered)
    if found is None:
        return None
    before = lowered[: found.start()]
    return len(before.rstrip(_SPELLED))


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable of this name and value holds what should be masked wherever it appears.

    What may as well be an everyday word, a path or a name in code is left alone.
    """
    kind = secret_kind(name)
    if kind is None or PLACEHOLDER.fullmatch(value) or is_folder(name, value):
        return False
    if kind == "token":
        return random_looking(value)
    if value.lower() in _ORDINARY or re.match(r"[/~.]|[A-Za-z]:\\", value):
        return False
    if value.isalpha():
        return len(value) >= 12
    if value.replace("_", "").replace("-", "").isalpha() and value.islower():
        return kind == "password" and "_" not in value and len(value) >= 16
    return len(value) >= (10 if value.isdigit() else 8) and not _TERM.fullmatch(value)
