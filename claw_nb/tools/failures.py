"""Errors of the parts behind a tool, as the model is told them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from claw_nb.core.errors import (
    ClawError,
    Conflict,
    Denied,
    InvalidInput,
    NotFound,
    ToolError,
    ToolErrorKind,
)

_KINDS: tuple[tuple[type[ClawError], ToolErrorKind], ...] = (
    (InvalidInput, "validation"),
    (NotFound, "not_found"),
    (Conflict, "conflict"),
    (Denied, "policy"),
)

LONGEST = 30_000
"""Characters of output that a tool shows: half from its beginning, half from its end."""


@contextmanager
def told_to_the_model() -> Iterator[None]:
    """Turn a ClawError into the ToolError of its kind, with its hint."""
    try:
        yield
    except ToolError:
        raise
    except ClawError as error:
        hints = (error.hint,) if error.hint else ()
        raise ToolError(error.message, kind=_kind(error), hints=hints) from error


def _kind(error: ClawError) -> ToolErrorKind:
    for cls, kind in _KINDS:
        if isinstance(error, cls):
            return kind
    return "system"


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text's head and tail with a note of what is left out between them."""
    if len(text) <= longest:
        return text
    head, tail = text[: longest // 2], text[-(longest // 2) :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[... {left_out:,} characters left out ...]\n{tail}"
