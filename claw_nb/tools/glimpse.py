"""A value in a few safe words: nothing is computed, no property read, no foreign ``repr`` called.

Lazy objects compute in ``len``, ``repr`` or a property, so only types that are known to be harmless
are asked about themselves; of all others the type and the plain attributes are told.
"""

from __future__ import annotations

import math
import sys
import types
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from claw_nb.core.named_secrets import random_looking, secret_kind
from claw_nb.core.redact import redact

LONGEST = 120
"""Characters of one value among many."""

_DEEPEST = 3
_MOST_ITEMS = 6
_HARMLESS = frozenset(
    {
        "_io", "datetime", "decimal", "fractions", "ipaddress", "pathlib", "pathlib._local", "random",
        "re", "uuid", "zoneinfo",
    }
)  # fmt: skip
_HARMLESS_BUILTINS = frozenset(
    {
        "NoneType", "bool", "float", "complex", "range", "ellipsis", "function", "generator",
        "coroutine", "async_generator", "builtin_function_or_method", "code",
    }
)  # fmt: skip
"""Unlike a bound method or an exception, these don't call the ``repr`` of something inside."""

_MISSING = frozenset({"NAType", "NaTType"})


def kind(value: object) -> str:
    """The type's name, with its library for what isn't built in or written here."""
    cls = type(value)
    top = cls.__module__.split(".")[0].strip("_")
    name = cls.__qualname__ if "<locals>" not in cls.__qualname__ else cls.__name__
    return (
        name[:100] if top in ("builtins", "main", "") else f"{top}.{name.rsplit('.', 1)[-1]}"[:120]
    )


def of(value: object, library: str, *names: str) -> bool:
    """Whether a value's class is, or derives from, a library's class of one of these names."""
    return library in sys.modules and any(
        cls.__name__ in names and cls.__module__.split(".")[0].lstrip("_") == library
        for cls in type(value).__mro__
    )


def is_a(value: object, *classes: type) -> bool:
    """``isinstance`` by the true type, so that no proxy is asked who it is."""
    return issubclass(type(value), classes)


def cell(value: Any, *, secret: str | None = None) -> Any:
    """A value as JSON shows it in a table or a list; ``secret``: what its column holds by name."""
    if is_a(value, type(None)) or type(value).__name__ in _MISSING:
        return None
    if secret in ("password", "key"):
        return f"[REDACTED:{secret}]"
    if type(value).__module__ == "numpy" and of(value, "numpy", "generic"):
        value = value.item()
    if is_a(value, bool):
        return bool(value)
    if is_a(value, int):
        return int(value) if -(2**53) < value < 2**53 else _integer(value)
    if is_a(value, float):
        return None if math.isnan(value) else float(value) if math.isfinite(value) else str(value)
    if is_a(value, str):
        text = str.__str__(value)
        if secret == "token" and random_looking(text):
            return "[REDACTED:token]"
        return cut(redact(text))
    return glimpse(value)


def glimpse(value: object, *, longest: int = LONGEST) -> str:
    """One line about any value."""
    return cut(redact(_say(value, 0)), longest)


def cut(text: str, longest: int = LONGEST) -> str:
    """The text's beginning, with a sign that there is more."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def attributes(value: object) -> Iterator[tuple[str, object]]:
    """The plain attributes of an object: its ``__dict__`` and slots, without any property."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    if is_a(own, dict):
        yield from list(dict.items(own))
    for cls in type(value).__mro__:
        for name, member in list(vars(cls).items()):
            if is_a(member, types.MemberDescriptorType) and not name.startswith("__"):
                try:
                    yield name, object.__getattribute__(value, name)
                except AttributeError:
                    continue


def hidden_by_name(name: str, value: object) -> str | None:
    """What stands for a value whose name says that it is a secret."""
    named = secret_kind(name)
    if named is None or not is_a(value, str, bytes):
        return None
    if named == "token" and not (is_a(value, str) and random_looking(str.__str__(value))):
        return None
    return f"[REDACTED:{named}]"


