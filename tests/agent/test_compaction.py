"""A conversation that grows too long: what the model is sent, and that nothing is lost."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw_nb.agent import Agent, Limits, ask_nobody
from claw_nb.agent import compaction as rules
from claw_nb.agent.compaction import Window, begin, cut, tokens, view
from claw_nb.agent.summary import summary
from claw_nb.core.errors import ProviderError
from claw_nb.core.events import (
    CompactionFinished,
    CompactionStarted,
    Event,
    MessageAdded,
    RunFailed,
    RunFinished,
    SessionRotated,
    TurnFinished,
)
from claw_nb.core.messages import (
    Compaction,
    Message,
    Origin,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    repair,
    user,
)
from claw_nb.core.protocols import ModelRequest, Reply
from claw_nb.core.tools import Tool, tool
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider

SMALL = Window(size=2_000)


def say(text: str, raw: Any = ()) -> Message:
    origin = Origin(provider="scripted", model="m", raw=raw)
    return Message(role="assistant", parts=(Text(text=text),), origin=origin)


def turns(count: int, size: int = 400) -> list[Message]:
    """A conversation of questions and long answers."""
    made: list[Message] = []
    for n in range(count):
        made += [user(f"question {n}"), say(f"answer {n} " + "x" * size, raw=({"n": n},))]
    return made


def agent(script: list[Any], *tools: Tool, window: Window = SMALL) -> Agent:
    return Agent(
        name="main", provider=ScriptedProvider(turns=script), model="m", instructions="Work.",
        tools=tools, limits=Limits(max_turns=10, max_retries=0), window=window,
    )  # fmt: skip


async def run(chosen: Agent, history: list[Message], **given: Any) -> list[Event]:
    options: dict[str, Any] = {"run_id": "r", "session_id": "s", "approve": ask_nobody} | given
    return [event async for event in chosen.run(history, user("and now?"), **options)]


def of(events: list[Event], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def sent(chosen: Agent) -> list[ModelRequest]:
    provider = chosen.provider
    assert isinstance(provider, ScriptedProvider)
    return provider.requests


# -- when and where ----------------------------------------------------------------------------


async def test_a_short_conversation_is_sent_as_it_is() -> None:
    chosen = agent(["fine"])
    history = turns(3)
    events = await run(chosen, history)
    assert of(events, CompactionStarted) == []
    assert sent(chosen)[0].messages == (*history, user("and now?"))


async def test_a_full_window_is_compacted_before_the_model_is_asked() -> None:
    chosen = agent(["fine"])
    history = turns(20)
    events = await run(chosen, history)
    [started] = of(events, CompactionStarted)
    [done] = of(events, CompactionFinished)
    assert started.before == done.before > SMALL.threshold
    assert done.after <= SMALL.threshold
    first, *tail = sent(chosen)[0].messages
    assert "question 15" in first.text
    assert "turns before are left out" in first.text
    assert "not a request" in first.text
    assert [m.text[:11] for m in tail if m.role == "user"][-1] == "and now?"
    assert tail[0].role == "user"


async def test_the_transcript_stays_whole() -> None:
    events = await run(agent(["fine"]), turns(20))
    assert [e.message.text for e in of(events, MessageAdded)] == ["and now?", "fine"]


async def test_raw_blocks_from_before_a_compaction_are_not_sent_again() -> None:
    chosen = agent(["fine"])
    await run(chosen, turns(20))
    kept = [m for m in sent(chosen)[0].messages if m.role == "assistant"]
    assert kept
    assert all(m.origin is not None and m.origin.raw == () for m in kept)


async def test_raw_blocks_from_after_a_compaction_stay() -> None:
    history = turns(4)
    made = Compaction(covers=4, at=6, summary="before")
    assert [m.origin.raw for m in view(history, made) if m.origin] == [(), ({"n": 3},)]


async def test_a_second_compaction_begins_where_the_first_ended() -> None:
    history = turns(20)
    [first] = [e.compaction for e in of(await run(agent(["a"]), history), CompactionFinished)]
    longer = [*history, user("and now?"), say("a"), *turns(20)]
    chosen = agent(["b"])
    events = await run(chosen, longer, compaction=first)
    [second] = [e.compaction for e in of(events, CompactionFinished)]
    assert second.covers > first.covers
    assert longer[second.covers].role == "user"
    # What the first one covered is not read again; its summary is carried on.
    assert first.summary[-100:] in second.summary
    assert len(second.summary) <= SMALL.summary_length


async def test_a_compaction_that_was_made_before_holds() -> None:
    history = turns(20)
    made = Compaction(covers=38, at=40, summary="what was before")
    chosen = agent(["fine"])
    events = await run(chosen, history, compaction=made)
    assert of(events, CompactionStarted) == []
    texts = [m.text for m in sent(chosen)[0].messages]
    assert "what was before" in texts[0]
    assert [text[:11] for text in texts[1:]] == ["question 19", "answer 19 x", "and now?"]


# -- overflow ----------------------------------------------------------------------------------

OVERFLOW = ProviderError("too long", kind="overflow")


async def test_an_overflow_leads_to_one_compaction_and_one_more_try() -> None:
    chosen = agent([OVERFLOW, "fine"], window=Window(size=100_000))
    events = await run(chosen, turns(20))
    assert [e.reason for e in of(events, CompactionFinished)] == ["overflow"]
    assert isinstance(events[-1], RunFinished)
    before, after = (sum(map(tokens, r.messages)) for r in sent(chosen))
    assert after < before * 0.8


async def test_a_second_overflow_ends_the_run() -> None:
    events = await run(agent([OVERFLOW, OVERFLOW], window=Window(size=100_000)), turns(20))
    assert isinstance(events[-1], RunFailed)
    assert events[-1].kind == "overflow"
    assert len(of(events, CompactionStarted)) == 1


async def test_a_question_that_is_too_long_by_itself_fails_and_keeps_the_session() -> None:
    chosen = agent([OVERFLOW], window=Window(size=100_000))
    events = await run(chosen, [])
    assert of(events, SessionRotated) == []
    assert isinstance(events[-1], RunFailed)
    assert len(sent(chosen)) == 1


# -- a turn is never cut -----------------------------------------------------------------------


@tool()
async def dig(where: str) -> str:
    """Dig."""
    return f"found in {where}: " + "y" * 1_200


def digging(n: int) -> Turn:
    return Turn(calls=(ToolCall(id=f"c{n}", name="dig", arguments={"where": f"hole {n}"}),))


async def test_a_turn_that_fills_the_window_goes_on_in_a_new_session() -> None:
    chosen = agent([*map(digging, range(6)), "done"], dig)
    events = await run(chosen, [])
    [rotated] = of(events, SessionRotated)
    assert rotated.after < rotated.before
    at = events.index(rotated)
    record, question = (e.message for e in of(events[at:], MessageAdded)[:2])
    assert "dig(where='hole" in record.text
    assert "goes on" in record.text
    assert question == user("and now?")
    assert isinstance(events[-1], RunFinished)
    request = sent(chosen)[len(of(events[:at], TurnFinished))]
    assert request.messages == (record, question)


async def test_every_request_has_each_call_answered_whatever_was_cut() -> None:
    orphan = Message(role="assistant", parts=(ToolCall(id="lost", name="dig"),))
    stray = Message(role="tool", parts=(ToolResult(call_id="nobody", name="dig"),))
    history = [*turns(6), user("dig"), orphan, stray, *turns(12)]
    chosen = agent([digging(1), OVERFLOW, digging(2), "done"], dig)
    events = await run(chosen, history)
    assert isinstance(events[-1], RunFinished)
    for request in sent(chosen):
        assert repair(request.messages) == request.messages


messages = st.lists(
    st.one_of(
        st.text(max_size=30).map(user),
        st.text(max_size=30).map(say),
        st.integers(0, 3).map(
            lambda n: Message(role="assistant", parts=(ToolCall(id=f"c{n}", name="dig"),))
        ),
        st.integers(0, 3).map(
            lambda n: Message(role="tool", parts=(ToolResult(call_id=f"c{n}", name="dig"),))
        ),
    ),
    max_size=20,
)


@settings(max_examples=200, deadline=None)
@given(history=messages, after=st.integers(0, 20), keep=st.integers(0, 60))
def test_a_cut_is_before_a_users_message_and_beyond_the_last_one(
    history: list[Message], after: int, keep: int
) -> None:
    sizes = [tokens(message) for message in history]
    at = cut(history, sizes, after=after, keep=keep)
    if at is None:
        return
    assert history[at].role == "user"
    assert at > after
    later = [n for n in range(at + 1, len(history)) if history[n].role == "user"]
    assert sum(sizes[at:]) <= keep or not later
    earlier = [n for n in range(after + 1, at) if history[n].role == "user"]
    assert all(sum(sizes[n:]) > keep for n in earlier)


@settings(max_examples=200, deadline=None)
@given(history=messages, covers=st.integers(0, 25), at=st.integers(0, 25))
def test_a_damaged_transcript_never_makes_a_view_that_begins_inside_a_turn(
    history: list[Message], covers: int, at: int
) -> None:
    made = Compaction(covers=covers, at=at, summary="s")
    start = begin(history, made)
    assert start in (0, len(history)) or history[start].role == "user"
    assert len(view(history, made)) == 1 + len(history) - start


# -- the summary -------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(history=messages, earlier=st.text(max_size=3_000), limit=st.integers(300, 4_000))
def test_a_summary_keeps_its_limit_and_is_the_same_each_time(
    history: list[Message], earlier: str, limit: int
) -> None:
    text = summary(history, earlier=earlier, limit=limit)
    assert len(text) <= limit
    assert text == summary(history, earlier=earlier, limit=limit)


def test_a_summary_says_what_was_asked_done_and_answered() -> None:
    call = ToolCall(id="c", name="read_file", arguments={"path": "notes.md"})
    failed = ToolResult(
        call_id="c", name="read_file", parts=(Text(text="no file"),), error="not_found"
    )
    history = [
        user("read my notes"),
        Message(role="assistant", parts=(call,)),
        Message(role="tool", parts=(failed,)),
        say("There are none."),
    ]
    assert summary(history, limit=2_000) == (
        "### Turn 1\n"
        "User: read my notes\n"
        "- read_file(path='notes.md'): not_found: no file\n"
        "Agent: There are none."
    )


async def test_the_model_may_write_the_summary() -> None:
    window = Window(size=2_000, summary="model")
    written = Turn(text="They counted birds.", usage=Usage(input=50, output=9, cost=0.5))
    chosen = agent([written, "fine"], window=window)
    events = await run(chosen, turns(20))
    [done] = of(events, CompactionFinished)
    assert (done.by, done.compaction.summary) == ("model", "They counted birds.")
    assert done.usage.cost == 0.5
    assert events[-1].usage.cost == 0.5
    asked = sent(chosen)[0]
    assert asked.tools == ()
    assert "question 3" in asked.messages[0].text


async def test_rules_write_it_when_the_model_cannot() -> None:
    window = Window(size=2_000, summary="model")
    chosen = agent([ProviderError("busy", kind="overloaded"), "fine"], window=window)
    [done] = of(await run(chosen, turns(20)), CompactionFinished)
    assert (done.by, "question 15" in done.compaction.summary) == ("rules", True)


# -- asked for ---------------------------------------------------------------------------------


async def test_it_can_be_asked_for() -> None:
    chosen = agent([], window=Window(size=100_000))
    events = [event async for event in chosen.compact(turns(10))]
    [done] = of(events, CompactionFinished)
    assert (done.reason, done.compaction.covers) == ("asked", 18)
    assert done.after < done.before


@pytest.mark.parametrize("history", [[], turns(1)])
async def test_there_is_nothing_to_compact_in_a_first_turn(history: list[Message]) -> None:
    chosen = agent([], window=Window(size=100_000))
    assert [event async for event in chosen.compact(history)] == []


async def test_a_summary_longer_than_what_it_stands_for_is_thrown_away() -> None:
    chosen = agent([], window=Window(size=100_000))
    events = [event async for event in chosen.compact([user("a"), say("b"), user("c"), say("d")])]
    assert [e.compaction for e in of(events, CompactionFinished)] == [None]


# -- measuring ---------------------------------------------------------------------------------


async def test_the_services_own_count_corrects_the_estimate() -> None:
    """A service that counts three times as many tokens fills its window three times as fast."""
    counted = Turn(text="a", usage=Usage(input=1_800, output=1))

    def heavy(request: ModelRequest) -> Reply:
        message = Message(
            role="assistant", parts=(ToolCall(id="c", name="dig", arguments={"where": "x"}),)
        )
        return Reply(message=message, stop="tool_use", usage=Usage(input=1_800, output=1))

    chosen = agent([heavy, counted], dig)
    events = await run(chosen, turns(4))
    assert of(events, TurnFinished)[0].context == 1_801
    assert [e.reason for e in of(events, CompactionStarted)] == ["threshold"]


def test_estimates_are_about_right_in_any_script() -> None:
    assert rules.tokens_of("word " * 100) == 125
    assert rules.tokens_of("数据分析" * 10) == 30
