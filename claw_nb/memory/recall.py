"""Which memories answer a question: several weak signals, fused on one scale, each explained."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from claw_nb.memory.corpus import Corpus
from claw_nb.memory.embeddings import Background
from claw_nb.memory.words import asked

Floats = NDArray[np.float32]

DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How much each signal counts, and where a hit begins to be a weak one.

    Words and grams come twice: in the text alone, and together with the turn before it. The
    numbers were found on conversations and notes as a whole, not on single questions.
    """

    words: float = 0.5
    words_window: float = 0.3
    grams: float = 0.8
    grams_window: float = 0.5
    vector: float = 0.8
    neighbour: float = 0.3
    answer: float = 0.2
    question: float = 0.15
    speaker: float = 0.1
    fading: float = 0.1
    half_life_days: float = 30.0
    relevance: float = 0.7
    weak_coverage: float = 0.12
    weak_standing: float = 2.0

    @property
    def lexical(self) -> float:
        """All that words and grams can give."""
        return self.words + self.words_window + self.grams + self.grams_window


WEIGHTS = Weights()


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """The cosines of a question with the memories whose vector is ``known``."""

    cosines: Floats
    known: NDArray[np.bool_]
    background: Background


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Scores of all rows: the sum of ``parts``; about 1 is a memory that says all that is asked.

    ``coverage`` is the found share of the question, ``standing`` the vector's, in standard
    deviations.
    """

    parts: Mapping[str, Floats]
    coverage: Floats
    standing: Floats
    weights: Weights

    @cached_property
    def scores(self) -> Floats:
        """Higher is better."""
        return _sum(self.parts)

    def why(self, row: int) -> dict[str, float]:
        """What each signal gave to a row."""
        shares = {name: round(float(part[row]), 4) for name, part in self.parts.items()}
        return {name: share for name, share in shares.items() if share}

    def is_weak(self, row: int) -> bool:
        """Whether a row may well have nothing to do with the question."""
        little = self.coverage[row] < self.weights.weak_coverage
        return bool(little and self.standing[row] < self.weights.weak_standing)


def rank(
    corpus: Corpus,
    question: str,
    *,
    now: int,
    likeness: Likeness | None = None,
    weights: Weights = WEIGHTS,
) -> Ranking:
    """Score every memory for a question asked at ``now`` (UTC microseconds)."""
    w = weights
    words = corpus.words.coverage(asked(question), corpus.following)
    grams = corpus.grams.coverage(question, corpus.following)
    standing = _standing(likeness) if likeness else np.zeros(len(corpus.memories), np.float32)
    parts: dict[str, Floats] = {
        "words": w.words * words.own + w.words_window * words.window,
        "ngrams": w.grams * grams.own + w.grams_window * grams.window,
        "vector": np.float32(w.vector / 4) * standing,
        "speaker": w.speaker * _named_speaker(corpus, question),
    }
    coverage = (parts["words"] + parts["ngrams"]) / w.lexical
    parts["neighbours"] = _neighbours(corpus, _sum(parts), w)
    parts["question"] = -w.question * corpus.asks.astype(np.float32)
    parts["age"] = _age(corpus, _sum(parts), now, w)
    most = (w.lexical + (w.vector if likeness else 0)) * (1 + w.neighbour)
    return Ranking(
        parts={name: (part / most).astype(np.float32) for name, part in parts.items()},
        coverage=coverage,
        standing=standing,
        weights=w,
    )


def _sum(parts: Mapping[str, Floats]) -> Floats:
    total: Floats = np.sum(list(parts.values()), axis=0, dtype=np.float32)
    return total


_BACKGROUND_TEXTS = 30
"""How many texts the model's background counts for, beside the ones that are there."""


def _standing(likeness: Likeness) -> Floats:
    """How many standard deviations a cosine stands above the others'; 0 without a vector.

    No fixed floor: cosines of different models lie in different ranges.
    """
    known, background = likeness.known, likeness.background
    cosines = likeness.cosines[known]
    size, prior = len(cosines), _BACKGROUND_TEXTS
    mean = (float(cosines.sum()) + prior * background.mean) / (size + prior)
    square = float(((cosines - mean) ** 2).sum()) + prior * background.spread**2
    spread = (square / (size + prior)) ** 0.5
    return np.where(known, (likeness.cosines - mean) / spread, 0).astype(np.float32)


def _named_speaker(corpus: Corpus, question: str) -> Floats:
    """1 where the one speaker that the question names is speaking."""
    folded = question.casefold()
    named = [name for name in corpus.known_speakers if re.search(rf"\b{re.escape(name)}\b", folded)]
    if len(named) != 1:
        return np.zeros(len(corpus.memories), np.float32)
    speaks: Floats = (corpus.speakers == named[0]).astype(np.float32)
    return speaks


def _neighbours(corpus: Corpus, text: Floats, w: Weights) -> Floats:
    """A turn takes over a share of the better neighbour's score, and more from a question before.

    A note has no neighbours and stands in for them itself, so that it isn't behind by them.
    """
    if not len(text):
        return text
    low = text.min()
    before = np.where(corpus.preceding >= 0, text[corpus.preceding], low)
    after = np.where(corpus.following >= 0, text[corpus.following], low)
    best = np.where(corpus.is_turn, np.maximum(before, after), text)
    own = text + w.neighbour * best
    lifted = np.where(corpus.preceding >= 0, own[corpus.preceding], low) - own.min()
    answers = (corpus.preceding >= 0) & corpus.asks[corpus.preceding]
    share = w.neighbour * best + np.where(answers, w.answer * lifted, 0)
    return share.astype(np.float32)


def _age(corpus: Corpus, total: Floats, now: int, w: Weights) -> Floats:
    """What age takes away: never more than a tenth, and nothing from what lasts."""
    days = np.maximum(now - corpus.created, 0) / DAY
    lost = w.fading * (1 - 0.5 ** (days / w.half_life_days))
    floor = min(float(total.min(initial=0)), 0.0)
    return np.where(corpus.lasting, 0, -lost * (total - floor)).astype(np.float32)


def diverse(
    texts: Sequence[str], scores: Sequence[float], limit: int, relevance: float
) -> list[int]:
    """Maximal marginal relevance: which texts to show, in order, so that none says another again.

    Carbonell & Goldstein (SIGIR 1998), with the words in common over all words as likeness.
    """
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    scaled = [(score - low) / ((high - low) or 1.0) for score in scores]
    bags = [frozenset(re.findall(r"\w{3,}", text.casefold())) for text in texts]
    closest = [0.0] * len(texts)
    left, picked = list(range(len(texts))), list[int]()
    while left and len(picked) < limit:
        best = max(left, key=lambda i: relevance * scaled[i] - (1 - relevance) * closest[i])
        left.remove(best)
        picked.append(best)
        for i in left:
            union = len(bags[i] | bags[best]) or 1
            closest[i] = max(closest[i], len(bags[i] & bags[best]) / union)
    return picked
