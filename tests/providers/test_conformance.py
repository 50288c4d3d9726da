"""What every provider promises, asked of each of them."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Image, Message, Origin, Text, ToolCall, Usage, system, user
from claw_nb.core.protocols import ModelRequest, Provider, Reply
from claw_nb.providers.anthropic import AnthropicProvider
from claw_nb.providers.codex import CodexProvider
from claw_nb.providers.codex_login import CodexLogin
from claw_nb.providers.offline import OfflineProvider
from claw_nb.providers.openai import OpenAIProvider
from claw_nb.providers.openai_hosts import azure_host
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider
from tests.providers.asking import WEATHER, ask, events_of, request, results
from tests.providers.logins import write_login
from tests.providers.offline_specs import TOOLS

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LONG = "This answer takes much longer than anybody wants to wait for it, I fear."
WORLD = "Grüße zurück, 世界 🐧 — naïve café, 𝒳 and عربي."

#: What the user says to bring each case about; scripted and offline differ below.
SAID = {
    "words": "Say hello",
    "parallel": "Weather in two cities",
    "thinking": "Think first",
    "unicode": "grüße, 世界 🐧",
    "empty": "Say nothing",
    "image": "What is in the picture?",
    "slow": "Take your time",
    "overflow": "Much too long",
}

SCRIPT: Mapping[str, list] = {
    "words": ["Hello from the script, in more than one piece."],
    "parallel": [
        Turn(
            text="I look at both.",
            calls=(
                ToolCall(id="", name="get_weather", arguments={"city": "Paris"}),
                ToolCall(id="", name="get_weather", arguments={"city": "Zürich"}),
            ),
        ),
        "Both are dry.",
    ],
    "thinking": [Turn(thinking="Six times seven is what was asked for.", text="42")],
    "unicode": [WORLD],
    "empty": [""],
    "image": ["One pixel."],
    "slow": [Turn(text=LONG, pause=0.3)],
    "overflow": [ProviderError("too long", kind="overflow")],
}

OFFLINE_SAYS = {
    "words": "help",
    "parallel": "describe `penguins` and `flights`",
    "unicode": "grüße, 世界 🐧",
    "image": "And this one?",
}


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A provider under test, and how to bring each case about."""

    make: Callable[[str, str], Provider]
    said: Mapping[str, str] = field(default_factory=lambda: SAID)
    model: str = "claude-sonnet-5-5"
    tools: tuple = (WEATHER,)

    def request(self, case: str, *before: Message, image: bool = False) -> ModelRequest:
        pictures = (Image(data=PIXEL),) if image else ()
        asked = user(self.said[case], *pictures)
        return request(*before, asked, model=self.model, tools=self.tools)


HOME = tempfile.TemporaryDirectory(prefix="codex-")


def codex(url: str, case: str) -> Provider:
    login = CodexLogin(write_login(Path(HOME.name)), mode="read-only")
    return CodexProvider(login, base_url=f"{url}/v1")


SUBJECTS = {
    "anthropic": Subject(make=lambda url, case: AnthropicProvider(api_key="k", base_url=url)),
    "openai": Subject(
        make=lambda url, case: OpenAIProvider(api_key="k", base_url=f"{url}/v1"), model="gpt-x"
    ),
    "azure-openai": Subject(
        make=lambda url, case: OpenAIProvider(host=azure_host(api_key="k", base_url=url)),
        model="my-deployment",
    ),
    "codex-subscription": Subject(make=codex, model="gpt-5.4"),
    "scripted": Subject(make=lambda url, case: ScriptedProvider(SCRIPT[case]), model="script"),
    "offline": Subject(
        make=lambda url, case: OfflineProvider(),
        said=OFFLINE_SAYS,
        model="interpreter",
        tools=TOOLS,
    ),
}

each = pytest.mark.parametrize("name", SUBJECTS)
models = pytest.mark.parametrize("name", [name for name in SUBJECTS if name != "offline"])
"""Offline never thinks, is never silent and never overflows."""


@each
def test_words_come_in_pieces_and_then_once_as_a_whole(name, aimock):
    subject = SUBJECTS[name]
    provider = subject.make(aimock.url, "words")

    async def pieces():
        return await events_of(provider, subject.request("words"))

    events = asyncio.run(pieces())
    assert len(events) > 3
    words, _, reply = ask(subject.make(aimock.url, "words"), subject.request("words"))
    assert words == reply.message.text != ""
    assert reply.stop == "end"
    assert reply.message.role == "assistant"
    origin = reply.message.origin
    assert origin and (origin.provider, origin.model) == (provider.name, subject.model)


@each
def test_two_tools_are_called_in_one_message_and_their_results_are_read(name, aimock):
    subject = SUBJECTS[name]
    provider = subject.make(aimock.url, "parallel")
    asked = subject.request("parallel")
    words, _, reply = ask(provider, asked)
    assert reply.stop == "tool_use"
    assert words == reply.message.text
    first, second = reply.message.tool_calls
    assert first.name == second.name
    assert first.arguments != second.arguments
    assert first.id and second.id and first.id != second.id
    answered = results(reply.message, '{"name": "a"}', '{"name": "b"}')
    after = request(*asked.messages, reply.message, answered, model=subject.model)
    _, _, last = ask(provider, after)
    assert last.stop == "end"
    assert last.message.text


