"""What is sent to a chat-completions API, and what is made of its answers."""

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
)
from claw_nb.core.protocols import Reply
from claw_nb.providers.openai import OpenAIProvider
from claw_nb.providers.openai_wire import Collected, parameters
from claw_nb.providers.pricing import Price
from tests.providers.asking import WEATHER, ask_wire, results
from tests.providers.asking import request as any_request
from tests.providers.wire import Answer, chat, serve

KEY = "sk-proj-not-a-real-key-0123456789abcdef"
HELLO = Answer(chunks=chat({"role": "assistant", "content": "Hello"}))


def request(*messages, **given):
    return any_request(*messages, model=given.pop("model", "qwen3"), **given)


def provider(url):
    return OpenAIProvider(api_key=KEY, base_url=f"{url}/v1")


def sent(asked, *answers, make=provider):
    given, wire = ask_wire(make, asked, *(answers or (HELLO,)))
    assert isinstance(given, list), given
    return wire.bodies


def replied(answer, asked=None, make=provider):
    given, _ = ask_wire(make, asked or request("Go"), answer)
    assert isinstance(given, list), given
    assert isinstance(given[-1], Reply)
    return given[-1]


def called(index, **given):
    piece = {"function": {}}
    if index is not None:
        piece["index"] = index
    if "id" in given:
        piece |= {"id": given["id"], "type": "function"}
    for name in ("name", "arguments"):
        if name in given:
            piece["function"][name] = given[name]
    return {"tool_calls": [piece]}


def test_a_whole_request():
    (body,) = sent(request("Hi", effort="low"))
    assert body == {
        "model": "qwen3",
        "messages": [
            {"role": "system", "content": "You are a test."},
            {"role": "user", "content": "Hi"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "The weather in a city.",
                    "parameters": dict(WEATHER.parameters),
                },
            }
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 1000,
        "reasoning_effort": "low",
    }


def test_openai_itself_is_told_the_limit_in_its_own_words():
    given = parameters(request("Hi"), OpenAIProvider(api_key=KEY)._able, None)
    assert given["max_completion_tokens"] == 1000
    assert "max_tokens" not in given


def test_calls_tools_and_pictures_of_the_history_are_sent():
    call = ToolCall(id="c1", name="draw", arguments={"what": "ü"})
    calling = Message(role="assistant", parts=(Thinking(text="hm"), Text(text="Ok."), call))
    picture = Image(data="QUJD", media_type="image/jpeg")
    done = ToolResult(call_id="c1", name="draw", parts=(picture,))
    (body,) = sent(request("Go", calling, Message(role="tool", parts=(done,))))
    assert body["messages"][2:] == [
        {
            "role": "assistant",
            "content": "Ok.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "draw", "arguments": '{"what": "\\u00fc"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "(a picture, below)"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "The pictures that the tools gave:"},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}},
            ],
        },
    ]


def test_parallel_calls_come_in_pieces():
    reply = replied(
        Answer(
            chunks=chat(
                called(0, id="a", name="get_weather", arguments=""),
                called(0, arguments='{"city": '),
                called(1, id="b", name="get_weather", arguments='{"city": "Rome"}'),
                called(0, arguments='"Oslo"}'),
                finish="tool_calls",
            )
        )
    )
    assert reply.message.tool_calls == (
        ToolCall(id="a", name="get_weather", arguments={"city": "Oslo"}),
        ToolCall(id="b", name="get_weather", arguments={"city": "Rome"}),
    )
    assert reply.stop == "tool_use"


def test_calls_of_servers_that_number_them_all_zero_stay_apart():
    reply = replied(
        Answer(
            chunks=chat(
                called(0, id="a", name="get_weather", arguments='{"city": "Oslo"}'),
                called(0, id="b", name="get_weather", arguments='{"city": "Rome"}'),
            )
        )
    )
    assert [call.arguments["city"] for call in reply.message.tool_calls] == ["Oslo", "Rome"]
    assert reply.stop == "tool_use"


def test_calls_of_servers_that_number_none_are_understood():
    reply = replied(
        Answer(
            chunks=chat(
                called(None, id="a", name="get_weather", arguments='{"city": "Oslo"}'),
                called(None, id="b", name="get_weather", arguments='{"city": '),
                called(None, arguments='"Rome"}'),
            )
        )
    )
    assert [call.arguments["city"] for call in reply.message.tool_calls] == ["Oslo", "Rome"]


def test_a_call_without_an_id_gets_one():
    reply = replied(Answer(chunks=chat(called(0, name="get_weather", arguments="{}"))))
    assert reply.message.tool_calls[0].id.startswith("call_")


def test_arguments_that_are_no_json_reach_the_tool_so_that_the_model_is_told():
    reply = replied(Answer(chunks=chat(called(0, id="a", name="f", arguments='{"city": Oslo}'))))
    assert reply.message.tool_calls[0].arguments == {"malformed_arguments": '{"city": Oslo}'}


def test_a_call_cut_by_the_token_limit_does_not_run():
    reply = replied(
        Answer(
            chunks=chat(
                {"content": "I look."},
                called(0, id="a", name="f", arguments='{"city": "O'),
                finish="length",
            )
        )
    )
    assert (reply.message.parts, reply.stop) == ((Text(text="I look."),), "max_tokens")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_read_and_sent_back_between_tool_calls_only(name):
    chunks = chat(
        {name: "Let me "},
        {name: "see."},
        called(0, id="a", name="get_weather", arguments="{}"),
        finish="tool_calls",
    )
    reply = replied(Answer(chunks=chunks))
    assert reply.message.parts[0] == Thinking(text="Let me see.")
    assert reply.message.origin == Origin(
        provider="openai", model="qwen3", raw=({name: "Let me see."},)
    )
    after = ("Go", reply.message, results(reply.message, "dry"))
    (now,) = sent(request(*after))
    assert now["messages"][2][name] == "Let me see."
    (later,) = sent(request(*after, "And now?"))
    assert name not in later["messages"][2]
    (other,) = sent(request(*after, model="another"))
    assert name not in other["messages"][2]


