"""A LanceDB table that several processes may write to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("LANCE_LOG", "error")  # the Rust side warns on stderr at every query

import lancedb
import pyarrow as pa

from claw_nb.core.errors import StoreError

#: Declares the primary key in the moment of creation. Without it, processes that merge the same
#: new key at once each add a row, and nobody is told.
KEY = {b"lance-schema:unenforced-primary-key:position": b"1"}

_FRAGMENTS = 50
"""Each write adds a fragment, and many of them make every query slow."""

_KEEP = timedelta(hours=24)
"""Versions younger than an hour may belong to a slow writer: cleaning them loses rows."""


class Table:
    """``<folder>/<name>.lance`` with the string column ``id`` as its key.

    Every method that changes it must run under the one lock of all tables in the folder.
    Reading needs no lock, and a table that isn't there yet reads as an empty one.
    """

    def __init__(self, folder: Path, name: str, schema: pa.Schema) -> None:
        self.path = folder / f"{name}.lance"
        self.schema = schema
        self._folder = folder
        self._name = name

    @cached_property
    def _database(self) -> Any:
        # Interval 0: otherwise a handle never sees what another process commits.
        return lancedb.connect(self._folder, read_consistency_interval=timedelta(0))

    @cached_property
    def _opened(self) -> Any:
        return self._database.open_table(self._name)

    @property
    def version(self) -> int:
        """Rises with every change; 0 while there is no table."""
        if not self.path.exists():
            return 0
        with self._explained():
            return int(self._opened.version)

    def read(self, *, columns: Sequence[str] | None = None, where: str | None = None) -> pa.Table:
        """The rows that fit a SQL condition, in no order that could be relied on."""
        if not self.path.exists():
            empty = self.schema.empty_table()
            return empty.select(columns) if columns else empty
        with self._explained():
            query = self._opened.search()
            query = query.where(where) if where else query
            return (query.select(list(columns)) if columns else query).to_arrow()

    def insert(self, rows: pa.Table) -> None:
        """Add the rows whose id is new; known ids stay as they are."""
        with self._explained():
            merge = self._for_writing().merge_insert("id")
            merge.when_not_matched_insert_all().execute(rows)

    def upsert(self, rows: pa.Table) -> None:
        """Add the rows whose id is new, and replace the others."""
        with self._explained():
            merge = self._for_writing().merge_insert("id").when_matched_update_all()
            merge.when_not_matched_insert_all().execute(rows)

    def delete(self, ids: Sequence[str]) -> None:
        """Remove the rows with these ids; unknown ids are fine."""
        if ids and self.path.exists():
            with self._explained():
                self._opened.delete(f"id IN ({', '.join(map(quoted, ids))})")

    def maintain(self) -> None:
        """Put many small files together when that is due."""
        with self._explained():
            if self._opened.stats()["fragment_stats"]["num_fragments"] >= _FRAGMENTS:
                self._opened.optimize(cleanup_older_than=_KEEP)

    def _for_writing(self) -> Any:
        if not self.path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            self._database.create_table(self._name, schema=self.schema, exist_ok=True)
        return self._opened

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError, ValueError) as error:  # LanceDB has no error of its own
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise StoreError(
                f"the memories in {self.path} cannot be used: {reason}",
                hint="`claw memory rebuild` makes them anew from the log.",
            ) from error


def quoted(value: str) -> str:
    """A string as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
