"""What is sent to Anthropic's Messages API, and what is made of its answers."""

import asyncio
import json
import traceback

import pytest

from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import (
    Image,
    Message,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    system,
    user,
)
from claw_nb.core.protocols import Reply
from claw_nb.providers.anthropic import AnthropicProvider
from claw_nb.providers.anthropic_wire import abilities
from tests.providers.asking import WEATHER, ask_wire, request, results
from tests.providers.wire import Answer, claude, serve

KEY = "sk-ant-api03-not-a-real-key-0123456789"
HELLO = Answer(chunks=claude(blocks=[{"type": "text", "text": "Hello"}]))
THOUGHT = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "text", "text": "Yes."},
    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "typed": '{"city": "Rome"}'},
]


def provider(url):
    return AnthropicProvider(api_key=KEY, base_url=url)


def sent(asked, *answers):
    """The bodies that the service got."""
    given, wire = ask_wire(provider, asked, *(answers or (HELLO,)))
    assert isinstance(given, list), given
    return wire.bodies


def replied(asked, answer):
    given, _ = ask_wire(provider, asked, answer)
    assert isinstance(given, list), given
    assert isinstance(given[-1], Reply)
    return given[-1]


def refused(status, kind, message, **headers):
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return Answer.json(status, body, **headers)


def test_a_whole_request():
    (body,) = sent(request("Hi", effort="low"))
    assert body == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1000,
        "stream": True,
        "system": [
            {
                "type": "text",
                "text": "You are a test.",
                "cache_control": {"type": "ephemeral"},
            }
        ],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "tools": [
            {
                "name": "get_weather",
                "description": "The weather in a city.",
                "input_schema": dict(WEATHER.parameters),
            }
        ],
        "cache_control": {"type": "ephemeral"},
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low"},
    }


@pytest.mark.parametrize(
    ("model", "able"),
    [
        ("claude-sonnet-5-5", {"thinking", "effort", "cache", "system_role", "raw"}),
        ("claude-opus-4-8", {"thinking", "effort", "cache", "system_role", "raw"}),
        ("claude-sonnet-5", {"thinking", "effort", "cache", "raw"}),
        ("claude-opus-4-6", {"thinking", "effort", "cache", "raw"}),
        ("claude-haiku-4-5-20251001", {"cache", "raw"}),
        ("claude-3-7-sonnet-20250219", {"cache", "raw"}),
        ("claude-next", {"thinking", "effort", "cache", "system_role", "raw"}),
        ("qwen3-8b", {"raw"}),
    ],
)
def test_a_model_is_asked_for_what_its_family_knows(model, able):
    assert abilities(model) == able


def test_thinking_and_tool_calls_are_read_and_kept_as_they_came():
    reply = replied(request("Go"), Answer(chunks=claude(stop="tool_use", blocks=THOUGHT)))
    assert reply == Reply(
        message=Message(
            role="assistant",
            parts=(
                Thinking(text="Hm."),
                Text(text="Yes."),
                ToolCall(id="toolu_1", name="get_weather", arguments={"city": "Rome"}),
            ),
            origin=Origin(
                provider="anthropic",
                model="claude-sonnet-5-5",
                raw=(
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": "Yes."},
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "name": "get_weather",
                        "input": {"city": "Rome"},
                    },
                ),
            ),
        ),
        stop="tool_use",
        usage=Usage(
            input=100,
            output=50,
            cache_read=1000,
            cache_write=200,
            cost=(100 * 2 + 50 * 10 + 1000 * 0.2 + 200 * 2.5) / 1e6,
        ),
    )


def test_raw_blocks_go_back_to_the_model_that_made_them_and_to_no_other():
    spoken = replied(request("Go"), Answer(chunks=claude(stop="tool_use", blocks=THOUGHT)))
    after = (user("Go"), spoken.message, results(spoken.message, "dry"))
    (same,) = sent(request(*after))
    assert same["messages"][1]["content"] == list(spoken.message.origin.raw)
    (other,) = sent(request(*after, model="claude-opus-5-5"))
    assert other["messages"][1]["content"] == [
        {"type": "text", "text": "Yes."},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Rome"}},
    ]


def test_plain_answers_keep_no_second_copy_of_themselves():
    reply = replied(request("Hi"), HELLO)
    assert reply.message.origin == Origin(provider="anthropic", model="claude-sonnet-5-5")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("refusal", "refused"),
        ("pause_turn", "paused"),
        ("something_new", "end"),
    ],
)
def test_reasons_to_stop_are_translated(theirs, ours):
    answer = Answer(chunks=claude(stop=theirs, blocks=[{"type": "text", "text": "x"}]))
    assert replied(request("Hi"), answer).stop == ours


def test_a_tool_call_cut_by_the_token_limit_does_not_run():
    half = {"type": "tool_use", "id": "t", "name": "get_weather", "typed": '{"city": "Ro'}
    blocks = [{"type": "text", "text": "I look."}, half]
    reply = replied(request("Hi"), Answer(chunks=claude(stop="max_tokens", blocks=blocks)))
    assert reply.message.parts == (Text(text="I look."),)
    assert reply.stop == "max_tokens"


def test_a_reminder_is_a_system_message_where_the_api_takes_one():
    call = ToolCall(id="t", name="get_weather", arguments={})
    called = Message(role="assistant", parts=(call,))
    asked = request("Go", called, results(called, "dry"), system("Finish soon."))
    (body,) = sent(asked)
    assert body["messages"][-1] == {"role": "system", "content": "Finish soon."}


