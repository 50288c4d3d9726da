"""One SQL query over what is kept and the user's frames, and its result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pyarrow as pa

from claw_nb.core.errors import ClawError, Denied, InvalidInput, StoreError
from claw_nb.store import catalog
from claw_nb.store.catalog import Snapshots
from claw_nb.store.duck import open_duckdb
from claw_nb.store.home import Home
from claw_nb.store.views import VIEWS

if TYPE_CHECKING:
    import pandas as pd

Trust = Literal["user", "agent"]
"""Whose SQL it is: a user's may do anything, an agent's may only look at what is in the views."""


_DIALECT = "Check the SQL; it is DuckDB's dialect."


AGENT_ROWS = 10_001
"""Rows that an agent's query gives at most: it runs unasked, in the memory of the user's kernel."""


class Result:
    """Rows in memory, in the order of the query."""

    def __init__(self, table: pa.Table, types: tuple[str, ...]) -> None:
        self.table = table
        self.types = types

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.column_names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def rows(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """The rows, or the first ``limit`` of them, as Python values."""
        head = self.table if limit is None else self.table.slice(0, limit)
        columns = [column.to_pylist() for column in head.columns]
        return list(zip(*columns, strict=True)) if columns else []

    def df(self) -> pd.DataFrame:
        """The rows as a pandas data frame (pandas must be installed)."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    @property
    def relation(self) -> duckdb.DuckDBPyRelation:
        """The rows as a DuckDB relation, to query further."""
        return open_duckdb().from_arrow(self.table)


async def query(
    sql: str, *, snapshots: Snapshots, home: Home, frames: Mapping[str, object], trust: Trust
) -> Result:
    """Run the query in a thread; cancelling it interrupts DuckDB.

    Raises InvalidInput when the SQL is wrong and Denied when an agent's SQL is more than a look.
    """
    words = set(re.findall(r"\w+", sql.lower()))
    used = {name: frame for name, frame in frames.items() if name.lower() in words}
    if trust == "agent":
        _check_is_a_look(sql)

    def connect() -> duckdb.DuckDBPyConnection:
        access: catalog.Access = "none" if trust == "agent" else "files"
        return catalog.connection(snapshots, home, frames=used, access=access, words=words)

    most = AGENT_ROWS if trust == "agent" else None
    try:
        try:
            return await _run(connect, sql, most)
        except duckdb.IOException as error:
            if str(home.lake) not in str(error):
                raise
            # The manifest was read, and then its files were merged and swept: read it again.
            return await _run(connect, sql, most)
    except duckdb.Error as error:
        raise _explained(error, home, words, used) from error


async def _run(
    connect: Callable[[], duckdb.DuckDBPyConnection], sql: str, most: int | None
) -> Result:
    opened: list[duckdb.DuckDBPyConnection] = []
    wanted = True

    def work() -> Result:
        opened.append(connect())
        return _rows(opened[0], sql, most) if wanted else Result(pa.table({}), ())

    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        wanted = False
        while not running.done():
            # Again and again: an interruption just before the query begins is forgotten.
            for duck in opened:
                duck.interrupt()
            await asyncio.wait([running], timeout=0.05)
        running.exception()  # seen, so that it is not reported as forgotten
        raise
    finally:
        for duck in opened:
            duck.close()


def _rows(duck: duckdb.DuckDBPyConnection, sql: str, most: int | None) -> Result:
    # The stubs leave out that a statement without rows gives None.
    relation: duckdb.DuckDBPyRelation | None = duck.sql(sql)
    if relation is None:
        return Result(pa.table({}), ())
    if most is not None:
        relation = relation.limit(most)
    return Result(relation.to_arrow_table(), tuple(str(kind) for kind in relation.types))


def _check_is_a_look(sql: str) -> None:
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.ParserException as error:
        raise InvalidInput(str(error), hint=_DIALECT) from error
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise Denied(
            "Only one SELECT (or DESCRIBE, SHOW, SUMMARIZE) at a time is allowed here.",
            hint="Ask for rows; to change something use the tool that is made for it.",
        )


def _explained(
    error: duckdb.Error, home: Home, words: set[str], frames: Mapping[str, object]
) -> ClawError:
    message, hint = str(error).strip(), _DIALECT
    match error:
        case duckdb.IOException() if str(home.lake) in message:
            lost = "A file of the log is missing or damaged. Put it back from a backup."
            return StoreError(message, hint=lost)
        case duckdb.PermissionException():
            return Denied(
                message, hint=f"This SQL may read these views and no files: {', '.join(VIEWS)}."
            )
        case duckdb.CatalogException():
            known = ", ".join([*VIEWS, *frames])
            hint = f"You can query: {known}; and any data frame by its variable's name."
        case duckdb.BinderException():
            named = [name for name in VIEWS if name in words]
            columns = [f"{name} has: {', '.join(VIEWS[name].columns)}." for name in named]
            hint = "\n".join(columns) or hint
    return InvalidInput(message, hint=hint)
