"""Where the memories of an agent stand, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from claw_nb.core.records import Memory
from claw_nb.memory import vectors
from claw_nb.memory.rows import SCHEMA, digest, from_rows, to_rows
from claw_nb.memory.table import Table, quoted

_CHUNK = 1000
"""Strings in one SQL condition."""


class Shelf:
    """Reading needs no lock; what changes something runs under the one lock of the folder."""

    def __init__(self, folder: Path, *, agent: str) -> None:
        self._folder = folder
        self._mine = f"agent = {quoted(agent)} AND status = 'active'"
        self._table = Table(folder, "memories", SCHEMA)

    @property
    def version(self) -> int:
        """Rises with every change."""
        return self._table.version

    def all(self) -> list[Memory]:
        """Every memory."""
        return from_rows(self._table.read(where=self._mine))

    def newest(self, limit: int, offset: int, *, category: str | None) -> list[Memory]:
        """A page of them, the latest first."""
        where = self._where(category)
        keys = self._table.read(columns=["id", "created"], where=where)
        keys = keys.sort_by([("created", "descending"), ("id", "descending")])
        ids = keys["id"].slice(offset, limit).to_pylist()
        found = {memory.id: memory for memory in self._among(ids=ids)}
        return [found[id_] for id_ in ids if id_ in found]

    def count(self, *, category: str | None) -> int:
        """How many there are."""
        return len(self._table.read(columns=["id"], where=self._where(category)))

    def beginning_with(self, id_: str) -> list[Memory]:
        """Those whose id begins so."""
        condition = f"{self._mine} AND starts_with(id, {quoted(id_)})"
        return from_rows(self._table.read(where=condition))

    def sorted_out(self, memories: Sequence[Memory]) -> tuple[tuple[Memory, ...], list[Memory]]:
        """For each memory the one that stands for it, and which of them are new."""
        keys = [digest(memory) for memory in memories]
        there = self._among(ids=[memory.id for memory in memories], digests=keys)
        known = {memory.id: memory for memory in there}
        said = {digest(memory): memory for memory in there}
        kept, fresh = list[Memory](), list[Memory]()
        for memory, key in zip(memories, keys, strict=True):
            first = known.get(memory.id) or said.get(key)
            if first is None:
                first = known[memory.id] = said[key] = memory
                fresh.append(memory)
            kept.append(first)
        return tuple(kept), fresh

    def put(self, memories: Sequence[Memory]) -> None:
        """Add memories; known ids stay."""
        self._table.insert(to_rows(memories))
        self._table.maintain()

    def drop(self, ids: Sequence[str]) -> None:
        """Remove memories, and their vectors of whichever model."""
        self._table.delete(ids)
        vectors.forget(self._folder, ids)

    def mend(self, alive: Sequence[Memory], gone: Sequence[str]) -> int:
        """Add what is missing and remove what should be gone, of all agents; how many that were."""
        ids = set(self._table.read(columns=["id"])["id"].to_pylist())
        missing = [memory for memory in alive if memory.id not in ids]
        left_over = [id_ for id_ in gone if id_ in ids]
        if missing:
            self.put(missing)
        self.drop(left_over)
        return len(missing) + len(left_over)

    def _where(self, category: str | None) -> str:
        return f"{self._mine} AND category = {quoted(category)}" if category else self._mine

    def _among(self, *, ids: Sequence[str], digests: Sequence[str] = ()) -> list[Memory]:
        """The memories with one of these ids or digests."""
        found = [
            self._table.read(where=f"{self._mine} AND ({condition})")
            for start in range(0, max(len(ids), len(digests)), _CHUNK)
            if (condition := _one_of(id=ids[start:][:_CHUNK], digest=digests[start:][:_CHUNK]))
        ]
        return from_rows(pa.concat_tables(found)) if found else []


def _one_of(**wanted: Sequence[str]) -> str:
    return " OR ".join(
        f"{column} IN ({', '.join(map(quoted, values))})"
        for column, values in wanted.items()
        if values
    )
