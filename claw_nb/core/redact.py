"""Secrets leave no trace: what every sink calls on the text that it keeps or shows.

A vendor's key has a shape of its own and is masked wherever it stands. A password has none: it
is masked where a header, a URL or a name (``core.named_secrets``) says what it is. Every rule is
linear in the length of the text: it starts at a literal or at the edge of a word, and what
repeats is bounded or possessive.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote

from claw_nb.core.named_secrets import (
    PLACEHOLDER,
    is_folder,
    looks_secret,
    mask_named,
    random_looking,
    secret_kind,
    unlike_prose,
)

#: A key begins a word, or follows an escape: ``\\n`` in JSON, ``%3D`` in a URL.
_LEFT = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_RIGHT = r"(?![A-Za-z0-9_-])"
_URLSAFE = r"[A-Za-z0-9_-]"

#: kind, how the key begins (regex alternatives), what follows.
_VENDORS = (
    ("anthropic", "sk-ant-", _URLSAFE + "{20,}+"),
    ("openai", "sk-proj-|sk-svcacct-|sk-admin-|sk-or-v1-|sk-None-", _URLSAFE + "{20,}+"),
    ("api-key", "sk-", r"[A-Za-z0-9]{20,}+" + _RIGHT),
    ("aws", "AKIA|ASIA|ABIA|ACCA", r"[A-Z2-7]{16}" + _RIGHT),
    ("github", "ghp_|gho_|ghu_|ghs_|ghr_", r"[A-Za-z0-9]{36,}+"),
    ("github", "github_pat_", r"[A-Za-z0-9_]{22,}+"),
    ("gitlab", "glpat-|glptt-|glrt-|gldt-|glcbt-|glft-|glsoat-", _URLSAFE + "{20,}+"),
    ("slack", "xoxb-|xoxa-|xoxp-|xoxr-|xoxs-|xoxe-|xoxc-|xoxd-|xapp-", r"[A-Za-z0-9%-]{10,}+"),
    ("google", "AIza", _URLSAFE + "{35}" + _RIGHT),
    ("google", r"ya29\.", _URLSAFE + "{20,}+"),
    ("google", "GOCSPX-", _URLSAFE + "{20,}+"),
    ("stripe", "sk_live_|sk_test_|rk_live_|rk_test_|whsec_", r"[A-Za-z0-9+/=]{16,}+"),
    ("huggingface", "hf_", r"[A-Za-z0-9]{30,}+"),
    ("npm", "npm_", r"[A-Za-z0-9]{36}" + _RIGHT),
    ("pypi", "pypi-", _URLSAFE + "{50,}+"),
    ("docker", "dckr_pat_|dckr_oat_", _URLSAFE + "{20,}+"),
    ("sendgrid", r"SG\.", _URLSAFE + r"{22}\." + _URLSAFE + "{43}"),
    ("twilio", "SK", r"[0-9a-f]{32}" + _RIGHT),
    ("digitalocean", "dop_v1_|doo_v1_|dor_v1_", r"[0-9a-f]{64}"),
    ("databricks", "dapi", r"[0-9a-f]{32}" + _RIGHT),
    ("api-key", "gsk_|xai-|pplx-|nvapi-|csk-|tvly-|r8_|fc-|e2b_", r"[A-Za-z0-9_-]{30,}+"),
    ("api-key", "lsv2_pt_|lsv2_sk_|pcsk_|lin_api_|ntn_|figd_|glsa_|glc_", r"[A-Za-z0-9_=-]{24,}+"),
    ("api-key", "shpat_|shpca_|shppa_|shpss_", r"[0-9a-f]{32}"),
    ("api-key", "sntrys_|sbp_|nfp_|PMAK-|ATATT3x|ATCTT3x", r"[A-Za-z0-9_=-]{24,}+"),
    ("vault", r"hvs\.|hvb\.", _URLSAFE + "{24,}+"),
    ("age", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}+"),
    ("telegram", r"(?<![0-9])[0-9]{8,10}:AA", _URLSAFE + "{33}" + _RIGHT),
    ("discord", r"[MNO][A-Za-z0-9_-]{23,25}\.", _URLSAFE + r"{6}\." + _URLSAFE + "{27,38}"),
    ("webhook", r"hooks\.slack\.com/(?:services|workflows)/", r"[A-Za-z0-9/]{20,}+"),
    ("webhook", r"discord(?:app)?\.com/api/webhooks/", r"[0-9]{8,}+/" + _URLSAFE + "{20,}+"),
    ("webhook", r"/open-apis/bot/v2/hook/", r"[0-9a-f-]{20,}+"),
    ("jwt", "eyJ", _URLSAFE + r"{8,}+\.eyJ" + _URLSAFE + r"{4,}+\.[A-Za-z0-9_-]*+"),
)


class _Rule(NamedTuple):
    """``hints``: without one of them in the text (lower case) the pattern can't match."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replace: Callable[[re.Match[str]], str]


