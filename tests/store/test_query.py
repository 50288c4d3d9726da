"""SQL over what is kept and over the user's frames; and what an agent's SQL may not do."""

import asyncio
import time

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from claw_nb.core.errors import Denied, InvalidInput
from claw_nb.store import Store
from claw_nb.store.rows import COLUMNS
from claw_nb.store.views import VIEWS


@pytest.fixture
def ask(store):
    def ask(sql: str, **options):
        return asyncio.run(store.query(sql, **options))

    return ask


@pytest.fixture(params=["user", "agent"])
def trust(request):
    return request.param


@pytest.fixture
def filled(store, row):
    store.append([row("a", text="one"), row("b", text="two")])
    store.compact(force=True)
    store.append([row("a", text="three")])


def test_a_result_has_columns_types_and_rows(ask, filled, trust):
    result = ask("SELECT kind, count(*) AS n FROM events GROUP BY 1 ORDER BY 1", trust=trust)
    assert result.columns == ("kind", "n")
    assert result.types == ("VARCHAR", "BIGINT")
    assert result.rows() == [("a", 2), ("b", 1)]
    assert result.rows(1) == [("a", 2)]
    assert len(result) == 2
    pd.testing.assert_frame_equal(result.df(), pd.DataFrame({"kind": ["a", "b"], "n": [2, 1]}),
                                  check_dtype=False)  # fmt: skip
    assert result.relation.aggregate("sum(n)").fetchall() == [(3,)]


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_has_the_columns_that_it_says(ask, filled, trust, name):
    result = ask(f"SELECT * FROM {name}", trust=trust)
    assert result.columns == tuple(VIEWS[name].columns)
    assert ask(f"SELECT * FROM claw.{name}", trust=trust).columns == result.columns


def test_the_events_are_the_log(ask):
    assert ask("FROM events").columns == tuple(COLUMNS)


def test_times_are_timestamps(ask, store):
    store.sessions.create("nb", "main")
    types = dict(zip(*(lambda r: (r.columns, r.types))(ask("FROM sessions")), strict=True))
    assert types["created"] == types["updated"] == "TIMESTAMP"
    assert ask("SELECT created <= now() AT TIME ZONE 'UTC' FROM sessions").rows() == [(True,)]


def test_the_users_frames_join_with_the_log(ask, filled, trust):
    frames = {
        "labels": pd.DataFrame({"kind": ["a", "b"], "label": ["first", "second"]}),
        "unused": object(),
    }
    sql = "SELECT label, count(*) FROM events JOIN Labels USING (kind) GROUP BY 1 ORDER BY 1"
    result = ask(sql, frames=frames, trust=trust)
    assert result.rows() == [("first", 2), ("second", 1)]
    arrow = {"labels": pa.table({"kind": ["a"], "label": ["first"]})}
    assert ask(sql, frames=arrow, trust=trust).rows() == [("first", 2)]


def test_a_frame_hides_a_view_of_its_name_and_the_log_stays_reachable(ask, filled, trust):
    frames = {"events": pd.DataFrame({"q": [1]}), "messages": pd.DataFrame({"q": [2]})}
    assert ask("FROM events", frames=frames, trust=trust).rows() == [(1,)]
    assert ask("SELECT count(*) FROM claw.events", frames=frames, trust=trust).rows() == [(3,)]
    assert ask("SELECT count(*) FROM claw.messages", frames=frames, trust=trust).rows() == [(0,)]


def test_our_own_variables_are_not_tables(ask, trust):
    for name in ("snapshot", "frames", "table", "duck"):
        with pytest.raises(InvalidInput):
            ask(f'FROM "{name}"', trust=trust)


def test_a_wrong_table_is_answered_with_the_right_ones(ask, trust):
    with pytest.raises(InvalidInput, match="mesages") as caught:
        ask("SELECT * FROM mesages", trust=trust)
    assert "messages, tool_calls" in caught.value.hint


def test_a_wrong_column_is_answered_with_the_right_ones(ask, trust):
    with pytest.raises(InvalidInput, match="txt") as caught:
        ask("SELECT txt FROM messages", trust=trust)
    assert "messages has: seq, id, ts" in caught.value.hint


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT FROM WHERE", "SELECT 'open"])
def test_wrong_sql_is_said_to_be_wrong(ask, trust, sql):
    with pytest.raises(InvalidInput) as caught:
        ask(sql, trust=trust)
    assert caught.value.hint


def test_a_user_may_do_what_duckdb_can(ask, tmp_path, filled):
    out = tmp_path / "out.parquet"
    ask(f"COPY (SELECT * FROM events) TO '{out}'")
    assert ask(f"SELECT count(*) FROM '{out}'").rows() == [(3,)]
    assert ask("CREATE TABLE t AS SELECT 42 AS a; SELECT a FROM t").rows() == [(42,)]
    assert ask("SET threads = 1").rows() == []


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t AS SELECT 1",
        "COPY (SELECT 1) TO '{folder}/x.csv'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/x.csv'",
        "WITH x AS (COPY (SELECT 1) TO '{folder}/x.csv') SELECT 1",
        "WITH x AS (COPY (SELECT 1) TO '{segment}') SELECT 1",
        "ATTACH '{folder}/x.db'",
        "SELECT 1; SELECT 2",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "SELECT * FROM read_parquet('{segment}')",
        "SELECT * FROM glob('/etc/*')",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL force_checkpoint()",
        "",
    ],
)
def test_an_agent_may_only_look_at_the_views(ask, store, tmp_path, filled, sql):
    (segment,) = store.paths.lake.rglob("*.parquet")
    before = segment.read_bytes()
    with pytest.raises((Denied, InvalidInput)):
        ask(sql.format(folder=tmp_path, segment=segment), trust="agent")
    assert segment.read_bytes() == before
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    "sql", ["DESCRIBE events", "SHOW TABLES", "SUMMARIZE events", "FROM events", "VALUES (1)"]
)
def test_an_agent_may_look_in_every_way(ask, filled, sql):
    assert len(ask(sql, trust="agent")) > 0


