"""Values to JSON and back, by the dataclass's own fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from claw_nb.core.messages import (
    Image,
    Message,
    Origin,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_PARTS: dict[str, type[Any]] = {
    "text": Text,
    "thinking": Thinking,
    "image": Image,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
}
_NAMES = {kind: name for name, kind in _PARTS.items()}


_PLAIN = frozenset({str, int, float, bool, type(None)})


_known_fields: dict[type[Any], tuple[str, ...] | None] = {}


def _fields(kind: type[Any]) -> tuple[str, ...] | None:
    """The names of a dataclass's fields; None for other types."""
    if kind not in _known_fields:
        names = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
        _known_fields[kind] = names
    return _known_fields[kind]


def to_json(value: Any) -> Any:
    """A dataclass as a JSON object; parts carry their ``type``; None fields are left out."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return [to_json(item) for item in value]
    names = _fields(kind)
    if names is not None:
        name = _NAMES.get(kind)
        found = {"type": name} if name else {}
        for key in names:
            item = getattr(value, key)
            if item is not None:
                found[key] = to_json(item)
        return found
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(item) for item in value]
    return value


def part_from_json(data: Mapping[str, Any]) -> Part:
    """The part that ``to_json`` wrote; raises KeyError on an unknown type."""
    given = {key: value for key, value in data.items() if key != "type"}
    kind = _PARTS[data["type"]]
    if kind is ToolResult:
        given["parts"] = tuple(part_from_json(part) for part in given.get("parts", ()))
    known = {f.name for f in fields(kind)}
    part: Part = kind(**{key: value for key, value in given.items() if key in known})
    return part


def message_from_json(data: Mapping[str, Any]) -> Message:
    """The message that ``to_json`` wrote."""
    origin = data.get("origin")
    return Message(
        role=data["role"],
        parts=tuple(part_from_json(part) for part in data["parts"]),
        origin=Origin(
            provider=origin["provider"],
            model=origin["model"],
            raw=tuple(origin.get("raw", ())),
        )
        if origin
        else None,
    )
