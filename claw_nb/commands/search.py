"""Finding what was once said: a prefilter in SQL, then BM25 over what is left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from claw_nb.core.redact import redact
from claw_nb.memory.words import asked, plain, words
from claw_nb.workspace import Workspace

_CANDIDATES = 5_000
"""Messages that are ranked at most, the latest ones that hold any of the words."""

_AROUND = 90
"""Characters of an excerpt before and after the first word that was found."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """A message that fits, with the place in it that does."""

    session_id: str
    title: str
    role: str
    ts: datetime
    score: float
    excerpt: str


def search(work: Workspace, question: str, *, limit: int, offset: int = 0) -> list[Said]:
    """The messages that fit best, best first."""
    # It brings numpy, which no other command needs.
    from claw_nb.memory.ranking import ranked  # noqa: PLC0415

    terms = list(dict.fromkeys(words(asked(question))))
    if not terms:
        return []
    sql = _SEARCH.format(any=" OR ".join([_HOLDS] * len(terms)), limit=_CANDIDATES)
    rows = work.store.select(sql, [_pattern(term) for term in terms])
    texts = [_text(row["text"], row["role"], row["data"]) for row in rows]
    return [
        Said(
            session_id=rows[at]["session_id"],
            title=rows[at]["title"] or "",
            role=rows[at]["role"],
            ts=rows[at]["ts"],
            score=score,
            excerpt=redact(excerpt(texts[at], terms)),
        )
        for at, score in ranked(texts, " ".join(terms))[offset : offset + limit]
    ]


_SEARCH = """
    SELECT session_id, title, role, ts, text, data FROM (
        SELECT *, lower(strip_accents(text || ' ' || data)) AS words FROM (
            SELECT m.session_id, s.title, m.role, m.ts, m.seq, coalesce(m.text, '') AS text,
                CASE WHEN m.role = 'assistant' THEN m.data::VARCHAR ELSE '' END AS data
            FROM messages m JOIN sessions s ON s.id = m.session_id))
    WHERE {any} ORDER BY seq DESC LIMIT {limit}
"""
_HOLDS = "words LIKE ? ESCAPE '!'"


def _pattern(term: str) -> str:
    for char in "!%_":
        term = term.replace(char, f"!{char}")
    return f"%{term}%"


def _text(text: str, role: str, data: str) -> str:
    """The words of a message, and what it called which tool with."""
    if role != "assistant" or '"tool_call"' not in data:
        return text
    parts: Sequence[Mapping[str, Any]] = json.loads(data).get("parts", ())
    calls = [
        f"{part['name']} {json.dumps(part.get('arguments', {}), ensure_ascii=False)}"
        for part in parts
        if part.get("type") == "tool_call"
    ]
    return "\n".join([text, *calls]) if text else "\n".join(calls)


def excerpt(text: str, terms: Sequence[str]) -> str:
    """The text around the first of the terms that stands in it, on one line."""
    folded = plain(text).casefold()
    # Folding may change lengths a little; an excerpt need not be exact to the letter.
    found = [at for term in terms if (at := folded.find(term)) >= 0]
    at = min(min(found, default=0), len(text))
    start, stop = max(0, at - _AROUND), min(len(text), at + _AROUND)
    line = " ".join(text[start:stop].split())
    return f"{'…' if start else ''}{line}{'…' if stop < len(text) else ''}"
