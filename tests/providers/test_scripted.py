"""The scripted provider plays back, and says so when it is asked for something else."""

import asyncio
import json

import pytest

from claw_nb.core.errors import ConfigError, ProviderError
from claw_nb.core.messages import Message, Origin, Text, ToolCall, Usage, user
from claw_nb.core.protocols import Reply
from claw_nb.providers.script import Expect, Turn, read_script
from claw_nb.providers.scripted import ScriptedProvider
from tests.providers.asking import WEATHER, ask, events_of, request, results

SCRIPT = """
turns:
  - thinking: The city is Rome.
    text: I look.
    calls:
      - {name: get_weather, arguments: {city: Rome}}
    expect: {user: weather, tools: [get_weather], system: a test}
    usage: {input: 10, output: 5, cost: 0.5}
  - error: {kind: overloaded, message: busy, retry_after: 0.1}
  - text: Dry.
    expect: {tool_result: dry}
    stop: max_tokens
"""


def failure(provider, asked, kind=ProviderError):
    with pytest.raises(kind) as caught:
        ask(provider, asked)
    return caught.value


def written(tmp_path, text, name="script.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_file_is_played_turn_by_turn(tmp_path):
    provider = ScriptedProvider.load(written(tmp_path, SCRIPT))
    words, thoughts, reply = ask(provider, request("the weather?"))
    assert (words, thoughts, reply.stop) == ("I look.", "The city is Rome.", "tool_use")
    assert reply.usage == Usage(input=10, output=5, cost=0.5)
    (call,) = reply.message.tool_calls
    assert (call.name, call.arguments) == ("get_weather", {"city": "Rome"})
    assert call.id
    after = (user("the weather?"), reply.message, results(reply.message, "it is dry"))
    error = failure(provider, request(*after))
    assert (error.kind, error.message, error.retry_after) == ("overloaded", "busy", 0.1)
    _, _, last = ask(provider, request(*after))
    assert (last.message.text, last.stop, provider.left) == ("Dry.", "max_tokens", 0)


def test_json_is_read_as_well(tmp_path):
    path = written(tmp_path, json.dumps({"turns": ["one", {"text": "two"}]}), "script.json")
    assert read_script(path) == (Turn(text="one"), Turn(text="two"))


def test_a_file_goes_on_where_the_conversation_stopped(tmp_path):
    path = written(tmp_path, SCRIPT)
    origin = Origin(provider="scripted", model="script")
    said = Message(role="assistant", parts=(Text(text="I look."),), origin=origin)
    call = ToolCall(id="1", name="get_weather", arguments={})
    called = Message(role="assistant", parts=(call,), origin=None)
    asked = request(user("weather"), said, called, results(called, "dry"))
    provider = ScriptedProvider.load(path)
    assert failure(provider, asked).kind == "overloaded"
    assert ask(provider, asked)[2].message.text == "Dry."


def test_one_question_too_many_is_an_error():
    provider = ScriptedProvider(["one"])
    ask(provider, request("first"))
    error = failure(provider, request("second"))
    assert error.message == "the script has 1 turns and was asked for one more, after: 'second'"
    assert not error.transient


def test_a_turn_may_look_at_the_request_and_may_be_a_whole_reply():
    said = Message(role="assistant", parts=(Text(text="whole"),))
    provider = ScriptedProvider(
        [
            lambda asked: f"You said {asked.messages[-1].text}",
            Reply(message=said, stop="refused", usage=Usage(output=1)),
        ]
    )
    assert ask(provider, request("hello"))[0] == "You said hello"
    _, _, reply = ask(provider, request("hello"))
    assert (reply.message.text, reply.stop, reply.usage) == ("whole", "refused", Usage(output=1))
    assert len(provider.requests) == 2


@pytest.mark.parametrize(
    ("expect", "wrong"),
    [
        (Expect(user="bye"), "user holds 'hello', not 'bye'"),
        (Expect(system="pirate"), "system holds 'You are a test.', not 'pirate'"),
        (Expect(tool_result="x"), "tool_result holds '', not 'x'"),
        (Expect(tools=("bash", WEATHER.name)), "the tools bash are not offered"),
    ],
)
def test_a_request_that_the_turn_did_not_expect_is_an_error(expect, wrong):
    provider = ScriptedProvider([Turn(text="x", expect=expect)])
    error = failure(provider, request("hello"))
    assert error.message == f"turn 1 of the script expected another request: {wrong}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turns: [", "is not valid yaml"),
        ("- one", "has no list of `turns`"),
        ("turns: one", "has no list of `turns`"),
        ("turns: [7]", "turn 1: 7 is no object"),
        ("turns: [{words: x}]", "turn 1: nothing is called words here"),
        ("turns: [x, {calls: [{tool: y}]}]", "turn 2: nothing is called tool here"),
        ("turns: [{calls: [{arguments: {}}]}]", "turn 1: "),
        ("turns: [{error: {message: x}}]", "turn 1: an error needs a kind"),
        ("turns: [{error: {kind: cut, code: 3}}]", "turn 1: "),
        ("turns: [{stop: never}]", "turn 1: 'never' is no stop"),
        ("turns: [{usage: {tokens: 1}}]", "turn 1: nothing is called tokens here"),
        ("turns: [{expect: {tools: 5}}]", "turn 1: "),
    ],
)
def test_a_script_that_cannot_be_read_says_where(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_script(path)
    assert str(path) in caught.value.message
    assert said in caught.value.message
    assert caught.value.hint


def test_a_script_that_is_not_there_says_so(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_script(tmp_path / "none.yaml")


def test_pieces_have_the_size_that_was_asked_for():
    provider = ScriptedProvider(["abcdefg"], chunk=3)
    events = asyncio.run(events_of(provider, request("x")))
    assert [event.text for event in events[:-1]] == ["abc", "def", "g"]
