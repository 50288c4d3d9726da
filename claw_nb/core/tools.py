"""A tool is data: a name, a description, a JSON schema, an async function and its effect."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from claw_nb.core.errors import ToolError
from claw_nb.core.messages import Image, Text

Effect = Literal["read", "write", "execute", "send"]
Verdict = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, kw_only=True)
class Review:
    """What a tool's own policy says of one call, before anybody is asked.

    ``allow`` lets it run unasked, ``ask`` wants a person's yes, ``deny`` refuses it for good.
    ``preview`` is what the person is shown: a diff, the code, the command. A ``risky`` call is
    asked about each time: no grant and no yes to an earlier call covers it.
    """

    verdict: Verdict
    reason: str = ""
    preview: str = ""
    risky: bool = False


@dataclass(frozen=True, kw_only=True)
class ToolOutput:
    """What a tool gives back to the model."""

    parts: tuple[Text | Image, ...]


Run = Callable[..., Awaitable[str | ToolOutput]]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """Something the agent can do.

    ``run`` takes the call's arguments by keyword, and raises ToolError to tell the model what
    went wrong. ``sequential`` makes the whole batch of its message run one call at a time.
    ``resource`` names what a call changes (a resolved path): calls on one resource never overlap.
    ``review`` may speak before approval; without it the effect decides (only ``read`` is free).
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Run
    effect: Effect = "read"
    sequential: bool = False
    resource: Callable[[Mapping[str, Any]], str | None] | None = None
    review: Callable[[Mapping[str, Any]], Review] | None = None


def tool(
    *,
    name: str | None = None,
    effect: Effect = "read",
    sequential: bool = False,
    resource: Callable[[Mapping[str, Any]], str | None] | None = None,
    review: Callable[[Mapping[str, Any]], Review] | None = None,
) -> Callable[[Run], Tool]:
    """Make a Tool of an async function: its docstring describes it, its hints are the schema.

    ``Annotated[str, "what it means"]`` describes a parameter; a default makes it optional.
    """

    def make(run: Run) -> Tool:
        return Tool(
            name=name or run.__name__,
            description=inspect.cleandoc(run.__doc__ or ""),
            parameters=schema_of(run),
            run=run,
            effect=effect,
            sequential=sequential,
            resource=resource,
            review=review,
        )

    return make


def schema_of(run: Callable[..., Any]) -> dict[str, Any]:
    """The JSON schema of a function's keyword arguments."""
    hints = get_type_hints(run, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(run).parameters.values():
        schema = _schema(hints[parameter.name])
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None:
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _schema(hint: Any) -> dict[str, Any]:
    origin = get_origin(hint)
    if origin is typing.Annotated:
        inner, *notes = get_args(hint)
        words = " ".join(note for note in notes if isinstance(note, str))
        return _schema(inner) | ({"description": words} if words else {})
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if origin in (list, tuple):
        return {"type": "array", "items": _schema(get_args(hint)[0])}
    if origin in (typing.Union, types.UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        if len(kinds) == 1:
            return _schema(kinds[0])
    if hint is dict or origin in (dict, Mapping):
        return {"type": "object"}
    raise TypeError(f"no JSON schema for {hint!r}")


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the function takes them; ToolError(validation) names what is wrong.

    Models send numbers as strings and null for what they leave out; both are understood.
    """
    properties = tool.parameters.get("properties", {})
    unknown = sorted(set(arguments) - set(properties))
    if unknown:
        raise ToolError(
            f"{tool.name} has no parameter {', '.join(map(repr, unknown))}",
            kind="validation",
            hints=(f"Its parameters are: {', '.join(properties) or 'none'}.",),
        )
    given = {key: value for key, value in arguments.items() if value is not None}
    missing = [name for name in tool.parameters.get("required", ()) if name not in given]
    if missing:
        raise ToolError(
            f"{tool.name} needs {', '.join(map(repr, missing))}",
            kind="validation",
            hints=("Call it again with every required parameter.",),
        )
    return {key: _checked(tool.name, key, value, properties[key]) for key, value in given.items()}


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def _checked(owner: str, name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    wanted = schema.get("type", "string")
    if isinstance(value, str) and wanted in ("integer", "number"):
        with suppress(ValueError):
            value = int(value) if wanted == "integer" else float(value)
    if isinstance(value, float) and wanted == "integer" and value.is_integer():
        value = int(value)
    expected = _TYPES.get(wanted, object)
    is_bool = isinstance(value, bool)
    if not isinstance(value, expected) or (is_bool and wanted in ("integer", "number")):
        raise ToolError(
            f"{owner}: {name} must be of type {wanted}, not {type(value).__name__}",
            kind="validation",
        )
    if "enum" in schema and value not in schema["enum"]:
        raise ToolError(
            f"{owner}: {name} must be one of {', '.join(schema['enum'])}, not {value!r}",
            kind="validation",
        )
    if isinstance(value, list) and "items" in schema:
        return [_checked(owner, f"{name}[{i}]", v, schema["items"]) for i, v in enumerate(value)]
    return value
