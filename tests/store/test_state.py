"""The state file: transactions, threads, forks, schema versions and mistaken homes."""

import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from claw_nb.core.errors import NewerSchema, NotFound, StoreError
from claw_nb.store import Store, migrations
from claw_nb.store.home import journal_for


def forks(test):
    """The test forks on purpose, and other tests' libraries are not ready for that."""
    for warning in (".*multi-threaded.*fork:DeprecationWarning", "lance is not fork-safe"):
        test = pytest.mark.filterwarnings(f"ignore:{warning}")(test)
    return test


def count(store: Store) -> int:
    with store.read() as read:
        return read.execute("SELECT count(*) FROM inbox").fetchone()[0]


def test_a_transaction_is_kept_whole_or_not_at_all(store, row):
    with store.tx() as tx:
        tx.execute("INSERT INTO settings VALUES ('a', '1', 0, 0)")
        store.append([row()], tx=tx)
    with pytest.raises(RuntimeError, match="changed my mind"), store.tx() as tx:
        tx.execute("INSERT INTO settings VALUES ('b', '1', 0, 0)")
        store.append([row()], tx=tx)
        raise RuntimeError("changed my mind")
    with store.read() as read:
        assert [r["key"] for r in read.execute("SELECT key FROM settings")] == ["a"]
    assert count(store) == 1


def test_a_transaction_inside_another_is_a_mistake_that_is_named(store):
    with store.tx(), pytest.raises(StoreError, match="already inside a transaction"):
        with store.tx():
            pass


def test_a_broken_rule_of_a_table_reaches_its_author(store):
    with pytest.raises(sqlite3.IntegrityError), store.tx() as tx:
        for _ in range(2):
            tx.execute("INSERT INTO settings VALUES ('a', '1', 0, 0)")


def test_a_commit_that_outlives_a_power_cut_syncs_the_file(store):
    def level(tx: sqlite3.Connection) -> int:
        return tx.execute("PRAGMA synchronous").fetchone()[0]

    with store.tx() as tx:
        assert level(tx) == 1
    with store.tx(survives="power") as tx:
        assert level(tx) == 2
    with store.tx() as tx:
        assert level(tx) == 1


def test_reading_inside_a_transaction_sees_its_own_writes(store, row):
    with store.tx() as tx:
        store.append([row()], tx=tx)
        with store.read() as read:
            assert read.execute("SELECT count(*) FROM inbox").fetchone()[0] == 1


def test_threads_share_a_store(store, row):
    def work():
        for _ in range(50):
            store.append([row()])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(store) == 200


def test_a_closed_store_says_so(store):
    store.close()
    with pytest.raises(StoreError, match="closed"), store.read():
        pass


@forks
def test_a_forked_child_writes_through_its_own_connection(store, row):
    store.append([row()])
    inherited = store._state._open
    child = os.fork()
    if not child:
        # The parent's connections were closed before the fork: nothing is shared.
        status = 1 if inherited else 0
        for _ in range(20):
            store.append([row("child")])
        os._exit(status)
    for _ in range(20):
        store.append([row("parent")])
    assert os.waitpid(child, 0)[1] == 0
    assert count(store) == 41
    with store.read() as read:
        assert read.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


@forks
def test_a_fork_waits_for_another_threads_transaction(store, row):
    inside, forked = threading.Event(), threading.Event()
    order = []

    def work():
        with store.tx() as tx:
            store.append([row()], tx=tx)
            inside.set()
            forked.wait(0.2)
            order.append("committed")

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        store.append([row("child")])
        os._exit(0)
    order.append("forked")
    forked.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert order == ["committed", "forked"]
    assert count(store) == 2


@forks
def test_a_child_that_outlives_its_parents_store_loses_nothing(store, home, row):
    """The last connection to close deletes the write-ahead log; the child's must count."""
    store.append([row()])
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        store.append([row("before")])
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        store.append([row("after")])
        os._exit(0)
    os.read(ready[0], 1)
    store.append([row()])
    store.close()
    os.write(go[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    again = Store.open(home)
    assert count(again) == 4
    again.close()


@forks
def test_a_child_forked_inside_a_transaction_cannot_commit_it(store, row):
    child = None
    try:
        with store.tx() as tx:
            store.append([row()], tx=tx)
            child = os.fork()
    except StoreError as error:
        if child == 0:
            os._exit(0 if "forked inside" in error.message else 2)
        raise
    if child == 0:
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert count(store) == 1


def test_two_processes_that_make_a_home_at_once_make_one(home):
    script = (
        "import sys; from pathlib import Path; from claw_nb.store import Store;"
        "store = Store.open(Path(sys.argv[1])); print(store._state.data_id)"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(home)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    ids = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0] * 4
    assert len(ids) == 1


def test_a_home_of_a_newer_release_is_refused_and_left_alone(home, store):
    store.close()
    with sqlite3.connect(home / "data" / "state.db") as db:
        db.execute("UPDATE meta SET value = '999' WHERE key IN ('min_reader', 'schema_version')")
    db.close()
    before = (home / "data" / "state.db").read_bytes()
    with pytest.raises(NewerSchema, match="newer release") as caught:
        Store.open(home)
    assert "pip install -U claw-nb" in caught.value.hint
    assert (home / "data" / "state.db").read_bytes() == before


def test_a_newer_release_that_only_added_is_no_obstacle(home, store, row):
    with store.tx() as tx:
        tx.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    again = Store.open(home)
    again.append([row()])
    assert count(again) == 1
    again.close()


def test_a_process_that_runs_while_a_newer_one_migrates_stops_writing(home, store, row):
    with sqlite3.connect(home / "data" / "state.db") as db:
        db.execute("UPDATE meta SET value = '999' WHERE key = 'min_reader'")
    db.close()
    with pytest.raises(NewerSchema):
        store.append([row()])


def test_a_migration_keeps_what_is_there(home, store, row, monkeypatch):
    store.append([row()])
    store.close()
    script = "ALTER TABLE sessions ADD COLUMN colour TEXT; CREATE TABLE more (a TEXT);"
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, script))
    monkeypatch.setattr(migrations, "VERSION", migrations.VERSION + 1)
    newer = Store.open(home)
    assert count(newer) == 1
    with newer.read() as read:
        meta = dict(read.execute("SELECT key, value FROM meta").fetchall())
        read.execute("SELECT colour FROM sessions")
    assert (meta["schema_version"], meta["min_reader"]) == (str(migrations.VERSION), "1")
    newer.close()


