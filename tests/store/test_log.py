"""The log: what goes in comes out, whatever it is, in the order it was written."""

import json
import sqlite3

import pytest

from claw_nb.core.clock import new_id
from claw_nb.core.errors import NotFound, StoreError
from claw_nb.core.records import LogRow
from claw_nb.store import Store

NASTY = {
    "lone surrogates": ("a\ud800b\udc00", "a\ufffdb\ufffd"),
    "a split pair": ("\ud83d\ude00", "😀"),
    "NUL": ("a\0b", "a\ufffdb"),
    "control characters": ("\x01\x1b[31m\x7f\u2028", "\x01\x1b[31m\x7f\u2028"),
    "an escape that is text": ("\\u0000 \\ud800", "\\u0000 \\ud800"),
    "every script": ("日本語 ё العربية 👩‍👩‍👧", "日本語 ё العربية 👩‍👩‍👧"),
}


@pytest.mark.parametrize("sealed", ["hot", "sealed"])
@pytest.mark.parametrize("name", NASTY)
def test_any_text_survives(store, row, rows_of, name, sealed):
    given, expected = NASTY[name]
    store.append([row(text=given, name=given, data={given: [given, {"x": given}]})])
    if sealed == "sealed":
        store.compact(force=True)
    ((text, column, data),) = rows_of(store, "SELECT text, name, data FROM events")
    assert (text, column) == (expected, expected)
    assert json.loads(data) == {expected: [expected, {"x": expected}]}


def test_numbers_that_json_lacks_become_null(store, row, rows_of):
    store.append([row(data={"a": float("nan"), "b": [float("inf"), 1.5], "c": 2**70})])
    ((data,),) = rows_of(store, "SELECT data FROM events")
    assert json.loads(data) == {"a": None, "b": [None, 1.5], "c": 2**70}


def test_a_text_of_20_megabytes_goes_to_a_blob_and_comes_back(store, row, rows_of):
    text = "the whole log file\n" * 1_100_000
    store.append([row(text=text, data={"n": 1}), row(text=text, data={"n": 1})])
    store.compact(force=True)
    found = rows_of(store, "SELECT text, blob, data FROM events")
    assert found[0] == found[1]
    preview, blob, data = found[0]
    assert (preview, data) == (text[:2000], "{}")
    assert json.loads(store.blobs.load(blob)) == {"text": text, "data": {"n": 1}}
    assert len(list(store.blobs.folder.rglob("*.json"))) == 1


def test_a_damaged_or_missing_blob_is_noticed(store):
    digest = store.blobs.save("hello")
    store.blobs.path(digest).write_text("hallo")
    with pytest.raises(StoreError, match="damaged"):
        store.blobs.load(digest)
    store.blobs.path(digest).unlink()
    with pytest.raises(NotFound, match="missing"):
        store.blobs.load(digest)


def test_the_order_is_that_of_writing_not_of_the_clock(home, rows_of):
    ticks = iter([5, 9, 1, 3])
    store = Store.open(home, clock=lambda: 0)
    for _ in range(2):
        store.append([LogRow(id=new_id(), ts=next(ticks), kind="note")])
        store.compact(force=True)
    for _ in range(2):
        store.append([LogRow(id=new_id(), ts=next(ticks), kind="note")])
    found = rows_of(store, "SELECT seq, epoch_us(ts) FROM events ORDER BY seq")
    assert found == [(1, 5), (2, 9), (3, 1), (4, 3)]
    store.close()


def test_a_row_keeps_every_column(store, rows_of):
    row = LogRow(
        id="a", ts=1_700_000_000_123_456, kind="k", session_id="s", run_id="r", parent_id="p",
        task_id="t", agent="main", role="user", name="n", status="ok", model="m", tokens_in=1,
        tokens_out=2, cost=0.25, ms=1.5, text="words", data={"x": [1]},
    )  # fmt: skip
    store.append([row])
    hot = rows_of(store, "SELECT * FROM events")
    store.compact(force=True)
    assert rows_of(store, "SELECT * FROM events") == hot
    names = [name for name in LogRow.__dataclass_fields__ if name not in ("ts", "data")]
    (found,) = rows_of(store, f"SELECT {', '.join(names)}, epoch_us(ts), data FROM events")
    assert found == (*(getattr(row, name) for name in names), row.ts, '{"x":[1]}')


@pytest.fixture
def locked(home, store):
    """Another process is in a transaction that does not end."""
    store._state.wait = 0.05
    store._state.close_connections()
    other = sqlite3.connect(home / "data" / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def test_rows_wait_in_a_file_while_the_database_is_locked(home, store, row, rows_of, locked):
    session = "s" * 32
    rows = [row("note", text=f"{i} \ud800", session_id=session) for i in range(3)]
    store.append(rows[:2])
    store.append(rows[2:])
    assert len(list((home / "data" / "spill").iterdir())) == 2
    locked.execute("ROLLBACK")
    found = rows_of(store, "SELECT id, text FROM events ORDER BY seq")
    assert found == [(row.id, f"{i} \ufffd") for i, row in enumerate(rows)]
    assert list((home / "data" / "spill").iterdir()) == []
    assert rows_of(store, "SELECT count(*) FROM events") == [(3,)]


def test_a_spilled_row_may_hold_any_character_that_ends_a_line(store, row, rows_of, locked):
    text = "a\u2028b\x85c\x0bd\re"
    store.append([row(text=text)])
    locked.execute("ROLLBACK")
    assert rows_of(store, "SELECT text FROM events") == [(text,)]


def test_a_spilled_file_is_imported_once_even_when_its_deletion_was_cut_off(
    home, store, row, rows_of, locked
):
    store.append([row()])
    (file,) = (home / "data" / "spill").iterdir()
    content = file.read_bytes()
    locked.execute("ROLLBACK")
    assert rows_of(store, "SELECT count(*) FROM events") == [(1,)]
    file.write_bytes(content)
    assert rows_of(store, "SELECT count(*) FROM events") == [(1,)]
    assert not file.exists()


def test_a_change_of_state_is_not_spilled_but_refused(store, row, locked):
    with pytest.raises(StoreError, match="locked by another process") as caught, store.tx() as tx:
        store.append([row()], tx=tx)
    assert "Try again" in caught.value.hint
