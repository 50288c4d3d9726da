"""The saving stage: events pass unchanged, and what matters can be asked for afterwards."""

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw_nb.core.events import (
    ApprovalRequest,
    ApprovalRequested,
    ApprovalResolved,
    MessageAdded,
    ReminderAdded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    RunStarted,
    TextAdded,
    ThinkingAdded,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from claw_nb.core.messages import (
    Image,
    Message,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    repair,
    user,
)
from claw_nb.store import Store
from claw_nb.store.recording import kind_of

CALL = ToolCall(id="c1", name="run_python", arguments={"code": "1 + 1"})
RESULT = ToolResult(call_id="c1", name="run_python", parts=(Text(text="2"),))
REQUEST = ApprovalRequest(call=CALL, effect="execute", reason="it runs code", digest="d1")
USAGE = Usage(input=10, output=5, cache_read=3, cache_write=1, cost=0.02)
ORIGIN = Origin(provider="anthropic", model="claude")
ASKED = Message(
    role="assistant", parts=(Thinking(text="hm"), Text(text="I compute."), CALL), origin=ORIGIN
)


def a_run(session, *, end=None):
    return [
        RunStarted(
            run_id="r1", session_id=session.id, agent="main", provider="anthropic",
            model="claude", prompt="What is\n1 + 1?",
        ),
        MessageAdded(message=user("What is\n1 + 1?")),
        TurnStarted(turn=1),
        RetryScheduled(attempt=1, wait=0.5, kind="overloaded", error="busy"),
        ThinkingAdded(text="hm"),
        TextAdded(text="I compute."),
        MessageAdded(message=ASKED),
        TurnFinished(turn=1, stop="tool_use", usage=USAGE, ms=120.0),
        ApprovalRequested(request=REQUEST),
        ApprovalResolved(request=REQUEST, decision="once", by="you"),
        ToolStarted(call=CALL, effect="execute"),
        ToolProgressed(call_id="c1", text="..."),
        ToolFinished(call=CALL, result=RESULT, ms=7.0),
        MessageAdded(message=Message(role="tool", parts=(RESULT,))),
        ReminderAdded(reason="turns_low", text="hurry"),
        end or RunFinished(stop="end", turns=1, tools=1, usage=USAGE, ms=200.0),
    ]  # fmt: skip


async def passed(store, events, session, **options):
    stage = store.record(events, session=session, agent="main", **options)
    return [event async for event in stage]


@pytest.fixture
def session(store):
    return store.sessions.create("nb.ipynb", "main")


def test_every_event_is_passed_on_unchanged(store, session, stream):
    events = a_run(session)
    assert asyncio.run(passed(store, stream(events), session)) == events


def test_what_is_only_for_watching_is_not_kept(store, session, stream, rows_of):
    asyncio.run(passed(store, stream(a_run(session)), session, task_id="t1"))
    found = rows_of(store, "SELECT kind, run_id, task_id, agent FROM events ORDER BY seq")
    assert [kind for kind, *_ in found] == [
        "session.created", "run.started", "message.added", "retry.scheduled", "message.added",
        "turn.finished", "approval.requested", "approval.resolved", "tool.started",
        "tool.finished", "message.added", "reminder.added", "run.finished",
    ]  # fmt: skip
    assert {tuple(rest) for _, *rest in found[1:]} == {("r1", "t1", "main")}


def test_the_conversation_is_there_afterwards(store, session, stream):
    events = a_run(session)
    asyncio.run(passed(store, stream(events), session))
    said = tuple(event.message for event in events if isinstance(event, MessageAdded))
    assert store.sessions.messages(session.id) == said
    head = store.sessions.get(session.id)
    assert (head.messages, head.title) == (3, "What is 1 + 1?")


def test_the_views_tell_of_the_run(store, session, stream, rows_of):
    asyncio.run(passed(store, stream(a_run(session)), session))
    for _ in range(2):
        assert rows_of(store, "SELECT role, model, text FROM messages ORDER BY seq") == [
            ("user", None, "What is\n1 + 1?"),
            ("assistant", "claude", "I compute."),
            ("tool", None, "2"),
        ]
        assert rows_of(
            store, "SELECT tool, status, ms, arguments->>'code', result, call_id FROM tool_calls"
        ) == [("run_python", "ok", 7.0, "1 + 1", "2", "c1")]
        assert rows_of(
            store,
            "SELECT provider, model, turn, stop, tokens_in, tokens_out, cache_read, cache_write,"
            " cost, ms FROM llm_calls",
        ) == [("anthropic", "claude", 1, "tool_use", 10, 5, 3, 1, 0.02, 120.0)]
        assert rows_of(store, "SELECT * EXCLUDE day FROM usage") == [
            ("main", session.id, None, "anthropic", "claude", 1, 10, 5, 3, 1, 0.02, 0)
        ]
        assert rows_of(
            store, "SELECT run_id, tool, arguments->>'code', reason, status, \"by\" FROM approvals"
        ) == [("r1", "run_python", "1 + 1", "it runs code", "once", "you")]
        store.compact(force=True)


def test_a_question_without_an_answer_is_pending(store, session, stream, rows_of):
    asyncio.run(passed(store, stream(a_run(session)[:9]), session))
    assert rows_of(store, "SELECT status, answered FROM approvals") == [("pending", None)]


def test_a_failed_run_tells_why(store, session, stream, rows_of):
    end = RunFailed(
        kind="auth", error="no key", hint="set one", turns=1, tools=0, usage=USAGE, ms=3.0
    )
    asyncio.run(passed(store, stream(a_run(session, end=end)), session))
    found = rows_of(store, "SELECT status, text, data->>'hint' FROM events WHERE kind='run.failed'")
    assert found == [("auth", "no key", "set one")]


def test_an_event_is_kept_before_it_is_seen(store, session, stream):
    async def watch():
        async for event in store.record(stream(a_run(session)), session=session, agent="main"):
            if isinstance(event, ToolStarted):
                break
        return event

    asyncio.run(watch())
    with store.read() as read:
        kinds = [row[0] for row in read.execute("SELECT kind FROM inbox ORDER BY seq DESC LIMIT 2")]
    assert kinds == ["run.failed", "tool.started"]


def test_a_run_that_its_reader_leaves_has_an_end(store, session, stream, rows_of):
    async def watch():
        stage = store.record(stream(a_run(session)), session=session, agent="main")
        await anext(stage)
        await stage.aclose()

    asyncio.run(watch())
    ends = "SELECT status FROM events WHERE kind IN ('run.failed', 'run.finished')"
    assert rows_of(store, ends) == [("cancelled",)]
    asyncio.run(passed(store, stream(a_run(session)), session))
    assert rows_of(store, f"{ends} ORDER BY seq") == [("cancelled",), ("end",)]


def test_closing_the_stage_closes_the_run(store, session):
    closed = []

    async def events():
        try:
            for event in a_run(session):
                yield event
        finally:
            closed.append(True)

    async def watch():
        stage = store.record(events(), session=session, agent="main")
        await anext(stage)
        await stage.aclose()
        return list(closed)

    assert asyncio.run(watch()) == [True]


def test_a_secret_is_in_none_of_the_places_where_a_run_is_kept(store, session, stream, home):
    secret = "sk-ant-api03-" + "Ab1" * 20
    call = ToolCall(id="c2", name="bash", arguments={"command": f"export KEY={secret}"})
    result = ToolResult(call_id="c2", name="bash", parts=(Text(text=f"KEY={secret}"),))
    request = ApprovalRequest(
        call=call, effect="execute", reason=secret, digest="d", preview=secret
    )
    events = [
        RunStarted(
            run_id="r1", session_id=session.id, agent="main", provider="p", model="m",
            prompt=f"use {secret}",
        ),
        MessageAdded(message=user(f"use {secret}")),
        MessageAdded(message=Message(role="assistant", parts=(call,))),
        ApprovalRequested(request=request),
        ToolStarted(call=call, effect="execute"),
        ToolFinished(call=call, result=result, ms=1.0),
        MessageAdded(message=Message(role="tool", parts=(result,))),
        RunFailed(kind="internal", error=secret, hint=secret, turns=1, tools=1, usage=USAGE, ms=1),
    ]  # fmt: skip
    assert asyncio.run(passed(store, stream(events), session)) == events
    assert secret not in repr(store.sessions.messages(session.id))
    store.close()
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert len(kept) > 3
    for path in kept:
        assert secret.encode() not in path.read_bytes(), path


def test_lines_in_files_follow_the_run(store, session, stream, home):
    asyncio.run(passed(store, stream(a_run(session)), session))
    lines = (home / "sessions" / f"{session.id}.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["session"] + ["message"] * 3
    run = (home / "runs" / "r1.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in run][::11] == ["run.started", "run.finished"]
    index = json.loads((home / "sessions" / "index.json").read_text())
    (entry,) = index["sessions"]
    assert (entry["file"], entry["key"], entry["title"], entry["messages"]) == (
        f"{session.id}.jsonl", "nb.ipynb", "What is 1 + 1?", 3,
    )  # fmt: skip


def test_a_new_home_is_rebuilt_from_the_lines(store, session, stream, home, tmp_path):
    asyncio.run(passed(store, stream(a_run(session)), session))
    other = Store.open(tmp_path / "other")
    imported = other.sessions.restore(home / "sessions" / f"{session.id}.jsonl")
    assert (imported.added, imported.broken) == (3, 0)
    assert other.sessions.messages(session.id) == store.sessions.messages(session.id)
    other.close()


def test_a_line_torn_by_a_kill_costs_only_itself(store, session, stream, home):
    file = home / "sessions" / f"{session.id}.jsonl"
    asyncio.run(passed(store, stream(a_run(session)), session))
    with file.open("ab") as tail:
        tail.write(b'{"type":"message","id":"torn')
    asyncio.run(passed(store, stream([MessageAdded(message=user("again"))]), session))
    lines = file.read_text().splitlines()
    assert json.loads(lines[-1])["message"]["parts"][0]["text"] == "again"
    assert lines[-2].endswith("torn")


def test_lines_that_cannot_be_written_do_not_stop_the_run(store, session, stream, home, caplog):
    (home / "sessions").rmdir()
    (home / "sessions").write_text("in the way")
    events = a_run(session)
    assert asyncio.run(passed(store, stream(events), session)) == events
    assert "not kept as JSON lines" in caplog.text


def test_the_kind_is_the_events_name_in_dots():
    assert kind_of(TurnFinished(turn=1, stop="end", usage=USAGE, ms=1)) == "turn.finished"


# -- any message comes back ------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
objects = st.dictionaries(words, values, max_size=3)
texts = st.builds(Text, text=words)
images = st.builds(Image, data=st.binary(max_size=20).map(lambda b: b.hex()))
calls = st.builds(ToolCall, id=st.uuids().map(str), name=st.just("bash"), arguments=objects)
origins = st.none() | st.builds(
    Origin, provider=st.just("p"), model=st.just("m"), raw=st.lists(objects, max_size=2).map(tuple)
)
users = st.builds(
    Message, role=st.just("user"), parts=st.lists(texts | images, max_size=3).map(tuple)
)
assistants = st.builds(
    Message,
    role=st.just("assistant"),
    parts=st.lists(texts | st.builds(Thinking, text=words) | calls, max_size=4).map(tuple),
    origin=origins,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(messages=st.lists(users | assistants, max_size=5), seal=st.booleans())
def test_any_conversation_comes_back_as_it_was(store, stream, messages, seal):
    session = store.sessions.create("nb", "main")
    events = [MessageAdded(message=message) for message in repair(messages)]
    asyncio.run(passed(store, stream(events), session))
    if seal:
        store.compact(force=True)
    other = Store.open(store.home)
    expected = tuple(event.message for event in events)
    assert store.sessions.messages(session.id) == expected
    assert other.sessions.messages(session.id) == expected
    other.close()