def test_a_migration_that_fails_changes_nothing(home, store, row, monkeypatch):
    store.close()
    script = "CREATE TABLE more (a TEXT); CREATE TABLE sessions (a TEXT);"
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, script))
        patch.setattr(migrations, "VERSION", migrations.VERSION + 1)
        with pytest.raises(sqlite3.OperationalError):
            Store.open(home)
    again = Store.open(home)
    with again.read() as read:
        assert not read.execute("SELECT 1 FROM sqlite_master WHERE name = 'more'").fetchall()
    again.close()


def test_two_homes_in_one_process_are_two(tmp_path, row):
    one, two = Store.open(tmp_path / "one"), Store.open(tmp_path / "two")
    one.append([row()])
    assert (count(one), count(two)) == (1, 0)
    one.close()
    two.close()


def test_another_home_in_the_place_of_an_open_one_is_not_written(tmp_path, home, store, row):
    store.append([row()])
    other = Store.open(tmp_path / "other")
    other.append([row()])
    other.close()
    home.rename(tmp_path / "away")
    with pytest.raises(StoreError, match="has gone"):
        store.append([row()])
    (tmp_path / "other").rename(home)
    with pytest.raises(StoreError, match="another data home has taken its place"):
        store.append([row()])
    again = Store.open(home)
    assert count(again) == 1
    again.close()


def test_a_home_that_comes_back_is_used_again(tmp_path, home, store, row):
    store.append([row()])
    shutil.copytree(home, tmp_path / "copy")
    shutil.rmtree(home)
    (tmp_path / "copy").rename(home)
    store.append([row()])
    assert count(store) == 2


def test_a_lake_of_another_home_is_refused(tmp_path, home, store):
    store.close()
    other = Store.open(tmp_path / "other")
    other.close()
    shutil.rmtree(home / "data" / "lake")
    shutil.copytree(tmp_path / "other" / "data" / "lake", home / "data" / "lake")
    with pytest.raises(StoreError, match="two different homes"):
        Store.open(home)


def test_without_a_home_there_is_nothing_to_open(home):
    with pytest.raises(NotFound, match="no data home"):
        Store.open(home, create=False)
    assert not home.exists()


def test_a_file_that_is_no_database_is_named(home):
    (home / "data").mkdir(parents=True)
    (home / "data" / "state.db").write_text("my novel, chapter one. " * 100)
    with pytest.raises(StoreError, match="is not a database") as caught:
        Store.open(home)
    assert pickle.loads(pickle.dumps(caught.value)).hint == caught.value.hint
    assert "novel" in (home / "data" / "state.db").read_text()


def test_what_is_said_is_for_the_owner_only(home, store):
    assert home.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("kind", "mode"), [("ext4", "WAL"), ("nfs4", "TRUNCATE"), ("fuse.sshfs", "TRUNCATE")]
)
def test_a_network_disk_gets_a_rollback_journal(tmp_path, kind, mode):
    mounts = tmp_path / "mountinfo"
    point = str(tmp_path).replace(" ", "\\040")
    mounts.write_text(
        f"22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n30 22 0:40 / {point} rw - {kind} srv rw\n"
    )
    assert journal_for(tmp_path / "data", mounts=mounts) == mode
    assert journal_for(Path("/"), mounts=mounts) == "WAL"


@pytest.mark.parametrize("begun", ["on a network disk", "on a local disk"])
def test_a_home_on_a_network_disk_works(home, monkeypatch, row, begun):
    if begun == "on a local disk":
        Store.open(home).close()
    monkeypatch.setattr("claw_nb.store.store.journal_for", lambda path: "TRUNCATE")
    store, other = Store.open(home), Store.open(home)
    store.append([row()])
    other.append([row()])
    store.compact(force=True)
    store.append([row()])
    with other.read() as read:
        assert read.execute("PRAGMA journal_mode").fetchone()[0] == "truncate"
        assert read.execute("SELECT count(*) FROM inbox").fetchone()[0] == 1
    assert not (home / "data" / "state.db-wal").exists()
    store.close()
    other.close()


def test_the_journal_mode_is_the_files(store):
    with store.read() as read:
        assert read.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_asking_does_not_load_the_heavy_libraries(home):
    script = """
import sys
from pathlib import Path
from claw_nb.core.clock import new_id, now
from claw_nb.core.records import LogRow
from claw_nb.store import Store
store = Store.open(Path(sys.argv[1]))
session = store.sessions.create("nb", "main")
store.append([LogRow(id=new_id(), ts=now(), kind="note", session_id=session.id)])
store.sessions.messages(session.id)
print(*sorted({"duckdb", "lance", "lancedb", "numpy", "pandas", "pyarrow"} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
