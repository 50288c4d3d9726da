"""The memories of an agent as they are searched, in step with what is on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from claw_nb.core.protocols import MemoryHit
from claw_nb.core.records import Memory
from claw_nb.memory.corpus import Corpus
from claw_nb.memory.recall import WEIGHTS, Likeness, Ranking, diverse, rank
from claw_nb.memory.shelf import Shelf
from claw_nb.memory.vectors import Floats, Vectors

_POOL = 50
"""How many of the best are looked at for variety."""


class Index:
    """Reads the tables again when their version has changed, and then only indexes what is new."""

    def __init__(self, shelf: Shelf, vectors: Vectors | None) -> None:
        self._shelf = shelf
        self._vectors = vectors
        self._refreshing = threading.Lock()
        self._corpus = Corpus()
        self._matrix: tuple[Floats, NDArray[np.bool_]] | None = None
        self._seen = (-1, -1)

    def search(
        self,
        query: str,
        *,
        limit: int,
        fits: Callable[[Memory], bool],
        now: int,
        as_of: int | None,
    ) -> list[MemoryHit]:
        """The best hits among the memories that fit."""
        corpus, likeness = self._prepared(query)
        if not corpus.memories:
            return []
        ranking = rank(corpus, query, now=now if as_of is None else as_of, likeness=likeness)
        fitting = (
            int(row)
            for row in np.argsort(-ranking.scores, kind="stable")
            if (likeness or ranking.coverage[row] > 0)
            and (as_of is None or corpus.created[row] <= as_of)
            and fits(corpus.memories[row])
        )
        pool = list(islice(fitting, max(_POOL, limit)))
        texts = [corpus.memories[row].text for row in pool]
        scores = [float(ranking.scores[row]) for row in pool]
        picked = diverse(texts, scores, limit, WEIGHTS.relevance)
        return [_hit(corpus, ranking, pool[i]) for i in picked]

    def _prepared(self, query: str) -> tuple[Corpus, Likeness | None]:
        corpus, matrix = self._fresh()
        if self._vectors is None or matrix is None or not matrix[1].any():
            return corpus, None
        embedder = self._vectors.embedder
        cosines = matrix[0] @ embedder.question(query)
        return corpus, Likeness(cosines=cosines, known=matrix[1], background=embedder.background)

    def _fresh(self) -> tuple[Corpus, tuple[Floats, NDArray[np.bool_]] | None]:
        with self._refreshing:
            # The versions come first: what is written meanwhile is then read once more, not missed.
            seen = (self._shelf.version, self._vectors.version if self._vectors else 0)
            if seen[0] != self._seen[0]:
                self._corpus = self._corpus.at(self._shelf.all())
            if self._vectors and seen != self._seen:
                self._matrix = self._vectors.matrix(self._corpus.rows)
            self._seen = seen
            return self._corpus, self._matrix


def _hit(corpus: Corpus, ranking: Ranking, row: int) -> MemoryHit:
    memory = corpus.memories[row]
    return MemoryHit(
        id=memory.id,
        text=memory.text,
        score=round(float(np.clip(ranking.scores[row], 0, 1)), 4),
        weak=ranking.is_weak(row),
        category=memory.category,
        tags=memory.tags,
        source=memory.source,
        session_id=memory.session_id,
        created=datetime.fromtimestamp(memory.created / 1e6, UTC).isoformat(timespec="seconds"),
        why=ranking.why(row),
    )
