"""Conversations: found, continued, repaired, exported and taken in again."""

import asyncio
import json

import duckdb
import pytest

from claw_nb.core.clock import new_id, now
from claw_nb.core.errors import InvalidInput, NotFound
from claw_nb.core.events import MessageAdded
from claw_nb.core.messages import Message, Text, ToolCall, ToolResult, user
from claw_nb.core.records import LogRow, Session
from claw_nb.core.wire import to_json
from claw_nb.store import Store


def said(message: Message, session: Session) -> LogRow:
    return LogRow(
        id=new_id(), ts=now(), kind="message.added", session_id=session.id, agent="main",
        role=message.role, text=message.text, data=to_json(message),
    )  # fmt: skip


def answer(text: str, *calls: ToolCall) -> Message:
    return Message(role="assistant", parts=(Text(text=text), *calls))


@pytest.fixture
def say(store):
    def say(session: Session, *messages: Message) -> None:
        store.append([said(message, session) for message in messages])

    return say


def test_a_place_continues_its_latest_conversation(store, say):
    assert store.sessions.latest("nb.ipynb", "main") is None
    first = store.sessions.create("nb.ipynb", "main")
    second = store.sessions.create("nb.ipynb", "main", title="another")
    other = store.sessions.create("nb.ipynb", "coder")
    assert store.sessions.latest("nb.ipynb", "main") == second
    say(first, user("hello"))
    assert store.sessions.latest("nb.ipynb", "main").id == first.id
    assert store.sessions.latest("nb.ipynb", "coder") == other


def test_a_session_is_found_by_the_beginning_of_its_id(store):
    one = store.sessions.create("a", "main")
    assert store.sessions.get(one.id) == one
    assert store.sessions.get(one.id[:20]) == one
    store.sessions.create("b", "main")
    with pytest.raises(InvalidInput, match="More than one"):
        store.sessions.get(one.id[:3])
    for unknown in ("zzz", "", "%"):
        with pytest.raises(NotFound, match="no session"):
            store.sessions.get(unknown)


def test_sessions_are_listed_by_last_use_in_pages(store, say):
    made = [store.sessions.create(f"nb{i}", "main" if i % 2 else "coder") for i in range(5)]
    say(made[0], user("hello"))
    page, total = store.sessions.list(limit=2)
    assert ([s.id for s in page], total) == ([made[0].id, made[4].id], 5)
    page, total = store.sessions.list(limit=10, offset=1, agent="coder")
    assert ([s.id for s in page], total) == ([made[4].id, made[2].id], 3)


@pytest.mark.parametrize("who", ["the same process", "another process"])
def test_a_conversation_is_read_from_inbox_and_segments_alike(home, store, say, who):
    session = store.sessions.create("nb", "main")
    expected = []
    for number in range(4):
        messages = [user(f"question {number}"), answer(f"answer {number}")]
        say(session, *messages)
        expected += messages
        reader = store if who == "the same process" else Store.open(home)
        assert list(reader.sessions.messages(session.id)) == expected
        if number % 2:
            store.compact(force=True)
            assert list(reader.sessions.messages(session.id)) == expected
        if reader is not store:
            reader.close()
    assert store.sessions.get(session.id).messages == 8


def test_two_processes_talk_in_one_session(home, store, stream):
    session = store.sessions.create("nb", "main")
    store.sessions.messages(session.id)
    other = Store.open(home)
    words = [user("from here"), user("from there"), user("from here again")]

    async def talk():
        for speaker, message in zip((store, other, store), words, strict=True):
            events = stream([MessageAdded(message=message)])
            async for _ in speaker.record(events, session=session, agent="main"):
                pass

    asyncio.run(talk())
    assert list(store.sessions.messages(session.id)) == words
    assert list(other.sessions.messages(session.id)) == words
    other.close()


def test_a_message_of_20_megabytes_is_part_of_the_conversation(store, say):
    session = store.sessions.create("nb", "main")
    long = user("0123456789" * 2_000_000)
    say(session, long, answer("short"))
    store.compact(force=True)
    assert store.sessions.messages(session.id) == (long, answer("short"))


