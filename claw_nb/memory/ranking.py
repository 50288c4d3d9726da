"""Putting texts in order by how much of a question stands in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from claw_nb.memory.lexical import Bm25
from claw_nb.memory.words import words


def ranked(texts: Sequence[str], question: str) -> list[tuple[int, float]]:
    """The places of the texts that hold any of it, with their scores (0 to about 1), best first."""
    if not texts:
        return []
    alone = np.full(len(texts), -1, np.int64)
    scores = Bm25(words).grown(texts).coverage(question, alone).own
    order = np.argsort(-scores, kind="stable")
    return [(int(at), float(scores[at])) for at in order if scores[at] > 0]
