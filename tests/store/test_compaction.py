"""Sealing, merging and sweeping; and what is left when they are cut off."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from claw_nb.core.clock import new_id, now
from claw_nb.core.errors import StoreError
from claw_nb.core.locks import FileLock
from claw_nb.core.records import LogRow
from claw_nb.store import Store
from claw_nb.store.compaction import MERGE_AT, POINTS, Compaction

HOUR = 3600 * 1_000_000


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = now()

    def __call__(self) -> int:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(home, clock):
    store = Store.open(home, clock=clock)
    yield store
    store.close()


@pytest.fixture
def fill(store, clock):
    def fill(rows: int, **columns) -> None:
        store.append([LogRow(id=new_id(), ts=clock(), kind="note", **columns) for _ in range(rows)])

    return fill


def files(store: Store) -> list[Path]:
    return sorted(store.paths.lake.rglob("*.parquet"))


def seqs(store, rows_of) -> list[int]:
    return [seq for (seq,) in rows_of(store, "SELECT seq FROM events ORDER BY seq")]


def test_nothing_happens_before_it_is_due(store, fill, clock):
    assert store.compact() is None
    fill(3)
    assert store.compact() is None
    clock.time += 60 * 1_000_000
    assert store.compact() == Compaction(sealed=3, segments=1)
    assert store.compact() is None


def test_it_happens_by_itself_when_it_is_due(store, fill, clock):
    fill(3)
    store.compact_soon()
    assert files(store) == []
    clock.time += 60 * 1_000_000
    store.compact_soon()
    store.close()
    assert len(files(store)) == 1


def test_a_full_inbox_is_due(store, fill):
    fill(5_000)
    assert store.compact() == Compaction(sealed=5_000, segments=1)


def test_sealing_moves_every_row_once(store, fill, rows_of):
    fill(10, text="a")
    before = rows_of(store, "SELECT * FROM events ORDER BY seq")
    store.compact(force=True)
    with store.read() as read:
        assert read.execute("SELECT count(*) FROM inbox").fetchone()[0] == 0
    assert rows_of(store, "SELECT * FROM events ORDER BY seq") == before
    fill(5)
    assert seqs(store, rows_of) == list(range(1, 16))


def test_a_sealed_number_is_never_given_again(home, store, fill, rows_of):
    fill(3)
    store.compact(force=True)
    store.close()
    again = Store.open(home)
    again.append([LogRow(id=new_id(), ts=now(), kind="note")])
    assert seqs(again, rows_of) == [1, 2, 3, 4]
    again.close()


def test_a_session_lies_together_in_its_file(store, fill):
    for _ in range(10):
        fill(1, session_id="b")
        fill(1, session_id="a")
    store.compact(force=True)
    (file,) = files(store)
    found = duckdb.sql(f"SELECT session_id FROM read_parquet('{file}')").fetchall()
    assert found == [("a",)] * 10 + [("b",)] * 10


def test_small_files_become_one(store, fill, clock, rows_of):
    for _ in range(MERGE_AT - 1):
        fill(2)
        assert store.compact(force=True) == Compaction(sealed=2, segments=1)
    fill(2)
    assert store.compact(force=True) == Compaction(sealed=2, segments=1, merged=MERGE_AT)
    assert seqs(store, rows_of) == list(range(1, 2 * MERGE_AT + 1))
    assert len(files(store)) == MERGE_AT + 1
    clock.time += HOUR // 4 + 1
    assert store.compact(force=True) == Compaction(deleted=MERGE_AT)
    assert len(files(store)) == 1
    assert seqs(store, rows_of) == list(range(1, 2 * MERGE_AT + 1))


def test_a_query_that_has_listed_a_file_still_finds_it_after_a_merge(store, fill):
    for _ in range(MERGE_AT - 1):
        fill(2)
        store.compact(force=True)
    fill(2)
    duck = store.connect()
    store.compact(force=True)
    assert duck.execute("SELECT count(*) FROM events").fetchall() == [(2 * MERGE_AT,)]
    duck.close()


def test_only_one_process_compacts(store, fill):
    fill(3)
    with FileLock(store.paths.locks / "compact.lock"):
        assert store.compact(force=True) is None
    assert store.compact(force=True) == Compaction(sealed=3, segments=1)


@pytest.fixture(scope="module")
def almost_merged(tmp_path_factory) -> Path:
    """A home with one sealed file less than a merge takes, and three rows in the inbox."""
    home = tmp_path_factory.mktemp("almost") / "home"
    store = Store.open(home)
    for number in range(MERGE_AT):
        store.append([LogRow(id=new_id(), ts=now(), kind="note") for _ in range(3)])
        if number < MERGE_AT - 1:
            store.compact(force=True)
    store.close()
    return home


@pytest.mark.parametrize("point", POINTS)
def test_a_compaction_killed_at_any_point_loses_and_doubles_nothing(
    home, clock, almost_merged, rows_of, point
):
    shutil.copytree(almost_merged, home)
    script = Path(__file__).with_name("chaos.py")
    killed = subprocess.run([sys.executable, script, "compactor", home, point], check=False)
    assert killed.returncode == -9
    expected = list(range(1, 3 * MERGE_AT + 1))
    store = Store.open(home, clock=clock)
    assert seqs(store, rows_of) == expected
    store.compact(force=True)
    assert seqs(store, rows_of) == expected
    # An hour later no file is left that nobody refers to.
    clock.time += HOUR + 60 * 1_000_000
    store.compact(force=True)
    assert len(files(store)) == 1
    assert seqs(store, rows_of) == expected
    store.close()


def test_every_point_is_reached(store, fill):
    for _ in range(MERGE_AT - 1):
        fill(1)
        store.compact(force=True)
    fill(1)
    reached = []
    store.compact(force=True, crash=reached.append)
    assert tuple(reached) == POINTS


def test_a_file_of_an_older_release_lacks_a_column(store, fill, rows_of):
    fill(2, text="old")
    store.compact(force=True)
    (file,) = files(store)
    kept = file.with_suffix(".old")
    file.rename(kept)
    duckdb.sql(f"COPY (SELECT * EXCLUDE (cost, ms) FROM read_parquet('{kept}')) TO '{file}'")
    with store.tx() as tx:
        tx.execute("UPDATE segments SET v = 0")
    fill(1, text="new", ms=1.0)
    store.compact(force=True)
    fill(1, text="newest", ms=2.0)
    expected = [("old", None), ("old", None), ("new", 1.0), ("newest", 2.0)]
    sql = "SELECT text, ms FROM events ORDER BY seq"
    assert rows_of(store, sql) == expected
    for _ in range(MERGE_AT):
        store.append([LogRow(id=new_id(), ts=now(), kind="more")])
        store.compact(force=True)
    assert len(files(store)) > MERGE_AT
    assert rows_of(store, sql.replace("ORDER", "WHERE kind = 'note' ORDER")) == expected


def test_any_duckdb_opens_the_catalogue(store, fill):
    fill(3, text="hello")
    store.sessions.create("nb", "main")
    store.compact(force=True)
    fill(1)
    duck = duckdb.connect(str(store.paths.catalog), read_only=True)
    assert duck.sql("SELECT count(*) FROM events WHERE kind = 'note'").fetchall() == [(3,)]
    assert duck.sql("SELECT key FROM sessions").fetchall() == [("nb",)]
    names = {name for (name,) in duck.sql("SHOW TABLES").fetchall()}
    assert names == {
        "approvals", "events", "llm_calls", "messages", "sessions", "task_runs", "tasks",
        "tool_calls", "usage",
    }  # fmt: skip
    duck.close()


def test_the_catalogue_can_be_replaced_while_it_is_read(store, fill):
    fill(3)
    store.compact(force=True)
    duck = duckdb.connect(str(store.paths.catalog), read_only=True)
    fill(3)
    store.compact(force=True)
    assert duck.sql("SELECT count(*) FROM events").fetchall() == [(3,)]
    duck.close()


def test_a_catalogue_that_was_half_written_is_written_anew(store, fill):
    """DuckDB would replay the write-ahead log of a killed compactor into the new file."""
    fill(3)
    for name in (".claw.duckdb", ".claw.duckdb.wal"):
        (store.data / name).write_bytes(b"half a catalogue" * 1000)
    store.compact(force=True)
    duck = duckdb.connect(str(store.paths.catalog), read_only=True)
    assert duck.sql("SELECT count(*) FROM events").fetchall() == [(3,)]
    duck.close()


def test_a_missing_segment_is_named(store, fill):
    fill(3)
    store.compact(force=True)
    files(store)[0].unlink()
    with pytest.raises(StoreError, match=r"day=.*parquet") as caught:
        asyncio.run(store.query("SELECT count(*) FROM events"))
    assert "backup" in caught.value.hint


def test_a_lake_that_cannot_be_written_keeps_the_rows_in_the_inbox(store, fill, rows_of):
    fill(3)
    (store.paths.lake / "events").write_text("in the way")
    with pytest.raises(StoreError):
        store.compact(force=True)
    assert seqs(store, rows_of) == [1, 2, 3]