def test_extensions_are_never_fetched(store):
    duck = store.connect()
    with pytest.raises(duckdb.Error):
        duck.execute("SELECT * FROM 'https://example.invalid/x.parquet'")
    settings = dict(
        duck.execute("SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%'").fetchall()
    )
    assert (
        settings["autoinstall_known_extensions"] == settings["autoload_known_extensions"] == "false"
    )
    duck.close()


def test_a_connection_without_access_is_locked(store, filled):
    duck = store.connect(external_access=False)
    assert duck.execute("SELECT count(*) FROM events").fetchall() == [(3,)]
    with pytest.raises(duckdb.PermissionException):
        duck.execute("FROM read_text('/etc/hostname')")
    with pytest.raises(duckdb.InvalidInputException, match="locked"):
        duck.execute("SET enable_external_access = true")
    duck.close()


def test_cancelling_stops_the_query(store):
    async def cancelled() -> float:
        slow = "SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b"
        task = asyncio.create_task(store.query(slow))
        await asyncio.sleep(0.5)
        used = time.process_time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.process_time() - used

    used = asyncio.run(cancelled())
    # What would have taken hours has ended: the threads of DuckDB burn no more time.
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.2
    assert used < 60


def test_a_second_look_sees_only_what_is_new_read_again(store, row, ask):
    store.append([row("a")])
    assert ask("SELECT count(*) FROM events").rows() == [(1,)]
    store.append([row("a")])
    other = Store.open(store.home)
    other.append([row("b")])
    assert ask("SELECT count(*) FROM events").rows() == [(3,)]
    other.compact(force=True)
    other.append([row("b")])
    other.close()
    assert ask("SELECT kind FROM events ORDER BY seq").rows() == [("a",), ("a",), ("b",), ("b",)]


def test_a_segment_swept_between_listing_and_reading_is_listed_again(store, row, ask, monkeypatch):
    """A query that meets a file's end tries once more with the new list."""
    store.append([row("a")])
    store.compact(force=True)
    (old,) = store.paths.lake.rglob("*.parquet")
    from claw_nb.store import catalog

    real = catalog.connection

    def late(*args, **options):
        duck = real(*args, **options)
        if old.exists():
            moved = old.with_name("merged.parquet")
            old.rename(moved)
            with store.tx() as tx:
                path = moved.relative_to(store.paths.lake).as_posix()
                tx.execute("UPDATE segments SET path = ?", (path,))
        return duck

    monkeypatch.setattr(catalog, "connection", late)
    assert ask("SELECT kind FROM events").rows() == [("a",)]


def test_tasks_and_their_runs_are_tables(store, ask):
    with store.tx() as tx:
        tx.execute(
            "INSERT INTO tasks (id, agent_id, name, target, schedule_type, schedule_value, created,"
            " updated, next_run) VALUES ('t', 'main', 'report', '{\"prompt\":\"hi\"}', 'cron',"
            " '0 9 * * *', 1, 2, 3000000)"
        )
        tx.execute(
            "INSERT INTO runs (id, task_id, due, trigger, status, started, finished)"
            " VALUES ('r', 't', 3000000, 'schedule', 'success', 4000000, 5500000)"
        )
    assert ask("SELECT target->>'prompt', epoch(next_run) FROM tasks").rows() == [("hi", 3.0)]
    assert ask("SELECT task, status, seconds FROM task_runs").rows() == [("report", "success", 1.5)]


def test_memories_are_read_from_lancedb(store, ask, trust):
    import lancedb

    assert ask("FROM memories", trust=trust).rows() == []
    time_ = pa.timestamp("us", tz="UTC")
    table = pa.table(
        {
            "id": ["m1"], "text": ["penguins swim"], "category": ["fact"], "tags": [["zoo"]],
            "agent": ["main"], "source": ["user"], "session_id": [None], "position": [None],
            "created": pa.array([1_000_000], time_), "updated": pa.array([2_000_000], time_),
        },
        schema=pa.schema(
            [
                ("id", pa.string()), ("text", pa.string()), ("category", pa.string()),
                ("tags", pa.list_(pa.string())), ("agent", pa.string()), ("source", pa.string()),
                ("session_id", pa.string()), ("position", pa.int64()), ("created", time_),
                ("updated", time_),
            ]
        ),
    )  # fmt: skip
    folder = store.paths.memories.parent
    lancedb.connect(str(folder)).create_table("memories", table)
    found = ask("SELECT id, tags, speaker, epoch(created), text FROM memories", trust=trust)
    assert found.rows() == [("m1", ["zoo"], None, 1.0, "penguins swim")]
    assert ask("SELECT count(*) FROM memories", trust=trust).rows() == [(1,)]


def test_an_agents_query_gives_only_so_many_rows_however_many_there_are(ask):
    """It runs unasked, so it may not fill the memory of the kernel."""
    result = ask("SELECT range AS n FROM range(100_000_000_000)", trust="agent")
    assert (len(result), result.rows(2)) == (10_001, [(0,), (1,)])