def _vendor(kind: str, starts: str, rest: str) -> _Rule:
    anywhere = starts.startswith(("hooks", "discord", "/", "(?<!"))
    pattern = re.compile(f"{'' if anywhere else _LEFT}(?P<start>{starts}){rest}")
    literals = starts.replace("\\", "").lower().split("|")
    hints = ("",) if re.search(r"[\[(]", starts) else tuple(literals)
    mask = f"[REDACTED:{kind}]"
    if kind == "webhook":
        return _Rule(hints, pattern, lambda match: match["start"] + mask)
    return _Rule(hints, pattern, lambda match: mask)


def _authorization(match: re.Match[str]) -> str:
    value = match["value"]
    plain = value.isalpha() and (value.islower() or value.istitle())
    if PLACEHOLDER.fullmatch(value) or plain or not (match["header"] or unlike_prose(value)):
        return match[0]
    return f"{match[0][: -len(value)]}[REDACTED:bearer]"


def _after_flag(match: re.Match[str]) -> str:
    value = match["value"]
    return match[0] if PLACEHOLDER.fullmatch(value) else f"{match['flag']}[REDACTED:password]"


def _password_in_url(match: re.Match[str]) -> str:
    if re.fullmatch(r"[<{$%*].*", match["value"]):
        return match[0]
    return f"{match['head']}[REDACTED:password]@"


_BREAK = r"(?:[\s|>]|\\[nr]|[0-9]{1,6}[\t:|])"
_PEM = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_BREAK}*+(?:[A-Z][A-Za-z-]{{3,20}}: [^\n\\]{{1,100}}|[A-Za-z0-9+/=]{{16,}}+))++"
    rf"(?:{_BREAK}*+(?:[A-Za-z0-9+/=]{{1,15}}+{_BREAK}*+)?-----END [A-Z0-9 ]{{1,40}}-----)?+"
)
_RULES = (
    _Rule(("private key",), _PEM, lambda match: "[REDACTED:private-key]"),
    *(_vendor(*row) for row in _VENDORS),
    _Rule(
        ("://",),
        re.compile(r"(?P<head>://[^\s:/@\"'<>]{0,100}:)(?P<value>[^\s/@\"'<>]{1,200}+)@"),
        _password_in_url,
    ),
    _Rule(
        ("bearer", "authorization"),
        re.compile(
            r"(?:\b(?P<header>(?:proxy-)?authorization)[\"']?[ \t]{0,4}+[:=][ \t]{0,4}+[\"']?"
            r"(?:(?:bearer|basic|token|apikey|bot)[ ])?+|\bbearer[ ])"
            r"(?P<value>[A-Za-z0-9._~+/=-]{12,}+)",
            re.IGNORECASE,
        ),
        _authorization,
    ),
    _Rule(
        ("--pass", "--token", "--api-key", "--secret"),
        re.compile(
            r"(?P<flag>--(?:password|passwd|token|api-key|secret)[ ]{1,4}+)"
            r"(?P<value>[^\s\"'-][^\s]{3,300}+)"
        ),
        _after_flag,
    ),
    _Rule(
        ("cookie:",),
        re.compile(r"(?P<head>\bcookie:[ ][^\s=;]{1,60}=)[^\s]{8,}+[^\r\n\"']*+", re.IGNORECASE),
        lambda match: f"{match['head']}[REDACTED:cookie]",
    ),
)
_HINTLESS = tuple(rule for rule in _RULES if "" in rule.hints)
_SOME_HINT = re.compile("|".join(re.escape(hint) for rule in _RULES for hint in rule.hints if hint))
"""Most texts hold no hint at all: one look instead of a hundred."""

