"""The value that a setting's text or TOML stands for, in the type that the setting has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from claw_nb.core.errors import ConfigError

HOW = "Set it in config.toml, with CLAW_{} or `claw config set`."
"""What to do about a wrong value; takes the setting's name in capitals."""

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_KINDS = {int: "a whole number above 0", float: "a number above 0", bool: "true or false"}
_PRICE = ("input", "output", "cache_read", "cache_write", "upto")
_PRICE_HOW = (
    "Write it under [prices] in config.toml, in US dollars per million tokens: "
    '"openai/my-model" = {input = 2, output = 10}.'
)


def kind_of(hint: Any) -> type:
    """The type of a setting, whether it may be None or not; a price table is a dict."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    if get_origin(hint) is Literal:
        return str
    if type(None) in get_args(hint):
        return kind_of(kinds[0])
    if get_origin(hint) is Mapping:
        return dict
    found: type = hint
    return found


def typed(name: str, wanted: type, value: Any) -> Any:
    """The value in its setting's type, else ConfigError."""
    if wanted is dict:
        return prices(value)
    if wanted is bool and isinstance(value, str) and value.lower() in _TRUE + _FALSE:
        return value.lower() in _TRUE
    try:
        if wanted in (int, float) and not isinstance(value, bool):
            number = wanted(value)
            if number > 0 and (isinstance(value, str) or number == value):
                return number
        elif isinstance(value, wanted):
            return value
    except (TypeError, ValueError, OverflowError):
        pass
    raise ConfigError(
        f"the setting {name} must be {_KINDS.get(wanted, 'text')}, not {value!r}",
        hint=HOW.format(name.upper()),
    )


def prices(value: Any) -> Mapping[str, Mapping[str, float]]:
    """A user's price table, from TOML or from JSON text; rows by ``provider/model``."""
    try:
        table = json.loads(value) if isinstance(value, str) else value
        found = {
            str(model): {str(name): float(amount) for name, amount in dict(row).items()}
            for model, row in dict(table).items()
        }
    except (ValueError, TypeError) as error:
        raise ConfigError(f"the prices cannot be read: {error}", hint=_PRICE_HOW) from error
    for model, row in found.items():
        wrong = [name for name, amount in row.items() if name not in _PRICE or amount < 0]
        wrong += [name for name in ("input", "output") if name not in row]
        if "/" not in model or wrong:
            what = ", ".join(wrong) or "the provider's name and a slash are missing"
            raise ConfigError(f"the price of {model} is wrong: {what}", hint=_PRICE_HOW)
    return found
