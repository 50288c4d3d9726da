"""Every wire format against an independent server: errors, waits and cut streams."""

import asyncio

import pytest

from claw_nb.core.errors import ProviderError
from claw_nb.providers.anthropic import AnthropicProvider
from claw_nb.providers.codex import CodexProvider
from claw_nb.providers.codex_login import CodexLogin
from claw_nb.providers.openai import OpenAIProvider
from claw_nb.providers.openai_hosts import azure_host
from tests.providers.asking import ask, request
from tests.providers.logins import write_login


@pytest.fixture(autouse=True)
def codex_home(tmp_path, monkeypatch):
    monkeypatch.setitem(MAKERS, "codex-subscription", lambda url: codex(url, tmp_path))


def codex(url, folder):
    login = CodexLogin(write_login(folder), mode="read-only")
    return CodexProvider(login, base_url=f"{url}/v1")


MAKERS = {
    "anthropic": lambda url: AnthropicProvider(api_key="sk-test", base_url=url),
    "openai": lambda url: OpenAIProvider(api_key="sk-test", base_url=f"{url}/v1"),
    "azure-openai": lambda url: OpenAIProvider(host=azure_host(api_key="k", base_url=url)),
    "codex-subscription": lambda url: codex(url, None),
}
each = pytest.mark.parametrize("name", MAKERS)


def failure(name, aimock, said):
    with pytest.raises(ProviderError) as caught:
        ask(MAKERS[name](aimock.url), request(said))
    return caught.value


@each
@pytest.mark.parametrize(
    ("said", "kind", "status", "retry_after", "transient"),
    [
        ("Refuse my key", "auth", 401, None, False),
        ("Slow down", "rate_limit", 429, 7.0, True),
        ("Be overloaded", "overloaded", 529, None, True),
        ("Much too long", "overflow", 400, None, False),
        ("Break off", "cut", None, None, True),
    ],
)
def test_a_failure_is_named(name, aimock, said, kind, status, retry_after, transient):
    error = failure(name, aimock, said)
    if (name, kind) == ("codex-subscription", "auth"):
        status = None  # it tells about the login file, not about the answer
    assert (error.kind, error.status, error.retry_after) == (kind, status, retry_after)
    assert error.transient is transient
    assert error.hint


@each
def test_a_service_is_asked_once_however_it_fails(name, aimock):
    """The loop retries, where it can be seen; the SDK does not."""
    before = len(aimock.requests())
    failure(name, aimock, "Be overloaded")
    assert len(aimock.requests()) == before + 1


@each
def test_what_was_said_before_the_cut_was_shown(name, aimock):
    shown = []

    async def go():
        async for event in MAKERS[name](aimock.url).stream(request("Break off")):
            shown.append(event.text)

    with pytest.raises(ProviderError, match="broke off in the middle"):
        asyncio.run(go())
    assert "".join(shown).startswith("This")


@each
def test_a_service_that_is_not_there_says_where_it_was_looked_for(name):
    with pytest.raises(ProviderError) as caught:
        ask(MAKERS[name]("http://127.0.0.1:9"), request("Hello"))
    assert caught.value.kind == "connection"
    assert "http://127.0.0.1:9" in caught.value.hint