def test_tool_calls_that_never_ended_are_repaired(store, say):
    session = store.sessions.create("nb", "main")
    call = ToolCall(id="c1", name="bash", arguments={"command": "sleep 9"})
    say(session, user("go"), answer("", call))
    *_, last = store.sessions.messages(session.id)
    (result,) = last.parts
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.error) == ("c1", "interrupted")


def test_a_new_title_is_kept(store):
    session = store.sessions.create("nb", "main")
    assert store.sessions.rename(session.id[:20], "Penguins").title == "Penguins"
    assert store.sessions.get(session.id).title == "Penguins"


@pytest.mark.parametrize("when", ["hot", "sealed"])
def test_a_removed_conversation_is_gone_from_everywhere(home, say, rows_of, store, when):
    session = store.sessions.create("nb", "main")
    kept = store.sessions.create("nb", "main")
    say(session, user("my diagnosis " * 10_000))
    say(kept, user("hello"))
    if when == "sealed":
        store.compact(force=True)
    store.sessions.messages(session.id)
    store.sessions.remove(session.id)
    with pytest.raises(NotFound):
        store.sessions.messages(session.id)
    assert rows_of(store, "SELECT DISTINCT session_id FROM messages") == [(kept.id,)]
    store.compact(force=True)
    assert rows_of(store, "SELECT text FROM messages") == [("hello",)]
    # Replaced files wait for queries that have listed them, payloads for rows that may refer to
    # them: an hour later nothing is left.
    store.clock = lambda: now() + 3700 * 1_000_000
    store.compact(force=True)
    for path in home.rglob("*"):
        if path.suffix == ".parquet":
            read = duckdb.sql(f"SELECT count(*) FROM read_parquet('{path}') WHERE text LIKE 'my%'")
            assert read.fetchall() == [(0,)], path
        elif path.is_file():
            assert b"diagnosis" not in path.read_bytes(), path
    assert store.sessions.messages(kept.id) == (user("hello"),)


def test_a_conversation_goes_out_and_comes_in_again(tmp_path, store, say):
    session = store.sessions.create("nb", "main", title="Penguins")
    call = ToolCall(id="c1", name="bash", arguments={"command": "ls"})
    result = ToolResult(call_id="c1", name="bash", parts=(Text(text="a\nb"),))
    say(session, user("go"), answer("ok", call), Message(role="tool", parts=(result,)))
    file = tmp_path / "one.jsonl"
    file.write_text("\n".join(store.sessions.export(session.id)) + "\n")
    other = Store.open(tmp_path / "other")
    imported = other.sessions.restore(file)
    assert (imported.added, imported.broken) == (3, 0)
    assert other.sessions.messages(session.id) == store.sessions.messages(session.id)
    assert imported.session == store.sessions.get(session.id)
    assert list(other.sessions.export(session.id)) == list(store.sessions.export(session.id))
    assert other.sessions.restore(file).added == 0
    other.close()


def test_a_torn_transcript_gives_back_all_but_the_torn_line(tmp_path, store, say):
    session = store.sessions.create("nb", "main")
    say(session, *(user(f"word {i}") for i in range(3)))
    lines = list(store.sessions.export(session.id))
    file = tmp_path / "torn.jsonl"
    file.write_bytes(
        "\n".join([*lines[:2], '{"type":"message","id":', "[]", "", *lines[2:]]).encode()
        + b"\n\x00\x00\x00\n" + lines[1].encode()[:40]
    )  # fmt: skip
    other = Store.open(tmp_path / "other")
    imported = other.sessions.restore(file)
    assert (imported.added, imported.broken) == (3, 4)
    assert other.sessions.messages(session.id) == store.sessions.messages(session.id)
    other.close()


def test_a_file_that_is_no_transcript_is_refused(tmp_path, store):
    file = tmp_path / "notes.jsonl"
    file.write_text(json.dumps({"hello": "world"}) + "\n")
    with pytest.raises(InvalidInput, match="is not a conversation"):
        store.sessions.restore(file)
    with pytest.raises(NotFound, match="no file"):
        store.sessions.restore(tmp_path / "nothing.jsonl")