_exact: set[str] = set()
_by_length: tuple[str, ...] = ()
_learning = Lock()
_SHORTEST_EXACT = 8
_LONGEST_EXACT = 8_192
_OFTEN_SEEN = 64
"""Characters up to which a text is likely to come again."""
_KEYS_THAT_OPEN_NOTHING = frozenset({"not-needed", "no-key-required", "lm-studio", "placeholder"})


def add_secret(value: str) -> None:
    """Mask this exact text from now on, in this process, also where it is escaped or quoted.

    Values under eight characters, and the words that local model servers take for a key, would
    eat innocent text: they stay as they are.
    """
    if len(value) < _SHORTEST_EXACT or value in _KEYS_THAT_OPEN_NOTHING or value in _exact:
        return
    with _learning:
        global _by_length  # noqa: PLW0603 - one set for the process
        forms = (value, json.dumps(value)[1:-1], quote(value, safe=""), html.escape(value))
        _exact.update(forms)
        _by_length = tuple(sorted(_exact, key=len, reverse=True))
        _redacted_again.cache_clear()
        _redacted_just_now.cache_clear()


def add_named(values: Mapping[str, object]) -> None:
    """Mask from now on the texts among some variables that their names call secrets."""
    for name, value in values.items():
        if type(value) is str and len(value) <= _LONGEST_EXACT and looks_secret(name, value):
            add_secret(value)


def known_secrets() -> tuple[str, ...]:
    """The texts that are masked by heart, the longest first."""
    return _by_length


def redact(text: str) -> str:
    """The text with every secret in it replaced by ``[REDACTED:kind]``."""
    return _redacted_again(text) if len(text) <= _OFTEN_SEEN else _redacted_just_now(text)


@lru_cache(maxsize=2048)
def _redacted_again(text: str) -> str:
    # Keys, names and ids pass here over and over, several for each event that is logged.
    return _redacted(text)


@lru_cache(maxsize=4)
def _redacted_just_now(text: str) -> str:
    # A tool's result passes here three times in a row: as an event, and twice in its message.
    return _redacted(text)


def _redacted(text: str) -> str:
    for secret in _by_length:
        text = text.replace(secret, "[REDACTED:secret]")
    lowered = text.replace("İ", "I").lower()  # the one letter that grows by it
    for rule in _RULES if _SOME_HINT.search(lowered) else _HINTLESS:
        if any(hint in lowered for hint in rule.hints):
            text = rule.pattern.sub(rule.replace, text)
    return mask_named(text, text.replace("İ", "I").lower())


def redact_json(value: Any) -> Any:
    """A JSON value with its strings redacted; what a key names as a secret is masked whole."""
    kind = type(value)  # asking the type first: this runs on every value that is logged
    if kind is str:
        return redact(value)
    if kind is dict or isinstance(value, Mapping):
        return {redact(str(key)): _under(str(key), item) for key, item in value.items()}
    if kind in _PLAIN:
        return value
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, (list, tuple)):
        return [redact_json(item) for item in value]
    return value


_PLAIN = frozenset({int, float, bool, type(None)})


def _under(key: str, value: Any) -> Any:
    kind = secret_kind(key) if isinstance(value, str) else None
    if kind is None or not value:
        return redact_json(value)
    word = kind == "token" and not random_looking(value)
    if word or PLACEHOLDER.fullmatch(value) or is_folder(key, value):
        return redact(value)
    return f"[REDACTED:{kind}]"