@each
def test_a_failed_tool_in_the_history_is_no_obstacle(name, aimock):
    subject = SUBJECTS[name]
    call = ToolCall(id="x:1/2", name="get_weather", arguments={"city": "Nowhere"})
    called = Message(role="assistant", parts=(Text(text="Let me see."), call))
    before = (user("Hm?"), called, results(called, "no such city", error="not_found"))
    reply = ask(subject.make(aimock.url, "words"), subject.request("words", *before))[2]
    assert reply.message.text


@models
def test_thinking_is_told_apart_from_words(name, aimock):
    subject = SUBJECTS[name]
    words, thoughts, reply = ask(subject.make(aimock.url, "thinking"), subject.request("thinking"))
    assert (words, thoughts) == ("42", "Six times seven is what was asked for.")
    assert reply.message.text == "42"
    assert [type(part).__name__ for part in reply.message.parts] == ["Thinking", "Text"]


@models
def test_every_script_of_the_world_survives(name, aimock):
    subject = SUBJECTS[name]
    words, _, reply = ask(subject.make(aimock.url, "unicode"), subject.request("unicode"))
    assert words == reply.message.text == WORLD


@models
def test_an_empty_answer_has_no_parts(name, aimock):
    subject = SUBJECTS[name]
    words, _, reply = ask(subject.make(aimock.url, "empty"), subject.request("empty"))
    assert (words, reply.message.parts, reply.stop) == ("", (), "end")


@each
def test_a_picture_may_be_asked_about(name, aimock):
    subject = SUBJECTS[name]
    reply = ask(subject.make(aimock.url, "image"), subject.request("image", image=True))[2]
    assert reply.message.text


def test_tokens_are_counted(aimock):
    used = {}
    for name, subject in SUBJECTS.items():
        reply = ask(subject.make(aimock.url, "words"), subject.request("words"))[2]
        used[name] = reply.usage
    assert used == {
        "anthropic": Usage(input=12, output=34, cost=(12 * 2 + 34 * 10) / 1e6),
        "openai": Usage(input=12, output=34, cost=None),
        "azure-openai": Usage(input=12, output=34, cost=None),
        "codex-subscription": Usage(input=12, output=34, cost=0.0),
        "scripted": Usage(cost=0.0),
        "offline": Usage(cost=0.0),
    }


@models
def test_a_conversation_that_is_too_long_says_so(name, aimock):
    subject = SUBJECTS[name]
    with pytest.raises(ProviderError) as caught:
        ask(subject.make(aimock.url, "overflow"), subject.request("overflow"))
    assert (caught.value.kind, caught.value.transient) == ("overflow", False)


@models
def test_a_stopped_answer_stops_at_once_and_leaves_nothing_running(name, aimock):
    subject = SUBJECTS[name]

    async def stop_after_first_words():
        async def watch():
            async with aclosing(subject.make(aimock.url, "slow").stream(asked)) as stream:
                async for _ in stream:
                    begun.set()

        asked, begun = subject.request("slow"), asyncio.Event()
        task = asyncio.create_task(watch())
        await begun.wait()
        task.cancel()
        # The whole answer takes five seconds; the time limit only ends a test that hangs.
        async with asyncio.timeout(3):
            await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        await asyncio.sleep(0)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(stop_after_first_words()) == set()


@each
def test_one_provider_serves_one_event_loop_after_another(name, aimock):
    subject = SUBJECTS[name]
    provider = (
        ScriptedProvider(["one", "two"])
        if name == "scripted"
        else subject.make(aimock.url, "words")
    )
    for _ in range(2):
        assert ask(provider, subject.request("words"))[2].message.text


@each
def test_a_session_is_handed_from_one_provider_to_another(name, aimock):
    """Every other provider has spoken before, with raw blocks that only fit itself."""
    subject = SUBJECTS[name]
    before: list[Message] = []
    for other in SUBJECTS:
        secret = ({"type": "thinking", "thinking": "mine", "signature": f"only-{other}"},)
        call = ToolCall(id=f"id of {other}", name="get_weather", arguments={"city": other})
        origin = Origin(provider=other, model="another model", raw=secret)
        called = Message(role="assistant", parts=(Text(text="Looking."), call), origin=origin)
        said = Message(role="assistant", parts=(Text(text=f"{other} spoke"),), origin=origin)
        before += [user("Go on"), called, results(called, "dry"), system("Be brief."), said]
    seen = len(aimock.requests())
    reply = ask(subject.make(aimock.url, "words"), subject.request("words", *before))[2]
    assert isinstance(reply, Reply)
    assert reply.message.text
    for body in aimock.requests()[seen:]:
        assert "only-" not in str(body)
        for other in SUBJECTS:
            assert f"{other} spoke" in str(body)
