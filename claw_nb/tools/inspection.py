"""One variable in as much detail as a byte budget allows."""

from __future__ import annotations

import inspect
import json
import types
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from claw_nb.core.redact import redact, redact_json
from claw_nb.tools.failures import shortened
from claw_nb.tools.frames import Table, table
from claw_nb.tools.glimpse import (
    attributes,
    cell,
    cut,
    glimpse,
    hidden_by_name,
    is_a,
    kind,
    of,
    sequence,
    shape_of,
)

_MOST_ITEMS = 20
_MOST_COUNTED = 1_000_000

#: How much of a table is shown: (columns, rows, sample values), from much to little.
_DETAIL = (
    *((columns, rows, sample) for columns in (60, 30) for rows, sample in ((5, 3), (3, 3), (3, 1))),
    *((columns, 0, 0) for columns in (100, 60, 30, 15, 8, 3, 1)),
    *((columns, 1, 1) for columns in (8, 3)),
)


def inspect_value(name: str, value: Any, *, budget: int) -> dict[str, Any]:
    """What a variable holds; as JSON it takes at most ``budget`` bytes."""
    head = {"name": name, "type": kind(value)}
    if masked := hidden_by_name(name, value):
        return head | {"value": masked}
    own = _own_words(value)
    if own is not None:
        return _trimmed(head | own, budget)
    found = table(value)
    if found is not None:
        return _trimmed(head | _fitting(found, budget - _size(head)), budget)
    for suits, describe in _DESCRIPTIONS:
        if suits(value):
            return _trimmed(head | describe(value), budget)
    return _trimmed(head | _object(value), budget)


def _own_words(value: Any) -> dict[str, Any] | None:
    """What an object says of itself to a model through ``_repr_llm_``."""
    if inspect.getattr_static(type(value), "_repr_llm_", None) is None or is_a(value, type):
        return None
    try:
        said = type(value)._repr_llm_(value)
    except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
        return {"note": cut(f"its _repr_llm_ raised {type(error).__name__}: {error}", 300)}
    return {"text": redact(said)} if isinstance(said, str) else {"value": redact_json(said)}


