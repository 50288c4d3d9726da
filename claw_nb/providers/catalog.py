"""The providers by name, made when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
class Login:
    """The Codex CLI's login. Without a ``file`` it is where that CLI keeps it."""

    file: Path | None = None
    mode: Literal["renew", "read-only"] = "renew"
    originator: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What a provider is made of."""

    api_key: str
    base_url: str | None
    api_version: str | None
    login: Login
    script: Path | None
    tools: ToolMode
    prices: Mapping[str, Price]


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """A row of the catalogue. ``install`` is the pip way to the SDK.

    Without a ``default_model`` one must be set, which ``model_is`` explains.
    """

    make: Callable[[_Wanted], Provider]
    default_model: str
    about: str
    key_variable: str = ""
    url_variable: str = ""
    version_variable: str = ""
    model_is: str = "a model"
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


def _azure(wanted: _Wanted) -> Provider:
    from claw_nb.providers.openai import OpenAIProvider  # noqa: PLC0415
    from claw_nb.providers.openai_hosts import azure_host  # noqa: PLC0415

    host = azure_host(
        api_key=wanted.api_key or None,
        base_url=wanted.base_url,
        api_version=wanted.api_version,
    )
    return OpenAIProvider(host=host, tools=wanted.tools, prices=wanted.prices)


def _codex(wanted: _Wanted) -> Provider:
    from claw_nb.providers.codex import CodexProvider  # noqa: PLC0415
    from claw_nb.providers.codex_login import CodexLogin  # noqa: PLC0415

    file = wanted.login.file
    assert file is not None
    return CodexProvider(
        CodexLogin(file.expanduser(), mode=wanted.login.mode),
        base_url=wanted.base_url,
        originator=wanted.login.originator,
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
    "azure-openai": _Entry(
        make=_azure,
        default_model="",
        about="your deployments at Azure OpenAI; the model is a deployment's name",
        key_variable="AZURE_OPENAI_API_KEY",
        url_variable="AZURE_OPENAI_ENDPOINT",
        version_variable="OPENAI_API_VERSION",
        model_is="the name of your deployment",
        install="pip install 'claw-nb[openai]'",
        packages=("openai", "httpx2"),
    ),
    "codex-subscription": _Entry(
        make=_codex,
        default_model="gpt-5.4",
        about="a ChatGPT plan, with the login of the Codex CLI (`codex login`) instead of a key",
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
    """The model that is asked when none is set, or "" when one must be."""
    return _entry(name).default_model


def model_for(name: str, model: str | None) -> str:
    """The model to ask: the given one, else the default; raises ProviderError without either."""
    entry = _entry(name)
    if model or entry.default_model:
        return model or entry.default_model
    raise ProviderError(
        f"{name} needs {entry.model_is}, and none is set",
        kind="missing",
        hint="Set it: `claw config set provider.model NAME`, or give --model NAME.",
    )


def needs_key(name: str, *, base_url: str | None = None) -> bool:
    """Whether a key is needed: not for the built-in ones, nor for a server on this machine."""
    entry = _entry(name)
    return bool(entry.key_variable) and not _is_local(base_url)


def key_variable(name: str) -> str:
    """The environment variable that holds the key, or "" when there is none."""
    return _entry(name).key_variable


def at_vendor(name: str, *, base_url: str | None, env: Mapping[str, str] = os.environ) -> bool:
    """Whether the vendor itself is asked, so that its list prices hold."""
    return not (base_url or env.get(_entry(name).url_variable))


def make(
    name: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    api_version: str | None = None,
    login: Login = Login(),
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
        api_version=api_version or env.get(entry.version_variable) or None,
        login=replace(login, file=login.file or _codex_file(env)),
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


def _codex_file(env: Mapping[str, str]) -> Path:
    home = env.get("CODEX_HOME")
    return (Path(home) if home else Path("~/.codex")) / "auth.json"


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
