"""A `%claw` at the top level of a cell becomes an awaited call, and a question may end with "?".

IPython has no asynchronous magics, and a cell that awaits leaves the kernel free to hear a button.
The rewriting happens on source text because IPython decides from the text whether a cell is
asynchronous, before any AST transformer runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from token import DEDENT, INDENT
from tokenize import TokenInfo
from typing import TYPE_CHECKING

from IPython.core.inputtransformer2 import assemble_continued_line, make_tokens_by_line

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

MAGIC = "claw"
AWAITED = "_claw_awaited"
"""The magic that returns a coroutine; only rewritten calls name it."""

_NO_AWAIT = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_Edit = tuple[int, int, int, bytes]

Transformer = Callable[[list[str]], list[str]]


def transformer(shell: InteractiveShell) -> Transformer:
    """The input transformer of one shell; it leaves cells alone while autoawait is off."""

    def await_claw(lines: list[str]) -> list[str]:
        if not awaits(shell) or not any(MAGIC in line for line in lines):
            return lines
        return rewrite("".join(lines)).splitlines(keepends=True)

    return await_claw


def keep_questions(lines: list[str]) -> list[str]:
    """`%claw ask …?` is a question to the agent: IPython would take the last "?" for its help."""
    if not lines or lines[0].startswith("%%") or not any(f"%{MAGIC}" in line for line in lines):
        return lines
    found = [span for tokens in make_tokens_by_line(lines) if (span := _question(tokens))]
    for row, column, last in reversed(found):
        text = assemble_continued_line(lines, (row, column), last)
        asked = text.removeprefix("%").lstrip().removeprefix(MAGIC).strip()
        call = f"get_ipython().run_line_magic({MAGIC!r}, {asked!r})\n"
        lines[row : last + 1] = [lines[row][:column] + call]
    return lines


def _question(tokens: list[TokenInfo]) -> tuple[int, int, int] | None:
    """Row and column of the `%`, and the last row, of a logical line that asks."""
    words = [token for token in tokens if token.type not in (INDENT, DEDENT)]
    strings = [token.string for token in words]
    if strings[-2:-1] != ["?"]:
        return None
    for start in (0, 2):
        if strings[start : start + 3] == ["%", MAGIC, "ask"] and len(strings) > start + 5:
            if start == 2 and strings[1] != "=":
                continue
            row, column = words[start].start
            return row - 1, column, words[-2].end[0] - 1
    return None


def awaits(shell: InteractiveShell) -> bool:
    """Whether cells of this shell may await on an asyncio loop."""
    runner = getattr(shell, "loop_runner", None)
    name = getattr(runner, "__name__", type(runner).__name__).lower()
    return bool(shell.autoawait) and "asyncio" in name


def rewrite(source: str) -> str:
    """``source`` with each top-level `%claw` call awaited; source that can't be parsed as it is."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    edits = [edit for call in _calls(tree) for edit in _edits(call)]
    for row, start, end, text in sorted(edits, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + text + line[end:]
    return b"".join(lines).decode()


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _NO_AWAIT):
            continue
        if isinstance(child, ast.Call) and _is_claw(child):
            yield child
        else:
            yield from _calls(child)


def _is_claw(call: ast.Call) -> bool:
    match call:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Name(id="get_ipython")),
                attr="run_line_magic" | "run_cell_magic",
            ),
            args=[ast.Constant(value="claw"), *_],
        ):
            return True
    return False


def _without_body(call: ast.Call) -> list[_Edit]:
    """`%%claw ask` with nothing below is `%claw ask`: IPython would refuse it by our hidden name."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="run_cell_magic", end_col_offset=int(end)),
            args=[_, ast.expr(end_col_offset=int(start)), ast.Constant(value="", end_col_offset=int(last))],
        ) if call.lineno == call.end_lineno:  # fmt: skip
            name = (call.lineno, end - len("run_cell_magic"), end, b"run_line_magic")
            return [name, (call.lineno, start, last, b"")]
    return []


def _edits(call: ast.Call) -> list[_Edit]:
    name = call.args[0]
    assert call.end_lineno is not None
    assert call.end_col_offset is not None
    assert name.end_col_offset is not None
    return [
        *_without_body(call),
        (call.lineno, call.col_offset, call.col_offset, b"(await "),
        (name.lineno, name.col_offset, name.end_col_offset, repr(AWAITED).encode()),
        (call.end_lineno, call.end_col_offset, call.end_col_offset, b")"),
    ]