def _fitting(found: Table, room: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for columns, rows, sample in _DETAIL:
        shown = found.shown(columns=columns, rows=rows, sample=sample)
        if _size(shown) <= room:
            return shown
    return shown


def _text(value: Any) -> dict[str, Any]:
    text = str.__str__(value)
    return {"length": len(text), "text": redact(text)}


def _bytes(value: Any) -> dict[str, Any]:
    return {"length": len(value), "starts": bytes(value[:32]).hex(" ")}


def _dict(value: Any) -> dict[str, Any]:
    shown = {}
    for key, item in islice(dict.items(value), _MOST_ITEMS):
        name = str.__str__(key) if is_a(key, str) else glimpse(key)
        shown[cut(redact(name))] = hidden_by_name(name, item) or cell(item)
    return _with_length(dict.__len__(value), {"items": shown})


def _sequence(value: Any) -> dict[str, Any]:
    length, each = sequence(value)
    return _with_length(length, {"items": [cell(item) for item in islice(each, _MOST_ITEMS)]})


def _with_length(length: int, found: dict[str, Any]) -> dict[str, Any]:
    left_out = length - len(found["items"])
    return {"length": length, **found} | ({"items_left_out": left_out} if left_out else {})


def _array(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"shape": list(shape_of(value) or ()), "dtype": str(value.dtype)}
    if not of(value, "numpy", "ndarray"):
        return found
    counted = value.dtype.kind in "iuf" and 0 < value.size <= _MOST_COUNTED
    if counted and type(value).__name__ != "memmap":
        found |= {"min": cell(value.min()), "mean": cell(value.mean()), "max": cell(value.max())}
    found["sample"] = [cell(each) for each in value.flat[:10].tolist()]
    return found


def _function(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if is_a(value, types.FunctionType, types.MethodType):
        found["signature"] = redact(f"{value.__name__}{inspect.signature(value)}")
    found["doc"] = inspect.cleandoc(value.__doc__) if isinstance(value.__doc__, str) else None
    return _without_none(found | _source(value))


def _class(value: Any) -> dict[str, Any]:
    members = [name for name in type.__getattribute__(value, "__dict__") if name[:1] != "_"]
    doc = type.__getattribute__(value, "__dict__").get("__doc__")
    found = {
        "bases": [base.__name__ for base in type.__getattribute__(value, "__bases__")],
        "members": members[:60],
        "doc": inspect.cleandoc(doc) if isinstance(doc, str) else None,
    }
    return _without_none(found | _source(value))


def _source(value: Any) -> dict[str, Any]:
    try:
        return {"source": redact(inspect.getsource(value))}
    except (OSError, TypeError):
        return {}


def _module(value: types.ModuleType) -> dict[str, Any]:
    own = vars(value)
    version, doc = own.get("__version__"), own.get("__doc__")
    return _without_none(
        {
            "version": version if isinstance(version, str) else None,
            "doc": cut(inspect.cleandoc(doc).split("\n")[0], 300) if isinstance(doc, str) else None,
            "names": [name for name in own if not name.startswith("_")][:60],
        }
    )


def _figure(value: Any) -> dict[str, Any]:
    axes = value.axes if of(value, "matplotlib", "Figure") else [value]
    return {
        "axes": [
            {"title": each.get_title(), "x": each.get_xlabel(), "y": each.get_ylabel()}
            for each in axes
        ]
    }


def _object(value: Any) -> dict[str, Any]:
    fields = {
        cut(name): hidden_by_name(name, item) or cell(item)
        for name, item in islice(attributes(value), 60)
        if not name.startswith("_")
    }
    doc = inspect.getattr_static(type(value), "__doc__", None)
    said = glimpse(value, longest=2_000)
    return _without_none(
        {
            "value": said if said != kind(value) and not fields else None,
            "doc": cut(inspect.cleandoc(doc).split("\n")[0], 300)
            if isinstance(doc, str) and fields
            else None,
            "attributes": fields or None,
        }
    )


_CALLABLES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_DESCRIPTIONS: tuple[tuple[Callable[[Any], bool], Callable[[Any], dict[str, Any]]], ...] = (
    (lambda value: is_a(value, str), _text),
    (lambda value: is_a(value, bytes, bytearray), _bytes),
    (lambda value: is_a(value, dict), _dict),
    (lambda value: is_a(value, list, tuple, set, frozenset, deque), _sequence),
    (lambda value: is_a(value, int, float, complex), lambda value: {"value": cell(value)}),
    (lambda value: is_a(value, types.ModuleType), _module),
    (lambda value: is_a(value, type), _class),
    (lambda value: is_a(value, *_CALLABLES), _function),
    (lambda value: of(value, "matplotlib", "Figure", "Axes"), _figure),
    (lambda value: shape_of(value) is not None and hasattr(value, "dtype"), _array),
)


def _without_none(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if value is not None}


def _trimmed(found: dict[str, Any], budget: int) -> dict[str, Any]:
    """Shorten the longest entry again and again until it all fits."""
    while (over := _size(found) - budget) > 0:
        longest = max(
            (k for k in found if k not in ("name", "type")), key=lambda k: _size(found[k])
        )
        value = found[longest]
        if isinstance(value, str) and len(value) > 60:
            found[longest] = shortened(value, max(20, len(value) - over - 60))
        elif isinstance(value, list) and len(value) > 1:
            found[longest] = value[: len(value) // 2]
        elif isinstance(value, dict) and len(value) > 1:
            found[longest] = dict(list(value.items())[: len(value) // 2])
        else:
            del found[longest]
        found["cut"] = True
    return found


def _size(found: Any) -> int:
    return len(json.dumps(found, ensure_ascii=False, default=str).encode("utf-8", "replace"))