def test_a_reminder_before_another_question_becomes_part_of_it():
    asked = request("Go", system("Finish soon."), "And now?")
    (body,) = sent(asked)
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Go"},
                {
                    "type": "text",
                    "text": "<system-reminder>\nFinish soon.\n</system-reminder>",
                },
                {"type": "text", "text": "And now?"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("said", "without"),
    [
        ("messages.1: role 'system' is not supported on this model", "system role"),
        ("thinking.type.adaptive is not supported on this model", "thinking"),
        ("output_config.effort: unknown", "effort"),
        ("cache_control: Extra inputs are not permitted", "cache"),
    ],
)
def test_what_a_model_refuses_is_left_out_and_asked_again_without(said, without):
    answer = refused(400, "invalid_request_error", said)
    asked = request("Go", system("Finish soon."), effort="high")
    first, second = sent(asked, answer, HELLO)
    used = {
        "system role": lambda body: any(m["role"] == "system" for m in body["messages"]),
        "thinking": lambda body: "thinking" in body,
        "effort": lambda body: "output_config" in body,
        "cache": lambda body: "cache_control" in json.dumps(body),
    }
    assert {name for name, uses in used.items() if uses(first)} == set(used)
    assert {name for name, uses in used.items() if uses(second)} == set(used) - {without}


def test_foreign_thinking_is_dropped_when_the_service_says_it_does_not_fit():
    raw = ({"type": "thinking", "thinking": "Hm.", "signature": "old"},)
    origin = Origin(provider="anthropic", model="claude-sonnet-5-5", raw=raw)
    said = Message(role="assistant", parts=(Text(text="Yes."),), origin=origin)
    answer = refused(
        400,
        "invalid_request_error",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    )
    first, second = sent(request("Go", said, "On"), answer, HELLO)
    assert "signature" in json.dumps(first)
    assert "signature" not in json.dumps(second)


def test_a_bad_request_that_is_nobody_elses_fault_is_an_error():
    given, wire = ask_wire(
        provider, request("Go"), refused(400, "invalid_request_error", "max_tokens: too big")
    )
    assert isinstance(given, ProviderError)
    assert (given.kind, given.status) == ("bad_request", 400)
    assert "max_tokens: too big" in given.message
    assert len(wire.bodies) == 1


def test_pictures_and_failed_tools_are_sent_as_such():
    call = ToolCall(id="odd id:1", name="draw", arguments={})
    called = Message(role="assistant", parts=(call,))
    picture = Image(data="QUJD", media_type="image/png")
    done = ToolResult(call_id="odd id:1", name="draw", parts=(picture,), error="system")
    (body,) = sent(request("Go", called, Message(role="tool", parts=(done,))))
    assert body["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "odd_id_1",
            "is_error": True,
            "content": [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"},
                }
            ],
        }
    ]
    assert body["messages"][1]["content"][0]["id"] == "odd_id_1"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refused(403, "permission_error", "no"), "auth"),
        (refused(404, "not_found_error", "model: x"), "not_found"),
        (refused(413, "request_too_large", "too big"), "overflow"),
        (refused(500, "api_error", "oops"), "server"),
        (refused(503, "api_error", "oops"), "overloaded"),
        (refused(504, "timeout_error", "slow"), "timeout"),
        (Answer(status=502, chunks=[b"<html>Bad gateway</html>"]), "server"),
        (Answer(chunks=[*claude(stop=None), None]), "cut"),
        (Answer(chunks=claude(stop=None)), "cut"),
        (Answer(chunks=[b'event: message_start\ndata: {"type\n\n']), "cut"),
        (Answer(chunks=[b"data: hello\n\n"]), "cut"),
        (
            Answer(
                chunks=[
                    *claude(stop=None),
                    (
                        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":5,'
                        b'"delta":{"type":"text_delta","text":"x"}}\n\n'
                    ),
                ]
            ),
            "cut",
        ),
        (
            Answer(
                chunks=[
                    *claude(stop=None),
                    (
                        b'event: error\ndata: {"type":"error","error":'
                        b'{"type":"overloaded_error","message":"Overloaded"}}\n\n'
                    ),
                ]
            ),
            "overloaded",
        ),
    ],
)
def test_every_failure_has_its_kind(answer, kind):
    given, _ = ask_wire(provider, request("Go"), answer)
    assert isinstance(given, ProviderError)
    assert given.kind == kind


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "12"}, 12.0),
        ({"retry_after_ms": "1500", "retry_after": "12"}, 1.5),
        ({"retry_after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_service_says_how_long_to_wait(headers, seconds):
    given, _ = ask_wire(
        provider, request("Go"), refused(429, "rate_limit_error", "slow down", **headers)
    )
    assert isinstance(given, ProviderError)
    assert given.retry_after == seconds


@pytest.mark.parametrize("key", [KEY, "swordfish of the company"])
def test_a_key_never_stands_in_an_error(key):
    words = f"invalid x-api-key {key}: check it"
    given, wire = ask_wire(
        lambda url: AnthropicProvider(api_key=key, base_url=url),
        request("Go"),
        refused(401, "authentication_error", words),
    )
    assert isinstance(given, ProviderError)
    assert key in json.dumps(wire.headers)
    assert key not in f"{given.__dict__} {''.join(traceback.format_exception(given))}"
    assert "invalid x-api-key" in given.message


def test_stopping_hangs_up_at_once():
    async def go():
        head = claude(blocks=[{"type": "text", "text": "Hello"}], stop=None)
        async with serve(Answer(chunks=[*head, 30.0])) as wire:

            async def watch():
                async for _ in provider(wire.url).stream(request("Go")):
                    begun.set()

            begun = asyncio.Event()
            task = asyncio.create_task(watch())
            await begun.wait()
            task.cancel()
            async with asyncio.timeout(5):
                await asyncio.gather(task, return_exceptions=True)
                await wire.hung_up.wait()
            return task.cancelled()

    assert asyncio.run(go())
