"""Recorded answers play back on another day, in another place, without a model."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from claw_nb.core.errors import ProviderError
from claw_nb.core.events import ApprovalRequest
from claw_nb.core.messages import (
    Image,
    Message,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    user,
)
from claw_nb.core.protocols import (
    ModelEvent,
    ModelRequest,
    Reply,
    TextPiece,
    ThinkingPiece,
    ToolSpec,
)
from claw_nb.providers.cassette import Cassette
from claw_nb.providers.normal import Folders, Normal
from claw_nb.providers.replay import RecordingProvider, ReplayProvider
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider


def request(*messages: Message, **given: Any) -> ModelRequest:
    fields = {"model": "m", "system": "Work.", "tools": ()} | given
    return ModelRequest(messages=messages, **fields)


async def heard(stream: AsyncGenerator[ModelEvent, None]) -> list[ModelEvent]:
    return [event async for event in stream]


async def recorded(path: Path, turns: list[Any], *asked: ModelRequest, **folders: Path) -> Cassette:
    cassette = Cassette(path=path, folders=Folders(named=folders))
    provider = RecordingProvider(ScriptedProvider(turns=turns), cassette)
    for one in asked:
        await heard(provider.stream(one))
    return cassette


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "nb.cassette.jsonl"


async def test_the_same_request_gets_the_same_answer(tape: Path) -> None:
    turn = Turn(
        text="It has **3** rows.", thinking="hm", usage=Usage(input=7, output=3, cost=0.5),
        calls=(ToolCall(id="c1", name="look", arguments={"at": "df"}),),
    )  # fmt: skip
    await recorded(tape, [turn], request(user("how many?")))
    events = await heard(ReplayProvider(Cassette(path=tape)).stream(request(user("how many?"))))
    assert events[:2] == [ThinkingPiece(text="hm"), TextPiece(text="It has **3** rows.")]
    reply = events[-1]
    assert isinstance(reply, Reply)
    assert reply.message.tool_calls == turn.calls
    assert reply.message.origin == Origin(provider="scripted", model="m")
    # It was paid for when it was recorded.
    assert reply.usage == Usage(input=7, output=3, cost=0.0)


async def test_another_request_is_refused_and_the_difference_shown(tape: Path) -> None:
    await recorded(tape, ["3", "4"], request(user("how many?")), request(user("a"), user("b")))
    player = ReplayProvider(Cassette(path=tape))
    with pytest.raises(ProviderError) as refused:
        await heard(player.stream(request(user("how much?"))))
    assert refused.value.kind == "replay"
    assert "-user: how many?\n+user: how much?" in refused.value.message
    assert str(tape) in refused.value.hint


async def test_a_changed_result_of_a_tool_is_a_change(tape: Path) -> None:
    def after(text: str) -> ModelRequest:
        call = ToolCall(id="c", name="look")
        result = ToolResult(call_id="c", name="look", parts=(Text(text=text),))
        return request(
            user("look"),
            Message(role="assistant", parts=(call,)),
            Message(role="tool", parts=(result,)),
        )

    await recorded(tape, ["seen"], after("344 rows"))
    with pytest.raises(ProviderError, match=r"-result 1: 344 rows\n\+result 1: 345 rows"):
        await heard(ReplayProvider(Cassette(path=tape)).stream(after("345 rows")))


ID = "019a2b3c4d5e7f60819a2b3c4d5e7f60"


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("saved at 2026-11-30 09:15:01", "saved at 2027-02-01T23:59:59.123+01:00"),
        (f"run {ID} ended", f"run 0{ID[:-1]} ended"),
        ("took 1.25 s", "took 0.90 s"),
        ("12 ms per loop", "7.5 µs per loop"),
        ("<object at 0x7f0011223344>", "<object at 0x7fffaabbccdd>"),
        ("/tmp/ipykernel_12/3456.py:1", "/tmp/ipykernel_99/1.py:1"),
        ("id 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "id 3f2504e0-4f89-11d3-9a0c-0305e82c3302"),
    ],
)  # fmt: skip
async def test_ids_and_times_do_not_matter(tape: Path, then: str, now: str) -> None:
    await recorded(tape, ["fine"], request(user(then)))
    assert await heard(ReplayProvider(Cassette(path=tape)).stream(request(user(now))))


@pytest.mark.parametrize(
    "text", ["2026-01-05", "5 s", "at 9:15", "version 1.2.3", "12 rows", "0x1f"]
)
def test_what_people_ask_about_is_not_taken_for_an_id_or_a_time(text: str) -> None:
    assert Normal(folders=Folders()).text(text) == text


async def test_folders_do_not_matter_and_answers_speak_of_the_present_ones(
    tape: Path, tmp_path: Path
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    answer = Turn(calls=(ToolCall(id="c", name="read", arguments={"path": f"{there}/a.csv"}),))
    await recorded(tape, [answer], request(user(f"read {there}/a.csv")), folder=there)
    assert str(there) not in tape.read_text()
    player = ReplayProvider(Cassette(path=tape, folders=Folders(named={"folder": here})))
    *_, reply = await heard(player.stream(request(user(f"read {here}/a.csv"))))
    assert isinstance(reply, Reply)
    assert reply.message.tool_calls[0].arguments == {"path": f"{here}/a.csv"}


async def test_a_recording_holds_no_secret(tape: Path) -> None:
    secret = "sk-ant-api03-" + "Ab1" * 20
    raw = ({"type": "thinking", "signature": "c2lnbmF0dXJl" * 9},)
    message = Message(
        role="assistant",
        parts=(Text(text=f"the key is {secret}"), Thinking(text=secret)),
        origin=Origin(provider="anthropic", model="m", raw=raw),
    )
    asked = request(user(f"use {secret}"), system=f"key: {secret}")
    await recorded(tape, [Reply(message=message, stop="end")], asked)
    assert secret not in tape.read_text()
    assert "c2lnbmF0dXJl" not in tape.read_text()
    assert await heard(ReplayProvider(Cassette(path=tape)).stream(asked))


async def test_instructions_and_tools_matter_only_when_asked_for(tape: Path) -> None:
    await recorded(tape, ["fine"], request(user("go")))
    tools = (ToolSpec(name="new", description="New.", parameters={}),)
    changed = request(user("go"), system="Work well.", tools=tools)
    assert await heard(ReplayProvider(Cassette(path=tape)).stream(changed))
    strict = ReplayProvider(Cassette(path=tape), match="request")
    with pytest.raises(ProviderError, match=r"-Work\.\n(?s:.*)\+Work well\."):
        await heard(strict.stream(changed))
    assert await heard(strict.stream(request(user("go"))))


async def test_another_model_is_a_change(tape: Path) -> None:
    await recorded(tape, ["fine"], request(user("go")))
    with pytest.raises(ProviderError, match=r"-model: m\n\+model: other"):
        await heard(ReplayProvider(Cassette(path=tape)).stream(request(user("go"), model="other")))


async def test_the_bytes_of_pictures_and_the_providers_own_ids_do_not_matter(tape: Path) -> None:
    def conversation(data: str, id_: str) -> ModelRequest:
        result = ToolResult(call_id=id_, name="plot", parts=(Image(data=data),))
        return request(
            user("plot"),
            Message(role="assistant", parts=(ToolCall(id=id_, name="plot"),)),
            Message(role="tool", parts=(result,)),
        )

    await recorded(tape, ["nice"], conversation("aaaa", "toolu_1"))
    assert await heard(ReplayProvider(Cassette(path=tape)).stream(conversation("bbbb", "call_9")))


async def test_equal_requests_get_their_answers_in_order(tape: Path) -> None:
    asked = request(user("roll a die"))
    await recorded(tape, ["3", "5"], asked, asked)
    player = ReplayProvider(Cassette(path=tape))
    texts = [(await heard(player.stream(asked)))[-1] for _ in range(3)]
    assert [t.message.text for t in texts if isinstance(t, Reply)] == ["3", "5", "5"]


async def test_what_is_recorded_later_goes_before(tape: Path) -> None:
    asked, other = request(user("roll a die")), request(user("flip a coin"))
    await recorded(tape, ["3", "5", "heads"], asked, asked, other)
    size = len(tape.read_text().splitlines())
    await recorded(tape, ["6"], asked)
    player = ReplayProvider(Cassette(path=tape))
    texts = [(await heard(player.stream(r)))[-1] for r in (asked, asked, other)]
    assert [t.message.text for t in texts if isinstance(t, Reply)] == ["6", "6", "heads"]
    # A conversation is written once, however often it is part of a request.
    assert len(tape.read_text().splitlines()) == size + 2


async def test_a_lasting_failure_is_part_of_the_recording_and_a_passing_one_is_not(
    tape: Path,
) -> None:
    long, busy = (
        ProviderError("too long", kind="overflow"),
        ProviderError("busy", kind="overloaded"),
    )
    provider = RecordingProvider(ScriptedProvider(turns=[busy, long]), Cassette(path=tape))
    for _ in range(2):
        with pytest.raises(ProviderError):
            await heard(provider.stream(request(user("go"))))
    assert len(Cassette(path=tape).calls()) == 1
    with pytest.raises(ProviderError, match="too long") as again:
        await heard(ReplayProvider(Cassette(path=tape)).stream(request(user("go"))))
    assert again.value.kind == "overflow"


async def test_calls_that_ran_are_allowed_and_no_others(tape: Path) -> None:
    ran, refused = (
        ToolCall(id=f"c{n}", name="bash", arguments={"command": f"do {n}"}) for n in (1, 2)
    )
    results = (
        ToolResult(call_id="c1", name="bash", parts=(Text(text="ok"),)),
        ToolResult(call_id="c2", name="bash", error="denied"),
    )
    asked = request(
        user("go"),
        Message(role="assistant", parts=(ran, refused)),
        Message(role="tool", parts=results),
    )
    await recorded(tape, ["done"], asked)
    player = ReplayProvider(Cassette(path=tape))
    other = replace(ran, arguments={"command": "rm -r ."})
    decisions = [
        (
            await player.approve(ApprovalRequest(call=c, effect="execute", reason="", digest=""))
        ).decision
        for c in (ran, refused, other)
    ]
    assert decisions == ["once", "denied", "denied"]


async def test_without_a_recording_it_says_how_to_make_one(tape: Path) -> None:
    with pytest.raises(ProviderError) as missing:
        ReplayProvider(Cassette(path=tape))
    assert (missing.value.kind, "--record" in missing.value.hint) == ("replay", True)


async def test_a_damaged_recording_is_told(tape: Path) -> None:
    await recorded(tape, ["fine"], request(user("go")))
    lines = [line for line in tape.read_text().splitlines() if json.loads(line)["type"] != "value"]
    tape.write_text("\n".join(lines))
    with pytest.raises(ProviderError, match="not whole"):
        ReplayProvider(Cassette(path=tape))
