"""The vectors of one model, filled in after the memories were kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from claw_nb.core.records import Memory
from claw_nb.memory.embeddings import Embedder
from claw_nb.memory.rows import indexed_text
from claw_nb.memory.table import KEY, Table

Floats = NDArray[np.float32]


_KEYED = pa.schema([pa.field("id", pa.string(), nullable=False, metadata=KEY)])


def forget(folder: Path, ids: Sequence[str]) -> None:
    """Remove the vectors of these memories, of every model; runs under the lock."""
    for path in folder.glob("vectors_*.lance"):
        Table(folder, path.stem, _KEYED).delete(ids)


class Vectors:
    """``vectors_<model>.lance``: id, the memory's ``updated`` that the vector belongs to, vector."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.embedder = embedder
        self._vector = pa.list_(pa.float32(), embedder.dim)
        schema = pa.schema(
            [
                pa.field("id", pa.string(), nullable=False, metadata=KEY),
                pa.field("updated", pa.int64()),
                pa.field("model", pa.string()),
                pa.field("dim", pa.int32()),
                pa.field("vector", self._vector),
            ]
        )
        self.table = Table(folder, f"vectors_{embedder.name}", schema)

    @property
    def version(self) -> int:
        """Rises with every change."""
        return self.table.version

    def pending(self, memories: Sequence[Memory]) -> list[Memory]:
        """Those that have no vector yet, or one of an older text."""
        known = self.table.read(columns=["id", "updated"])
        done = dict(zip(known["id"].to_pylist(), known["updated"].to_pylist(), strict=True))
        return [memory for memory in memories if done.get(memory.id) != memory.updated]

    def of(self, memories: Sequence[Memory]) -> Floats:
        """The vectors of memories, not kept yet."""
        return self.embedder.documents([indexed_text(memory) for memory in memories])

    def put(self, memories: Sequence[Memory], vectors: Floats) -> None:
        """Keep the vectors of memories; runs under the lock."""
        flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
        rows = pa.Table.from_arrays(
            [
                pa.array([memory.id for memory in memories], pa.string()),
                pa.array([memory.updated for memory in memories], pa.int64()),
                pa.array([self.embedder.name] * len(memories), pa.string()),
                pa.array([self.embedder.dim] * len(memories), pa.int32()),
                pa.FixedSizeListArray.from_arrays(flat, type=self._vector),
            ],
            schema=self.table.schema,
        )
        self.table.upsert(rows)
        self.table.maintain()

    def matrix(self, rows: dict[str, int]) -> tuple[Floats, NDArray[np.bool_]]:
        """The vectors at their memories' rows (id to row), and which rows have one."""
        found = self.table.read(columns=["id", "vector"])
        matrix = np.zeros((len(rows), self.embedder.dim), np.float32)
        known = np.zeros(len(rows), np.bool_)
        places = np.array([rows.get(id_, -1) for id_ in found["id"].to_pylist()], np.int64)
        if len(places):
            flat = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            vectors = cast(Floats, flat).reshape(-1, self.embedder.dim)
            here = places >= 0
            matrix[places[here]] = vectors[here]
            known[places[here]] = True
        return matrix, known
