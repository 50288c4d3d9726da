"""What the cells of a run showed, with secrets masked: what is written to disk and into reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from nbformat import NotebookNode

from claw_nb.core.redact import redact, redact_json

_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def _node(fields: Mapping[str, Any]) -> NotebookNode:
    return NotebookNode(fields)  # type: ignore[no-untyped-call]


def masked(nb: NotebookNode, indices: Iterable[int]) -> NotebookNode:
    """A copy of the notebook in which the outputs of some cells are masked."""
    cells = list(nb.cells)
    for index in indices:
        cell = cells[index]
        if cell.get("outputs"):
            cells[index] = _node({**cell, "outputs": masked_outputs(cell.outputs)})
    return _node({**nb, "cells": cells})


def masked_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Copies of outputs in which every text is masked; pieces of one stream are joined before."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and _stream(last) == _stream(output) is not None:
            joined[-1] = _node({**last, "text": last.text + output.text})
        else:
            joined.append(output)
    return [_masked(output) for output in joined]


def _stream(output: NotebookNode) -> str | None:
    return str(output.name) if output.output_type == "stream" else None


def _masked(output: NotebookNode) -> NotebookNode:
    found: dict[str, Any]
    match output.output_type:
        case "stream":
            found = {"text": _text(output.text)}
        case "error":
            found = {
                "evalue": redact(output.evalue),
                "traceback": [_text(line) for line in output.traceback],
            }
        case _:
            found = {"data": _node({kind: _of(kind, v) for kind, v in output.data.items()})}
    return _node({**output, **found})


def _of(kind: str, value: Any) -> Any:
    if kind.startswith("text/") or kind == "image/svg+xml":
        return _text("".join(value) if isinstance(value, list) else str(value))
    return redact_json(value) if kind.endswith("json") else value


def _text(text: str) -> str:
    """The text masked; a line whose colours stand between a name and its secret loses them."""
    text = redact(text)
    return "".join(map(_line, text.splitlines(keepends=True))) if "\x1b" in text else text


def _line(line: str) -> str:
    bare = _COLOUR.sub("", line)
    shown = redact(bare)
    return line if shown == bare else shown
