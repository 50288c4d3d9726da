"""A small chart as inline SVG: it needs no library, follows the theme and survives every export."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import Any

from claw_nb.core.errors import InvalidInput
from claw_nb.notebook.question import Chart

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 28, 44
# Okabe and Ito's palette, told apart by colour-blind readers and on both grounds.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
MAX_BARS = 40

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Axes:
    """Where values lie on the picture; ``ticks`` are (position, words)."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> Point:
        """The point of a value."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        )


def svg(columns: Sequence[str], rows: Sequence[Sequence[Any]], kind: Chart) -> str:
    """The first column across, each further column of numbers up."""
    series = [i for i in range(1, len(columns)) if _is_numeric([row[i] for row in rows])]
    if not rows or not series:
        raise InvalidInput(
            "there is nothing to draw.",
            hint="A chart needs a first column to go across and at least one column of numbers.",
        )
    first = [row[0] for row in rows]
    ordered = _is_ordered(first)
    if kind == "auto":
        kind = "line" if ordered else "bar"
    across = [_number(value) for value in first] if ordered and kind != "bar" else None
    xs = across or [float(i) for i in range(len(rows))]
    ys = [[_number(row[i]) for row in rows] for i in series]
    axes = _axes(xs, ys, bars=kind == "bar")
    body = [_grid(axes), _across(axes, first, xs, numeric=across is not None)]
    for n, values in enumerate(ys):
        points = [axes.at(x, y) for x, y in zip(xs, values, strict=True) if math.isfinite(y)]
        body.append(_marks(points, kind, axes, n, len(ys), len(xs)))
    body.append(_legend([columns[i] for i in series]))
    label = f"{kind} chart of {', '.join(columns[i] for i in series)} by {columns[0]}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" fill="currentColor" '
        f'font-family="sans-serif" font-size="12"><title>{escape(label)}</title>{"".join(body)}'
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle" '
        f'opacity=".75">{escape(columns[0])}</text></svg>'
    )


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(_is_number(value) for value in known)


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and (isinstance(value, Real) or hasattr(value, "as_tuple"))


def _is_ordered(values: Sequence[object]) -> bool:
    return _is_numeric(values) or all(isinstance(value, dt.date) for value in values)


def _number(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, dt.datetime):
        return value.timestamp()
    if isinstance(value, dt.date):
        return float(value.toordinal())
    return float(value)


def _axes(xs: Sequence[float], ys: Sequence[Sequence[float]], *, bars: bool) -> Axes:
    known = [y for values in ys for y in values if math.isfinite(y)] or [0.0]
    low, high = min(known), max(known)
    if bars or 0 < low < 0.3 * high:
        low = min(low, 0.0)
    low, high = (low - 1, high + 1) if low == high else (low, high + 0.05 * (high - low))
    finite = [x for x in xs if math.isfinite(x)] or [0.0]
    left, right = min(finite), max(finite)
    if bars:
        left, right = left - 0.5, right + 0.5
    elif left == right:
        left, right = left - 1, right + 1
    return Axes(x=(left, right), y=(low, high))


def _steps(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two values."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    first = math.ceil(low / step)
    return [n * step for n in range(first, math.floor(high / step) + 1)]


def _grid(axes: Axes) -> str:
    lines = []
    for value in _steps(*axes.y):
        _, y = axes.at(axes.x[0], value)
        lines.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="currentColor" opacity=".15"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.6g}</text>'
        )
    return "".join(lines)


def _across(axes: Axes, first: Sequence[object], xs: Sequence[float], *, numeric: bool) -> str:
    if numeric and _is_numeric(first):
        ticks = [(value, f"{value:.6g}") for value in _steps(*axes.x)]
    else:
        every = max(1, math.ceil(len(xs) / 8))
        picked = list(zip(xs, first, strict=True))[::every]
        ticks = [(x, str(value)[:12]) for x, value in picked]
    return "".join(
        f'<text x="{axes.at(x, axes.y[0])[0]:.1f}" y="{HEIGHT - BOTTOM + 18}" '
        f'text-anchor="middle">{escape(words)}</text>'
        for x, words in ticks
    )


def _marks(
    points: Sequence[Point], kind: Chart, axes: Axes, n: int, series: int, count: int
) -> str:
    colour = COLOURS[n % len(COLOURS)]
    if kind == "bar":
        room = (WIDTH - LEFT - RIGHT) / count * 0.8 / series
        _, ground = axes.at(axes.x[0], max(axes.y[0], min(0.0, axes.y[1])))
        shift = (n - series / 2) * room
        return "".join(
            f'<rect x="{x + shift:.1f}" y="{min(y, ground):.1f}" width="{room:.1f}" '
            f'height="{abs(ground - y):.1f}" fill="{colour}"/>'
            for x, y in points
        )
    if kind == "scatter":
        return "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}" opacity=".75"/>'
            for x, y in points
        )
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _legend(names: Sequence[str]) -> str:
    x, parts = float(LEFT), []
    for n, name in enumerate(names):
        parts.append(
            f'<rect x="{x:.0f}" y="8" width="10" height="10" fill="{COLOURS[n % len(COLOURS)]}"/>'
            f'<text x="{x + 15:.0f}" y="17">{escape(name)}</text>'
        )
        x += 30 + 7 * len(name)
    return "".join(parts)
