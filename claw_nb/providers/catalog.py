"""The providers by name, made when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from claw_nb.core.errors import ProviderError
from claw_nb.core.protocols import Provider
from claw_nb.core.redact import add_secret
from claw_nb.providers.pricing import PRICES, Price

ToolMode = Literal["native", "prompted"]


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What a provider is made of."""

    api_key: str
    base_url: str | None
    script: Path | None
    tools: ToolMode
    prices: Mapping[str, Price]


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """A row of the catalogue. ``install`` is the pip way to the SDK."""

    make: Callable[[_Wanted], Provider]
    default_model: str
    about: str
    key_variable: str = ""
    url_variable: str = ""
    install: str = "pip install claw-nb"
    packages: tuple[str, ...] = field(default=())


# Each SDK takes a second or more to import, so it is imported here, on first use.
def _anthropic(wanted: _Wanted) -> Provider:
    from claw_nb.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    return AnthropicProvider(
        api_key=wanted.api_key or "not-needed", base_url=wanted.base_url, prices=wanted.prices
    )


def _openai(wanted: _Wanted) -> Provider:
    from claw_nb.providers.openai import OpenAIProvider  # noqa: PLC0415

    return OpenAIProvider(
        api_key=wanted.api_key or None,
        base_url=wanted.base_url,
        tools=wanted.tools,
        prices=wanted.prices,
    )


def _scripted(wanted: _Wanted) -> Provider:
    from claw_nb.providers.scripted import ScriptedProvider  # noqa: PLC0415

    if wanted.script is None:
        raise ProviderError(
            "the scripted provider has no script to play",
            kind="missing",
            hint="Set CLAW_SCRIPT or `claw config set provider.script PATH`.",
        )
    return ScriptedProvider.load(wanted.script)


def _offline(wanted: _Wanted) -> Provider:
    from claw_nb.providers.offline import OfflineProvider  # noqa: PLC0415

    return OfflineProvider()


_ENTRIES: Mapping[str, _Entry] = {
    "offline": _Entry(
        make=_offline,
        default_model="interpreter",
        about="built in: no language model, it understands a few commands",
    ),
    "anthropic": _Entry(
        make=_anthropic,
        default_model="claude-sonnet-5-5",
        about="Claude, or any service that speaks Anthropic's Messages API",
        key_variable="ANTHROPIC_API_KEY",
        url_variable="ANTHROPIC_BASE_URL",
        packages=("anthropic", "httpx2"),
    ),
    "openai": _Entry(
        make=_openai,
        default_model="gpt-6.1-terra",
        about="OpenAI, Ollama, vLLM, llama.cpp or any OpenAI-compatible service",
        key_variable="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        install="pip install 'claw-nb[openai]'",
        packages=("openai", "httpx2"),
    ),
    "scripted": _Entry(
        make=_scripted,
        default_model="script",
        about="plays back a file of answers, for tests and docs",
    ),
}

NAMES: tuple[str, ...] = tuple(_ENTRIES)
"""The names that ``provider.name`` takes."""


def about(name: str) -> str:
    """One line that says what a provider is."""
    return _entry(name).about


def default_model(name: str) -> str:
    """The model that is asked when none is set."""
    return _entry(name).default_model


def needs_key(name: str, *, base_url: str | None = None) -> bool:
    """Whether a key is needed: not for the built-in ones, nor for a server on this machine."""
    entry = _entry(name)
    return bool(entry.key_variable) and not _is_local(base_url)


def key_variable(name: str) -> str:
    """The environment variable that holds the key, or "" when there is none."""
    return _entry(name).key_variable


def make(
    name: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    script: Path | None = None,
    tools: ToolMode = "native",
    prices: Mapping[str, Price] | None = None,
    env: Mapping[str, str] = os.environ,
) -> Provider:
    """The provider of that name.

    Without ``api_key`` and ``base_url`` the vendor's own variables count. Raises ProviderError of
    kind ``not_found`` (no such name), ``auth`` (no key) or ``missing`` (its package or script).
    ``prices`` extends and overrides the price table; a service elsewhere than the vendor's has
    only those.
    """
    entry = _entry(name)
    if tools not in ("native", "prompted"):
        raise ProviderError(
            f"provider.tools is native or prompted, not {tools!r}", kind="bad_request"
        )
    base_url = base_url or env.get(entry.url_variable) or None
    key = api_key or env.get(entry.key_variable) or ""
    if not key and needs_key(name, base_url=base_url):
        raise ProviderError(
            f"{name} needs a key, and {entry.key_variable} is not set",
            kind="auth",
            hint=f"Set {entry.key_variable}, or ask without a key: `claw config set provider "
            "offline`. A server of your own is set with provider.base_url.",
        )
    add_secret(key)
    listed = PRICES if base_url is None else {}
    wanted = _Wanted(
        api_key=key,
        base_url=base_url,
        script=script,
        tools=tools,
        prices={**listed, **(prices or {})},
    )
    try:
        return entry.make(wanted)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in entry.packages:
            raise
        raise ProviderError(
            f"the provider {name} needs the package {error.name}, which is not installed",
            kind="missing",
            hint=f"Install it: {entry.install}",
        ) from error


def _entry(name: str) -> _Entry:
    if name in _ENTRIES:
        return _ENTRIES[name]
    near = get_close_matches(name.lower(), NAMES, n=1, cutoff=0.5)
    guess = f"Did you mean {near[0]}? " if near else ""
    raise ProviderError(
        f"there is no provider named {name}",
        kind="not_found",
        hint=f"{guess}There are {', '.join(NAMES)}.",
    )


def _is_local(base_url: str | None) -> bool:
    """A loopback or private address, or a name without dots: a server of one's own."""
    host = urlsplit(base_url or "").hostname or ""
    if not host or host == "localhost" or host.endswith((".local", ".internal", ".localhost")):
        return bool(host)
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host
