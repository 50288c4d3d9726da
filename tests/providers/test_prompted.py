"""Tools for models that know none."""

import json

import pytest

from claw_nb.core.messages import Message, Text, ToolCall, user
from claw_nb.core.protocols import Reply, TextPiece
from claw_nb.providers.openai import OpenAIProvider
from tests.providers.asking import ask_wire, request, results
from tests.providers.wire import Answer, chat

CALL = '{"name": "get_weather", "arguments": {"city": "Rome"}}'
ANSWER = '{"name": "answer", "arguments": {"text": "It is dry — \\"quite\\" 🐧\\nand 20\\u00b0."}}'
WORDS = 'It is dry — "quite" 🐧\nand 20°.'


def provider(url):
    return OpenAIProvider(base_url=f"{url}/v1", tools="prompted", new_id=lambda: "1")


def told(text, *, size=3, finish="stop", asked=None):
    pieces = [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    given, wire = ask_wire(
        provider,
        asked or request("Weather?", model="tiny"),
        Answer(chunks=chat(*pieces, finish=finish)),
    )
    assert isinstance(given, list), given
    assert isinstance(given[-1], Reply)
    words = [event.text for event in given if isinstance(event, TextPiece)]
    return words, given[-1], wire.bodies[0]


def test_the_tools_are_told_in_words_and_the_reply_is_held_to_a_schema():
    _, _, body = told(CALL)
    assert "tools" not in body
    assert "- get_weather: The weather in a city." in body["messages"][0]["content"]
    schema = body["response_format"]["json_schema"]["schema"]
    assert [choice["properties"]["name"] for choice in schema["anyOf"]] == [
        {"const": "get_weather"},
        {"const": "answer"},
    ]


def test_a_tool_call_is_read_and_nothing_of_it_is_shown():
    words, reply, _ = told(CALL)
    assert words == []
    assert reply.stop == "tool_use"
    assert reply.message.parts == (
        ToolCall(id="call_1", name="get_weather", arguments={"city": "Rome"}),
    )


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_words_of_an_answer_are_shown_while_they_come(size):
    words, reply, _ = told(ANSWER, size=size)
    assert "".join(words) == reply.message.text == WORDS
    assert reply.stop == "end"
    if size < 3:
        assert len(words) > 10


def test_a_pair_of_escapes_for_one_character_is_never_shown_by_halves():
    words, reply, _ = told('{"name":"answer","arguments":{"text":"\\ud83d\\udc27!"}}', size=1)
    assert words == ["🐧", "!"]
    assert reply.message.text == "🐧!"


@pytest.mark.parametrize(
    "text",
    [f"Sure!\n```json\n{CALL}\n```", f"  {CALL}  ", json.dumps(json.loads(CALL), indent=2)],
)
def test_a_call_is_found_in_what_servers_without_schemas_send(text):
    _, reply, _ = told(text)
    assert reply.message.tool_calls[0].arguments == {"city": "Rome"}


def test_plain_prose_is_an_answer():
    words, reply, _ = told("I do not know {yet}.")
    assert "".join(words) == reply.message.text == "I do not know {yet}."


def test_an_answer_cut_by_the_token_limit_keeps_its_words():
    words, reply, _ = told(ANSWER[:50], finish="length")
    assert "".join(words) == reply.message.text == 'It is dry — "'[: len(reply.message.text)]
    assert reply.message.text
    assert reply.stop == "max_tokens"


def test_earlier_calls_and_results_are_told_in_words():
    call = ToolCall(id="a", name="get_weather", arguments={"city": "Rome"})
    calling = Message(role="assistant", parts=(Text(text="Let me see."), call))
    asked = request(
        user("Weather?"), calling, results(calling, "dry", error="timeout"), "And?", model="tiny"
    )
    _, _, body = told(CALL, asked=asked)
    assert body["messages"][1:] == [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": CALL},
        {"role": "user", "content": "Result of get_weather failed (timeout):\ndry"},
        {"role": "user", "content": "And?"},
    ]


def test_without_tools_the_model_just_talks():
    _, reply, body = told("Hello.", asked=request("Hi", tools=(), model="tiny"))
    assert "response_format" not in body
    assert reply.message.text == "Hello."