def test_tokens_are_counted_and_priced_by_the_users_own_table():
    counted = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    }
    prices = {"openai/qwen3": Price(input=1, output=2, cache_read=0.5, cache_write=1)}
    reply = replied(
        Answer(chunks=chat({"content": "x"}, usage=counted)),
        make=lambda url: OpenAIProvider(base_url=f"{url}/v1", prices=prices),
    )
    assert reply.usage == Usage(
        input=30, output=10, cache_read=60, cache_write=10, cost=(30 + 20 + 30 + 10) / 1e6
    )


def test_a_server_that_counts_nothing_counts_nothing():
    assert replied(HELLO).usage == Usage()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("stop", "end"), ("length", "max_tokens"), ("content_filter", "refused"), ("eos", "end")],
)
def test_reasons_to_stop_are_translated(theirs, ours):
    assert replied(Answer(chunks=chat({"content": "x"}, finish=theirs))).stop == ours


@pytest.mark.parametrize(
    ("status", "said", "without"),
    [
        (400, "Unrecognized request argument: stream_options", "usage"),
        (400, "Conversation roles must alternate user/assistant", "system role"),
        (500, "System message must be at the beginning.", "system role"),
        (422, "reasoning_effort: Extra inputs are not permitted", "effort"),
        (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "limit"),
    ],
)
def test_what_a_server_refuses_is_left_out_from_then_on(status, said, without):
    answer = Answer.json(status, {"error": {"message": said, "type": "invalid_request_error"}})
    asked = request("Go", system("Finish soon."), effort="high")
    first, second = sent(asked, answer, HELLO)
    used = {
        "usage": lambda body: "stream_options" in body,
        "system role": lambda body: body["messages"][-1]["role"] == "system",
        "effort": lambda body: "reasoning_effort" in body,
        "limit": lambda body: "max_tokens" in body,
    }
    assert {name for name, uses in used.items() if uses(first)} == set(used)
    assert {name for name, uses in used.items() if uses(second)} == set(used) - {without}


def test_a_model_without_tools_is_told_of_the_other_mode():
    said = "registry.ollama.ai/library/gemma3:1b does not support tools"
    given, _ = ask_wire(
        provider, request("Go"), Answer.json(400, {"error": {"message": said, "type": "api_error"}})
    )
    assert isinstance(given, ProviderError)
    assert given.kind == "bad_request"
    assert "claw config set provider.tools prompted" in given.hint


def error(status, **body):
    return Answer.json(status, {"error": body})


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(401, message="Incorrect API key", code="invalid_api_key"), "auth"),
        (error(403, message="no"), "auth"),
        (error(404, message="The model does not exist", code="model_not_found"), "not_found"),
        (error(400, message="too long", code="context_length_exceeded"), "overflow"),
        (
            error(400, message="This model's maximum context length is 4096 tokens."),
            "overflow",
        ),
        (
            error(
                400,
                message="request (5000 tokens) exceeds the available context size (2048 tokens)",
                type="exceed_context_size_error",
            ),
            "overflow",
        ),
        (error(413, message="too large"), "overflow"),
        (error(429, message="slow down", type="requests"), "rate_limit"),
        (error(429, message="You exceeded your quota", code="insufficient_quota"), "auth"),
        (error(500, message="oops"), "server"),
        (error(503, message="loading the model"), "overloaded"),
        (Answer(status=502, chunks=[b"<html>Bad gateway</html>"]), "server"),
        (Answer(chunks=[*chat({"content": "x"}, finish=None), None]), "cut"),
        (Answer(chunks=chat({"content": "x"}, finish=None)), "cut"),
        (Answer(chunks=[b'data: {"choi\n\n']), "cut"),
        (Answer(chunks=[b'data: {"choices": [{"delta": 7}]}\n\n']), "cut"),
        (Answer(chunks=[b'data: {"error": {"message": "boom", "code": 500}}\n\n']), "server"),
    ],
)
def test_every_failure_has_its_kind(answer, kind):
    given, _ = ask_wire(provider, request("Go"), answer)
    assert isinstance(given, ProviderError)
    assert given.kind == kind


@pytest.mark.parametrize("key", [KEY, "swordfish of the company"])
def test_a_key_never_stands_in_an_error(key):
    answer = error(401, message=f"Incorrect API key provided: {key}. You can find yours online.")
    given, wire = ask_wire(
        lambda url: OpenAIProvider(api_key=key, base_url=f"{url}/v1"), request("Go"), answer
    )
    assert isinstance(given, ProviderError)
    assert key in json.dumps(wire.headers)
    assert key not in f"{given.__dict__} {''.join(traceback.format_exception(given))}"
    assert "Incorrect API key provided" in given.message


def test_a_local_server_needs_no_key():
    given, wire = ask_wire(lambda url: OpenAIProvider(base_url=f"{url}/v1"), request("Go"), HELLO)
    assert isinstance(given, list)
    assert wire.headers[0]["authorization"] == "Bearer not-needed"


def test_stopping_hangs_up_at_once():
    async def go():
        head = chat({"content": "Hello"}, finish=None)
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


def test_two_calls_of_one_id_are_told_apart() -> None:
    collected = Collected(new_id=iter("ab").__next__)
    collected.called(0, "call_0", "look", "{}")
    collected.called(1, "call_0", "look", "{}")
    assert [part.id for part in collected.parts()] == ["call_0", "call_a"]