def _say(value: Any, depth: int) -> str:
    cls = type(value)
    if is_a(value, str):
        return repr(str.__str__(value)[: LONGEST * 4])
    if is_a(value, bytes, bytearray):
        return f"{kind(value)} of {len(value):,} bytes"
    if cls is int:
        return _integer(value)
    if is_a(value, dict):
        return _mapping(value, depth)
    if is_a(value, *_SEQUENCES):
        return _items(value, depth)
    if is_a(value, BaseException):
        args: Any = BaseException.__dict__["args"].__get__(value)
        return f"{kind(value)}({', '.join(_say(each, depth + 1) for each in args[:_MOST_ITEMS])})"
    if is_a(value, type):
        return f"class {type.__getattribute__(value, '__name__')}"
    if is_a(value, types.ModuleType):
        return f"module {types.ModuleType.__getattribute__(value, '__name__')}"
    if is_a(value, types.MethodType):
        return f"method {value.__func__.__name__} of {kind(value.__self__)}"
    builtin = cls.__module__ == "builtins" and cls.__name__ in _HARMLESS_BUILTINS
    if builtin or cls.__module__ in _HARMLESS or of(value, "numpy", "generic", "dtype"):
        return repr(value)
    return _described(value)


def _described(value: object) -> str:
    shape = shape_of(value)
    if shape is not None:
        return f"{kind(value)}[{'x'.join(map(str, shape))}]"
    names = [name for name, _ in islice(attributes(value), _MOST_ITEMS) if not name.startswith("_")]
    return f"{kind(value)} with {', '.join(names)}" if names else kind(value)


_SHAPED = (
    ("pandas", "DataFrame", "Series", "Index"),
    ("polars", "DataFrame", "Series"),
    ("pyarrow", "Table", "RecordBatch"),
    ("numpy", "ndarray"),
    ("torch", "Tensor"),
    ("jax", "Array"),
    ("jaxlib", "ArrayImpl"),
    ("cupy", "ndarray"),
    ("h5py", "Dataset"),
    ("zarr", "Array"),
)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of what is in memory and knows it without computing."""
    if not any(of(value, library, *names) for library, *names in _SHAPED):
        return None
    shape: Any = getattr(value, "shape", ())
    return tuple(int(each) for each in shape) if is_a(shape, tuple) else None


def _integer(value: Any) -> str:
    number = int.__index__(value)
    return str(number) if number.bit_length() < 1_000 else f"int of {number.bit_length():,} bits"


def _mapping(value: Any, depth: int) -> str:
    size = dict.__len__(value)
    if depth >= _DEEPEST:
        return f"dict of {size:,}"
    shown = []
    for key, item in islice(
        list(dict.items(value)) if size < 1_000 else dict.items(value), _MOST_ITEMS
    ):
        said = (is_a(key, str) and hidden_by_name(str.__str__(key), item)) or _say(item, depth + 1)
        shown.append(f"{_say(key, depth + 1)}: {said}")
    more = f", … {size - len(shown):,} more" if size > len(shown) else ""
    return f"{{{', '.join(shown)}{more}}}"


_SEQUENCES: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", deque: "[]"}


def sequence(value: Any) -> tuple[int, Iterator[Any]]:
    """The length and the items of a list, tuple or set, whatever its class makes of iterating."""
    base: Any = next(each for each in _SEQUENCES if is_a(value, each))
    return base.__len__(value), base.__iter__(value)


def _items(value: Any, depth: int) -> str:
    size, each = sequence(value)
    if depth >= _DEEPEST:
        return f"{kind(value)} of {size:,}"
    shown = [_say(item, depth + 1) for item in islice(each, _MOST_ITEMS)]
    more = f", … {size - len(shown):,} more" if size > len(shown) else ""
    brackets = next(pair for base, pair in _BRACKETS.items() if is_a(value, base))
    return brackets[0] + ", ".join(shown) + more + brackets[1]
