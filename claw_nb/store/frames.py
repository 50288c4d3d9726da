"""Which of the user's variables DuckDB can read as tables."""

from __future__ import annotations

from collections.abc import Mapping

_FRAMES = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch"),
}


def frames(namespace: Mapping[str, object]) -> dict[str, object]:
    """The data frames among some variables, by name; none of their libraries is imported."""
    return {name: value for name, value in namespace.items() if _is_frame(value)}


def _is_frame(value: object) -> bool:
    package = type(value).__module__.partition(".")[0]
    return type(value).__name__ in _FRAMES.get(package, ())
