"""The matplotlib code of a plot, as a person would write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["scatter", "line", "bar", "box", "hist"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column as ``inspect_variable`` tells of it."""

    name: str
    dtype: str
    nulls: int = 0

    @property
    def numeric(self) -> bool:
        """Whether it can be measured."""
        return self.dtype.lower().startswith(("int", "uint", "float", "decimal", "number"))

    @property
    def temporal(self) -> bool:
        """Whether it is a time axis."""
        return self.dtype.lower().startswith(("date", "time"))


@dataclass(frozen=True, kw_only=True)
class Plot:
    """What to draw; ``y`` is None for one column alone, ``x`` too for the whole frame."""

    frame: str
    kind: Kind
    x: Column | None = None
    y: Column | None = None
    group: Column | None = None
    polars: bool = False


def program(plot: Plot) -> str:
    """The code; its own names begin with an underscore, so that none of the user's is lost."""
    lines = ["import matplotlib.pyplot as plt", "", *_drawing(plot), "plt.show()"]
    return "\n".join(lines)


def _drawing(plot: Plot) -> list[str]:
    x, y = plot.x, plot.y
    if x is None:
        return _whole_frame(plot)
    axes = "_figure, _axes = plt.subplots(figsize=(6.4, 4))"
    if y is None:
        return [axes, *_one_column(plot, x)]
    return [axes, *_two_columns(plot, x, y), f"_axes.set(xlabel={x.name!r}, ylabel={y.name!r})"]


def _whole_frame(plot: Plot) -> list[str]:
    frame = f"{plot.frame}.to_pandas()" if plot.polars else plot.frame
    return [f"_axes = {frame}.hist(figsize=(8, 5))", "plt.tight_layout()"]


def _one_column(plot: Plot, x: Column) -> list[str]:
    values = _values(plot.frame, x)
    match plot.kind:
        case "bar":
            return [*_counts(plot, x), f"_axes.set(xlabel={x.name!r}, ylabel='rows')"]
        case "line" | "scatter":
            return [f"_axes.plot({values})", f"_axes.set(xlabel='row', ylabel={x.name!r})"]
        case "box":
            return [f"_axes.boxplot({values}{_present(plot)}, tick_labels=[{x.name!r}])"]
        case "hist":
            return [
                *_each(
                    plot,
                    plot.frame,
                    lambda part, label: (
                        f"_axes.hist({_values(part, x)}{_present(plot)}, bins=30, alpha=0.6{label})"
                    ),
                ),
                f"_axes.set(xlabel={x.name!r}, ylabel='rows')",
            ]


def _two_columns(plot: Plot, x: Column, y: Column) -> list[str]:
    match plot.kind:
        case "box" | "bar" | "hist":
            return _boxes(plot, x, y)
        case "line":
            sort = "sort" if plot.polars else "sort_values"
            return [
                f"_rows = {plot.frame}.{sort}({x.name!r})",
                *_each(
                    plot,
                    "_rows",
                    lambda part, label: (
                        f"_axes.plot({_values(part, x)}, {_values(part, y)}{label})"
                    ),
                ),
            ]
        case "scatter":
            return _each(
                plot,
                plot.frame,
                lambda part, label: (
                    f"_axes.scatter({_values(part, x)}, {_values(part, y)}, s=14{label})"
                ),
            )


def _values(frame: str, column: Column) -> str:
    return f"{frame}[{column.name!r}]"


def _present(plot: Plot) -> str:
    return ".drop_nulls()" if plot.polars else ".dropna()"


def _groups(plot: Plot, frame: str, by: Column) -> str:
    """``for label, part in …`` over the groups of a frame."""
    if plot.polars:
        return f"for (_label,), _part in {frame}.group_by({by.name!r}, maintain_order=True)"
    return f"for _label, _part in {frame}.groupby({by.name!r})"


def _each(plot: Plot, frame: str, draw: Callable[[str, str], str]) -> list[str]:
    """One drawing, or one for each group with a legend."""
    if plot.group is None:
        return [draw(frame, "")]
    return [
        f"{_groups(plot, frame, plot.group)}:",
        f"    {draw('_part', ', label=_label')}",
        f"_axes.legend(title={plot.group.name!r})",
    ]


def _counts(plot: Plot, x: Column) -> list[str]:
    counted = f"_counts = {_values(plot.frame, x)}{_present(plot)}.value_counts()"
    if plot.polars:
        return [counted, f"_axes.bar({_values('_counts', x)}.cast(str), _counts['count'])"]
    return [counted, "_axes.bar(_counts.index.astype(str), _counts.values)"]


def _boxes(plot: Plot, x: Column, y: Column) -> list[str]:
    values = f"{_values('_part', y)}{_present(plot)}"
    return [
        f"_boxes = {{str(_label): {values} {_groups(plot, plot.frame, x)}}}",
        "_axes.boxplot(list(_boxes.values()), tick_labels=list(_boxes))",
    ]
