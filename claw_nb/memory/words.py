"""The terms that a text is found by: its words and its letters, in any script."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from claw_nb.memory.stopwords import STOPWORDS

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_RUN = re.compile(rf"[{CJK}]+|[^\W{CJK}]+")
_IS_CJK = re.compile(f"[{CJK}]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GRAM = 4


def words(text: str) -> list[str]:
    """Words without accents and case; identifiers whole and in parts; CJK runs as bigrams."""
    found: list[str] = []
    for run in _RUN.findall(plain(text)):
        if _IS_CJK.match(run):
            found += _bigrams(run)
            continue
        found.append(run.casefold())
        parts = _PART.findall(run) if run.isascii() else []
        if len(parts) > 1:
            found += [part.lower() for part in parts]
    return found


def grams(text: str) -> list[str]:
    """The four-letter pieces of each word with its edges; CJK runs as bigrams as well.

    They forgive typos and endings in any language, and need no list of words.
    """
    found: list[str] = []
    for run in _RUN.findall(plain(text).casefold()):
        padded = f" {run} "
        found += [padded[i : i + _GRAM] for i in range(max(1, len(padded) - _GRAM + 1))]
        if _IS_CJK.match(run):
            found += _bigrams(run)
    return found


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def asked(question: str) -> str:
    """The question without the small words of its language; the question when nothing is left.

    They are rare in notes, so that BM25 would take "what" for the word that matters.
    """
    runs = _RUN.findall(plain(question))
    folded = [run.casefold() for run in runs]
    language = max(STOPWORDS, key=lambda name: sum(word in STOPWORDS[name] for word in folded))
    small = STOPWORDS[language]
    kept = [run for run, word in zip(runs, folded, strict=True) if word not in small]
    return " ".join(kept) or question


def plain(text: str) -> str:
    """Compatibility forms unified and accents dropped ("Ｃａｆé" is "Cafe"); kana keep theirs."""
    if text.isascii():
        return text
    return "".join(map(_unaccented, unicodedata.normalize("NFKC", text)))


@lru_cache(maxsize=4096)
def _unaccented(char: str) -> str:
    if unicodedata.category(char).startswith("M"):
        return ""
    first = unicodedata.normalize("NFD", char)[0]
    return first if first < "\u0530" else char  # Latin, Greek and Cyrillic letters
