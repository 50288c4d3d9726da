"""A search beside LanceDB's own bare vector and full-text queries over the same rows.

``--rows`` is the number of memories (100,000 is what the design promises; the first search, which
indexes them all, is shown on its own). Adding one memory is shown as well.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from lancedb.index import FTS

from claw_nb.core.records import Memory
from claw_nb.memory.embeddings import Background
from claw_nb.memory.memories import Memories

BOUND = 1.5
WORDS = ["".join(random.Random(n).choices("aeioulnrstmdkbp", k=4 + n % 7)) for n in range(20_000)]


class Drawn:
    """Vectors drawn at random, so that no model is measured."""

    name, dim = "drawn", 512
    background = Background(mean=0.0, spread=0.05)

    def documents(self, texts):
        drawn = np.random.default_rng(len(texts)).standard_normal((len(texts), self.dim))
        return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)

    def question(self, text):
        return self.documents([text])[0]


def note(dice: random.Random) -> str:
    """Words by Zipf's law, as many as a note has."""
    return " ".join(WORDS[min(int(dice.paretovariate(0.6)), 19_999)] for _ in range(24))


def p50(run, questions) -> float:
    times = []
    for question in questions:
        begun = time.perf_counter()
        run(question)
        times.append(time.perf_counter() - begun)
    return 1000 * statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    rows = given.rows or (2_000 if given.quick else 20_000)
    dice = random.Random(7)
    with tempfile.TemporaryDirectory() as scratch:
        memories = Memories(Path(scratch) / "memory", Path(scratch) / "lock", embedder=Drawn())
        for _ in range(0, rows, 5_000):
            some = range(min(5_000, rows))
            memories.add_many([Memory(id="", text=note(dice), created=1 + n) for n in some])
        memories.embed_pending()
        texts, vectors = memories._shelf._table._opened, memories._vectors.table._opened
        texts.create_index("text", config=FTS())
        begun = time.perf_counter()
        memories.search("warm up")
        first = time.perf_counter() - begun
        questions = [" ".join(note(dice).split()[:7]) for _ in range(40)]

        def bare(question):
            vectors.search(Drawn().question(question)).limit(50).to_arrow()
            texts.search(question, query_type="fts").limit(50).to_arrow()

        bare("warm up")
        ours, theirs = p50(memories.search, questions), p50(bare, questions)
        adding = p50(memories.add, [note(dice) for _ in range(30)])
    print(f"{rows:,} memories: search {ours:.1f} ms, LanceDB's bare queries {theirs:.1f} ms")
    print(f"ratio {ours / theirs:.2f} (bound {BOUND}); first search {first:.1f} s")
    print(f"adding one, vector pending: {adding:.1f} ms")
    return int(ours / theirs > BOUND)


if __name__ == "__main__":
    sys.exit(main())
