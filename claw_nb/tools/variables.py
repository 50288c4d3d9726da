"""Looking at the user's variables."""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Mapping
from typing import Annotated, Any

from claw_nb.core.errors import ToolError
from claw_nb.core.protocols import Kernel
from claw_nb.core.tools import Tool, tool
from claw_nb.tools.frames import table
from claw_nb.tools.glimpse import cut, glimpse, hidden_by_name, is_a, kind, shape_of
from claw_nb.tools.inspection import inspect_value

_MOST_NAMES = 200
_SMALLEST, _LARGEST = 300, 50_000


def variable_tools(kernel: Kernel) -> tuple[Tool, ...]:
    """``list_variables`` and ``inspect_variable`` over one kernel."""

    @tool()
    async def list_variables() -> str:
        """List the user's variables with their types, as a JSON array.

        What looks like a secret is masked. inspect_variable tells more about one of them.
        """
        names = _visible(kernel.namespace)
        rows = [_row(name, names[name]) for name in list(names)[:_MOST_NAMES]]
        if len(names) > _MOST_NAMES:
            more = f"{len(names) - _MOST_NAMES} more names are not listed."
            rows.append({"name": "…", "type": "", "summary": more})
        return json.dumps(rows, ensure_ascii=False)

    @tool()
    async def inspect_variable(
        name: Annotated[str, "A variable's name, as list_variables shows it."],
        budget: Annotated[int, "Bytes of the answer at most, 300 to 50000."] = 4000,
    ) -> str:
        """Look closely at one variable, as a JSON object.

        A data frame is shown by its shape, columns and first rows; a function by its source.
        Nothing is computed: lazy objects stay lazy. What looks like a secret is masked.
        """
        if not _SMALLEST <= budget <= _LARGEST:
            raise ToolError(
                f"budget must be between {_SMALLEST} and {_LARGEST} bytes, not {budget}",
                kind="validation",
            )
        names = _visible(kernel.namespace)
        if name not in names:
            raise _unknown(name, names)
        return json.dumps(
            inspect_value(name, names[name], budget=budget), ensure_ascii=False, default=str
        )

    return (list_variables, inspect_variable)


def _visible(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The user's names, data before functions, classes and modules."""
    named = [(name, value) for name, value in namespace.items() if not name.startswith("_")]
    return dict(sorted(named, key=lambda pair: _is_code(pair[1])))


def _is_code(value: object) -> bool:
    return is_a(value, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)


def _row(name: str, value: Any) -> dict[str, str]:
    return {"name": name, "type": kind(value), "summary": _summary(name, value)}


def _summary(name: str, value: Any) -> str:
    if masked := hidden_by_name(name, value):
        return masked
    found = table(value)
    if found is not None:
        width = len(found.names)
        size = (
            f"{found.height:,} rows x {width} columns"
            if found.height is not None
            else "not computed"
        )
        return cut(f"{size}: {', '.join(found.names[:12])}" if width else size, 200)
    shape = shape_of(value)
    if shape is not None and hasattr(value, "dtype"):
        return f"{' x '.join(map(str, shape)) or 'scalar'} of {value.dtype}"
    if is_a(value, list, tuple, set, frozenset, dict):
        return cut(f"{len(value):,} items: {glimpse(value)}", 160)
    if is_a(value, types.FunctionType):
        return f"function {value.__name__}()"
    return glimpse(value)


def _unknown(name: str, names: Mapping[str, Any]) -> ToolError:
    if not name.isidentifier():
        return ToolError(
            f"{name!r} is not the name of a variable",
            kind="validation",
            hints=("Give a plain name; look into it with run_python.",),
        )
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"Did you mean {', '.join(near)}?" if near else "list_variables shows what there is."
    return ToolError(f"there is no variable {name!r}", kind="not_found", hints=(hint,))
