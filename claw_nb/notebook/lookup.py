"""`%claw sql`: the log, the memories and the user's data frames in one DuckDB, shown as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from claw_nb.notebook.chart import svg
from claw_nb.notebook.question import Query
from claw_nb.notebook.style import framed
from claw_nb.notebook.table import table
from claw_nb.store.frames import frames

if TYPE_CHECKING:
    from claw_nb.store import Store
    from claw_nb.store.query import Result

CHARTED = 5000
"""Rows that a chart draws at most."""


class Rows:
    """The rows of a query, which show themselves as a table or a chart.

    ``.df()`` is a pandas data frame, ``.relation`` a DuckDB relation to query further, ``.table``
    a pyarrow table, ``.rows()`` are Python tuples.
    """

    def __init__(self, result: Result, query: Query) -> None:
        self._result = result
        self._query = query

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._result, name)

    def __len__(self) -> int:
        return len(self._result)

    def __repr__(self) -> str:
        return self._table()["text/plain"]

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        shown = self._table()
        if self._query.chart is None:
            return shown
        picture = svg(self._result.columns, self._result.rows(CHARTED), self._query.chart)
        return {"text/html": framed(picture, label="Chart"), "text/plain": shown["text/plain"]}

    def _table(self) -> dict[str, str]:
        limit, total = self._query.limit, len(self._result)
        note = ""
        if total > limit:
            note = f"{limit} of {total:,} rows; --limit shows more, .df() has them all."
        elif total == 0:
            note = "No rows."
        return table(self._result.columns, self._result.rows(limit), note=note)


async def look_up(store: Store, query: Query, namespace: Mapping[str, object]) -> Rows:
    """Run a query of the user's; raises InvalidInput when the SQL is wrong."""
    rows = Rows(await store.query(query.sql, frames=frames(namespace)), query)
    if query.chart is not None:
        # What can't be drawn should end this cell, and not the display of its result.
        svg(rows.columns, rows.rows(CHARTED), query.chart)
    return rows
