"""Columns whose names say that they hold secrets, kept from the model when it asks in SQL."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from claw_nb.core.named_secrets import random_looking, secret_kind
from claw_nb.core.redact import redact, redact_json
from claw_nb.store.query import Result


def asked_for(statement: str, frames: Mapping[str, object]) -> dict[str, object]:
    """The frames that a query names."""
    words = set(re.findall(r"\w+", statement.lower()))
    return {name: frame for name, frame in frames.items() if name.lower() in words}


def without_secrets(frames: Mapping[str, object]) -> dict[str, object]:
    """The frames with their passwords and keys masked, so that no alias or function gets at them."""
    return {name: _veiled(frame) for name, frame in frames.items()}


def masked(result: Result, frames: Mapping[str, object], limit: int) -> list[list[Any]]:
    """The first rows of a result with what is left of secrets masked: by name, and by looks.

    A column of tokens may hold words or secrets. Where a frame that is asked has one, all that
    looks random is masked, whatever its column is called by now.
    """
    tokens = any(
        secret_kind(name) == "token" for frame in frames.values() for name in _names(frame)
    )
    kinds = [secret_kind(name) or ("token" if tokens else None) for name in result.columns]
    return [
        [_cell(value, kind) for value, kind in zip(row, kinds, strict=True)]
        for row in result.rows(limit)
    ]


def _cell(value: Any, kind: str | None) -> Any:
    if isinstance(value, str):
        if kind in ("password", "key") or (kind == "token" and random_looking(value)):
            return f"[REDACTED:{kind}]"
        return redact(value)
    if isinstance(value, bytes) and kind in ("password", "key"):
        return f"[REDACTED:{kind}]"
    return redact_json(value) if isinstance(value, (dict, list)) else value


def _names(frame: Any) -> list[str]:
    if _library(frame) == "pyarrow":
        return [str(name) for name in frame.schema.names]
    if type(frame).__name__ == "LazyFrame":
        return list(frame.collect_schema().names())
    return [str(name) for name in frame.columns]


def _library(frame: object) -> str:
    return type(frame).__module__.partition(".")[0]


def _veiled(frame: Any) -> object:
    secret = [name for name in _names(frame) if secret_kind(name) in ("password", "key")]
    if not secret:
        return frame
    match _library(frame):
        case "pandas":
            return _veiled_pandas(frame, secret)
        case "polars":
            polars = sys.modules["polars"]
            hide = [
                polars.when(polars.col(name).is_not_null())
                .then(polars.lit(_mask(name)))
                .alias(name)
                for name in secret
            ]
            return frame.with_columns(hide)
        case _:
            return _veiled_arrow(frame, secret)


def _veiled_pandas(frame: Any, secret: list[str]) -> object:
    frame = frame.copy(deep=False)
    for at, name in enumerate(frame.columns):
        if str(name) in secret:
            column = frame.iloc[:, at]
            hidden = column.astype(object).where(column.isna(), _mask(str(name)))
            frame.isetitem(at, hidden)
    return frame


def _veiled_arrow(frame: Any, secret: list[str]) -> object:
    arrow = sys.modules["pyarrow"]
    for at, name in enumerate(frame.schema.names):
        if name in secret:
            present = frame.column(at).is_valid().to_pylist()
            hidden = arrow.array([_mask(name) if there else None for there in present])
            frame = frame.set_column(at, name, hidden)
    return frame


def _mask(name: str) -> str:
    return f"[REDACTED:{secret_kind(name)}]"
