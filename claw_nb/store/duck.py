"""DuckDB as we open it: in memory, with what its wheel carries and nothing fetched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb


def open_duckdb(
    path: Path | None = None, *, temporary: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection that never looks for extensions, nor for variables of its caller.

    What does not fit into memory goes to ``temporary``, and nowhere without it. A file is written
    in the form that DuckDB 1.2 and everything newer can open.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": str(temporary or ""),
    }
    if path:
        config["storage_compatibility_version"] = "v1.2.0"
    connection = duckdb.connect(str(path or ":memory:"), config=config)
    # Known only once the built-in Parquet reader is there, after connecting.
    connection.execute("SET parquet_metadata_cache = true")
    return connection


@contextmanager
def scratch(temporary: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one job."""
    connection = open_duckdb(temporary=temporary)
    try:
        yield connection
    finally:
        connection.close()


def quoted(value: object) -> str:
    """A SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


def listed(values: Sequence[object]) -> str:
    """A SQL list of string literals."""
    return "[" + ", ".join(quoted(value) for value in values) + "]"
