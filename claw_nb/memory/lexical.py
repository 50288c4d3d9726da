"""How much of a question stands in each text: Okapi BM25 over any kind of terms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_ROW_BITS = np.uint64(24)
_ROW_MASK = np.uint64((1 << 24) - 1)
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The found share of a question, for each text: about 0 to 1.

    ``own`` by the text itself, ``window`` by it and the text before it in its session.
    """

    own: Floats
    window: Floats


class Bm25:
    """An inverted index that grows; ``terms`` cuts a text into terms.

    One posting is a 64-bit number, 40 bits of the term's hash over 24 bits of the text's row, so
    that the sorted array of them is the whole index: a term's postings are one slice of it.
    """

    def __init__(self, terms: Callable[[str], Sequence[str]]) -> None:
        self._terms = terms
        self._postings = np.empty(0, np.uint64)
        self._counts = np.empty(0, np.float32)
        self._lengths = np.empty(0, np.float32)

    def grown(self, texts: Sequence[str]) -> Bm25:
        """This index with more texts; this one stays as it is."""
        first = len(self._lengths)
        hashed = [_hashed(self._terms(text)) for text in texts]
        rows = (
            (terms << _ROW_BITS) | np.uint64(row) for row, terms in enumerate(hashed, start=first)
        )
        fresh, counts = np.unique(
            np.concatenate([np.empty(0, np.uint64), *rows]), return_counts=True
        )
        postings = np.concatenate([self._postings, fresh])
        order = np.argsort(postings, kind="stable")
        index = Bm25(self._terms)
        index._postings = postings[order]
        index._counts = np.concatenate([self._counts, counts.astype(np.float32)])[order]
        lengths = np.array([len(terms) for terms in hashed], np.float32)
        index._lengths = np.concatenate([self._lengths, lengths])
        return index

    def coverage(self, question: str, following: Rows) -> Coverage:
        """BM25 as a share of what a text of average length with every term once would score.

        A term that no text has counts in full, so that little found stays little.
        ``following[row]`` is the row that comes next in the same session, or -1.
        """
        size = len(self._lengths)
        own, window, both = (np.zeros(size, np.float32) for _ in range(3))
        before = np.zeros(size, np.float32)
        has_next = following >= 0
        before[following[has_next]] = self._lengths[has_next]
        flat, wide = _dampers(self._lengths), _dampers(self._lengths + before)
        best = 0.0
        for term, weight in Counter(self._terms(question)).items():
            rows, counts = self._matches(term)
            gain = weight * math.log(1 + (size - len(rows) + 0.5) / (len(rows) + 0.5))
            best += gain
            own[rows] += gain * counts * (_K1 + 1) / (counts + flat[rows])
            later = following[rows]
            both[rows] = counts
            both[later[later >= 0]] += counts[later >= 0]
            touched = np.concatenate([rows, later[later >= 0]])
            seen = both[touched]
            # A row that is touched twice gets the same sum twice, not two sums.
            window[touched] += gain * seen * (_K1 + 1) / (seen + wide[touched])
            both[touched] = 0
        best = max(best, 1e-6)
        return Coverage(own=own / best, window=window / best)

    def _matches(self, term: str) -> tuple[Rows, Floats]:
        key = _hashed([term])[0] << _ROW_BITS
        start = np.searchsorted(self._postings, key)
        stop = np.searchsorted(self._postings, key | _ROW_MASK, side="right")
        rows = (self._postings[start:stop] & _ROW_MASK).astype(np.int64)
        return rows, self._counts[start:stop]


def _hashed(terms: Sequence[str]) -> NDArray[np.uint64]:
    return np.fromiter(map(hash, terms), np.int64, len(terms)).view(np.uint64)


def _dampers(lengths: Floats) -> Floats:
    mean = max(float(lengths.mean()), 1e-6) if len(lengths) else 1.0
    return _K1 * (1 - _B + _B * lengths / np.float32(mean))
