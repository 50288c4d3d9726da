"""All memories of an agent, in arrays and indexes, as they were at one version of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from claw_nb.core.records import Memory
from claw_nb.memory.lexical import Bm25
from claw_nb.memory.rows import indexed_text
from claw_nb.memory.words import grams, words

Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Row i of every array and index belongs to ``memories[i]``."""

    memories: tuple[Memory, ...] = ()
    words: Bm25 = field(default_factory=lambda: Bm25(words))
    grams: Bm25 = field(default_factory=lambda: Bm25(grams))

    def at(self, memories: Sequence[Memory]) -> Corpus:
        """The corpus of these memories; what this one has indexed is not indexed again."""
        now = {memory.id: memory for memory in memories}
        if any(now.get(memory.id) != memory for memory in self.memories):
            return Corpus().at(memories)
        known = {memory.id for memory in self.memories}
        new = sorted((m for m in memories if m.id not in known), key=lambda m: (m.created, m.id))
        texts = [indexed_text(memory) for memory in new]
        return replace(
            self,
            memories=(*self.memories, *new),
            words=self.words.grown(texts),
            grams=self.grams.grown(texts),
        )

    @cached_property
    def rows(self) -> dict[str, int]:
        """Id to row."""
        return {memory.id: row for row, memory in enumerate(self.memories)}

    @cached_property
    def created(self) -> Rows:
        """UTC microseconds."""
        return np.array([memory.created for memory in self.memories], np.int64)

    @cached_property
    def following(self) -> Rows:
        """The row of the next turn in the same session, or -1."""
        turns = sorted(
            (memory.session_id, memory.position, row)
            for row, memory in enumerate(self.memories)
            if memory.session_id is not None and memory.position is not None
        )
        next_ = np.full(len(self.memories), -1, np.int64)
        for (session, _, row), (same, _, later) in pairwise(turns):
            if session == same:
                next_[row] = later
        return next_

    @cached_property
    def preceding(self) -> Rows:
        """The row of the turn before in the same session, or -1."""
        before = np.full(len(self.memories), -1, np.int64)
        rows = np.flatnonzero(self.following >= 0)
        before[self.following[rows]] = rows
        return before

    @cached_property
    def is_turn(self) -> NDArray[np.bool_]:
        """Whether a memory is a turn of a transcript."""
        return np.array([memory.position is not None for memory in self.memories], np.bool_)

    @cached_property
    def asks(self) -> NDArray[np.bool_]:
        """Turns that ask: the answer stands in the next one."""
        ends = [memory.text.rstrip().endswith(("?", "？")) for memory in self.memories]
        return np.array(ends, np.bool_) & self.is_turn

    @cached_property
    def lasting(self) -> NDArray[np.bool_]:
        """What doesn't fade with age: preferences and decisions."""
        kinds = [memory.category in ("preference", "decision") for memory in self.memories]
        return np.array(kinds, np.bool_)

    @cached_property
    def speakers(self) -> NDArray[np.str_]:
        """Who said it, in lower case."""
        return np.array([memory.speaker.casefold() for memory in self.memories], np.str_)

    @cached_property
    def known_speakers(self) -> tuple[str, ...]:
        """Every speaker once."""
        return tuple(sorted({str(name) for name in self.speakers} - {""}))
