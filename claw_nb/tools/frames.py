"""Tables of any library by one form: pandas, polars, pyarrow and DuckDB relations.

No library is imported: a table can only be there when its library is. What hasn't been computed
(a lazy frame, a relation) is told by its columns alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from claw_nb.core.named_secrets import secret_kind
from claw_nb.tools.glimpse import cell, kind, of

_MOST_COUNTED = 5_000_000
"""Values up to which a table's columns are counted through."""

_MOST_COMPARED = 100_000
"""Rows up to which different texts are counted."""

Facts = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table's outside. ``values(i, n)``: the first n of column i; ``facts(i)``: its counts."""

    type: str
    height: int | None
    names: Sequence[str]
    dtypes: Sequence[str]
    values: Callable[[int, int], list[Any]] | None = None
    facts: Callable[[int], Facts] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def shown(self, *, columns: int, rows: int, sample: int) -> dict[str, Any]:
        """The table as JSON with at most so many columns, rows and sample values."""
        names = self.names[:columns]
        counted = (self.height or 0) * len(names) <= _MOST_COUNTED
        secrets = [secret_kind(name) for name in names]
        found: dict[str, Any] = dict(self.more)
        if self.height is not None:
            found["shape"] = [self.height, len(self.names)]
        if names:
            found["columns"] = [
                self._column(i, secrets[i], sample=sample, facts=self.facts if counted else None)
                for i in range(len(names))
            ]
        if len(names) < len(self.names):
            found["columns_left_out"] = len(self.names) - len(names)
        if self.values is not None and rows:
            taken = [self.values(i, rows) for i in range(len(names))]
            heads = _unique(names)
            found["rows"] = [
                {heads[i]: cell(taken[i][row], secret=secrets[i]) for i in range(len(names))}
                for row in range(len(taken[0]) if taken else 0)
            ]
        return found

    def _column(
        self, i: int, secret: str | None, *, sample: int, facts: Callable[[int], Facts] | None
    ) -> dict[str, Any]:
        column: dict[str, Any] = {"name": self.names[i], "dtype": self.dtypes[i]}
        if facts is not None:
            hidden = secret in ("password", "key")
            shown = {k: v for k, v in facts(i).items() if k == "nulls" or not hidden}
            column |= {name: cell(value) for name, value in shown.items()}
        if self.values is not None and sample:
            column["sample"] = [cell(value, secret=secret) for value in self.values(i, sample)]
        return column


def table(value: Any) -> Table | None:
    """The table that a value is, or None."""
    for library, names, adapt in _ADAPTERS:
        if of(value, library, *names):
            return adapt(value)
    return None


def _pandas(frame: Any) -> Table:
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    return _pandas_columns(frame, [_name(label) for label in frame.columns], columns)


def _pandas_series(series: Any) -> Table:
    return _pandas_columns(series, [_name(series.name)], [series])


def _pandas_columns(frame: Any, names: list[str], columns: list[Any]) -> Table:
    @cache
    def facts(i: int) -> Facts:
        column = columns[i]
        found = {"nulls": int(column.isna().sum())}
        if column.dtype.kind in "iuf":
            found |= {"min": column.min(), "mean": column.mean(), "max": column.max()}
        elif column.dtype.kind in "mM":
            found |= {"min": column.min(), "max": column.max()}
        elif str(column.dtype) in ("str", "string", "category") and len(column) <= _MOST_COMPARED:
            found["unique"] = int(column.nunique())
        return {name: _scalar(each) for name, each in found.items()}

    index = frame.index
    labelled = type(index).__name__ != "RangeIndex"
    return Table(
        type=kind(frame),
        height=int(frame.shape[0]),
        names=names,
        dtypes=[str(column.dtype) for column in columns],
        values=lambda i, n: [_scalar(each) for each in columns[i].iloc[:n].tolist()],
        facts=facts,
        more={"index": [cell(_scalar(label)) for label in index[:3].tolist()]} if labelled else {},
    )


def _polars(frame: Any) -> Table:
    return _polars_columns(kind(frame), frame.get_columns())


def _polars_columns(name: str, columns: list[Any]) -> Table:
    @cache
    def facts(i: int) -> Facts:
        column = columns[i]
        found = {"nulls": int(column.null_count())}
        if column.dtype.is_numeric():
            found |= {"min": column.min(), "mean": column.mean(), "max": column.max()}
        elif column.dtype.is_temporal():
            found |= {"min": column.min(), "max": column.max()}
        elif str(column.dtype) in ("String", "Categorical") and len(column) <= _MOST_COMPARED:
            found["unique"] = int(column.n_unique())
        return found

    return Table(
        type=name,
        height=len(columns[0]) if columns else 0,
        names=[column.name for column in columns],
        dtypes=[str(column.dtype) for column in columns],
        values=lambda i, n: columns[i].head(n).to_list(),
        facts=facts,
    )


def _lazy(frame: Any) -> Table:
    note = "This frame is lazy and hasn't been computed: collect a few rows with run_python."
    return Table(type=kind(frame), height=None, names=(), dtypes=(), more={"note": note})


def _arrow(frame: Any) -> Table:
    columns = [frame.column(i) for i in range(frame.num_columns)]
    return Table(
        type=kind(frame),
        height=frame.num_rows,
        names=[str(each.name) for each in frame.schema],
        dtypes=[str(each.type) for each in frame.schema],
        values=lambda i, n: columns[i].slice(0, n).to_pylist(),
        facts=lambda i: {"nulls": columns[i].null_count},
    )


def _arrow_array(array: Any) -> Table:
    return Table(
        type=kind(array),
        height=len(array),
        names=("values",),
        dtypes=(str(array.type),),
        values=lambda _, n: array.slice(0, n).to_pylist(),
        facts=lambda _: {"nulls": array.null_count},
    )


def _relation(relation: Any) -> Table:
    note = "This is a query that hasn't run: use sql, or .limit(5) with run_python."
    return Table(
        type=kind(relation),
        height=None,
        names=[str(name) for name in relation.columns],
        dtypes=[str(each) for each in relation.types],
        more={"note": note},
    )


_ADAPTERS: tuple[tuple[str, tuple[str, ...], Callable[[Any], Table]], ...] = (
    ("pandas", ("DataFrame",), _pandas),
    ("pandas", ("Series",), _pandas_series),
    ("pandas", ("Index",), lambda index: _pandas_series(index.to_series(index=range(len(index))))),
    ("polars", ("DataFrame",), _polars),
    ("polars", ("Series",), lambda series: _polars_columns(kind(series), [series])),
    ("polars", ("LazyFrame",), _lazy),
    ("pyarrow", ("Table", "RecordBatch"), _arrow),
    ("pyarrow", ("Array", "ChunkedArray"), _arrow_array),
    ("duckdb", ("DuckDBPyRelation",), _relation),
)


def _scalar(value: Any) -> Any:
    """A pandas scalar as Python has it: a moment as text."""
    if type(value).__name__ in ("Timestamp", "Timedelta", "Period", "Interval"):
        return str(value)
    return value


def _name(label: Any) -> str:
    return label if isinstance(label, str) else "" if label is None else str(label)


def _unique(names: Sequence[str]) -> list[str]:
    """Names that differ, so that a row can be an object: ``a``, ``a (2)``."""
    seen: dict[str, int] = {}
    heads = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        heads.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return heads
