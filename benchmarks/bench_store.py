"""The store beside what it is made of: appending beside bare SQLite, SQL beside bare DuckDB.

Appends are paced at 250 a second for each of four processes, far above what agents write, so
that the figure is the time of one append and not that of a queue. They come in rounds, ours and
bare by turns, and the quietest round of each counts: what else the machine does only adds.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from claw_nb.core.clock import new_id, now
from claw_nb.core.records import LogRow
from claw_nb.store import Store
from claw_nb.store.rows import COLUMNS
from claw_nb.store.segments import SegmentWriter, register

APPEND_BOUND = 0.3  # milliseconds, p50
QUERY_BOUND = 2.0  # times bare DuckDB on one Parquet file
WRITERS = 4
PACE = 0.004
KINDS = ["message.added", "turn.finished", "tool.started", "tool.finished", "run.started"]
QUERY = "SELECT kind, count(*) FROM {} GROUP BY kind ORDER BY kind"

# -- appending -----------------------------------------------------------------------------------


def row() -> LogRow:
    return LogRow(
        id=new_id(), ts=now(), kind="tool.finished", session_id="s" * 32, run_id="r" * 32,
        agent="main", name="run_python", status="ok", ms=12.5, text="word " * 40,
        data={"call_id": "toolu_01", "arguments": {"code": "df.describe()"}},
    )  # fmt: skip


def ours(folder: Path) -> Callable[[], None]:
    store = Store.open(folder / "home")
    return lambda: store.append([row()])


def bare(folder: Path) -> Callable[[], None]:
    db = sqlite3.connect(folder / "bare.db", timeout=15, isolation_level=None)
    db.execute("PRAGMA synchronous = NORMAL")

    def append() -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO log (id, ts, row) VALUES (?, ?, ?)", (new_id(), now(), "x" * 450))
        db.execute("COMMIT")

    return append


def write(which: str, folder: Path, count: int) -> None:
    append = {"ours": ours, "bare": bare}[which](folder)
    times = []
    for _ in range(count):
        time.sleep(PACE)
        begun = time.perf_counter()
        append()
        times.append((time.perf_counter() - begun) * 1000)
    print(json.dumps(times))


def contended(which: str, folder: Path, count: int) -> list[float]:
    command = [sys.executable, __file__, "--writer", which, str(folder), str(count)]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(WRITERS)]
    times = [ms for writer in writers for ms in json.loads(writer.communicate()[0])]
    if any(writer.returncode for writer in writers):
        raise SystemExit(f"a {which} writer failed")
    return times


def highest(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


def bench_append(folder: Path, *, rounds: int, count: int) -> bool:
    Store.open(folder / "home").close()
    with sqlite3.connect(folder / "bare.db") as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE log (seq INTEGER PRIMARY KEY AUTOINCREMENT, id, ts, row)")
    db.close()
    times: dict[str, list[list[float]]] = {"ours": [], "bare": []}
    for _ in range(rounds):
        for which, found in times.items():
            found.append(contended(which, folder, count))
    p50 = {which: min(map(statistics.median, found)) for which, found in times.items()}
    p99 = {which: min(map(highest, found)) for which, found in times.items()}
    print(
        f"append, {WRITERS} writers: p50 {p50['ours']:.3f} ms (bound {APPEND_BOUND}), bare SQLite "
        f"{p50['bare']:.3f} ms, ratio {p50['ours'] / p50['bare']:.1f}; "
        f"p99 {p99['ours']:.2f} ms, bare {p99['bare']:.2f} ms"
    )
    return p50["ours"] <= APPEND_BOUND


# -- asking --------------------------------------------------------------------------------------


def events(count: int, offset: int) -> duckdb.DuckDBPyRelation:
    made = {
        "seq": f"range + {offset} + 1", "id": f"printf('%032x', range + {offset})",
        "ts": "make_timestamp(1700000000000000 + range * 1000)", "writer": "'host:1'",
        "session_id": "printf('s%06d', range % 10000)", "run_id": "printf('r%07d', range // 20)",
        "agent": "'main'", "kind": f"{KINDS}[(1 + hash(range) % {len(KINDS)})::INT]", "v": "1",
        "text": "repeat('word ', (hash(range) % 40)::INT) || range",
        "data": "'{\"call_id\":\"' || range || '\"}'",
    }  # fmt: skip
    columns = [f"({made.get(name, 'NULL')})::{kind} AS {name}" for name, kind in COLUMNS.items()]
    return duckdb.sql(f"SELECT {', '.join(columns)} FROM range({count})")


def fill(store: Store, count: int) -> None:
    """A month's log as the compactor leaves it: big segments, a few small ones, a hot inbox."""
    with store.read() as read:
        data_id = read.execute("SELECT value FROM meta WHERE key = 'data_id'").fetchone()[0]
    writer = SegmentWriter(store.paths, data_id=data_id, clock=now, new_id=new_id)
    sizes = [count // 4] * 3 + [count // 20] * 3 + [count // 50] * 3
    sizes += [count - sum(sizes) - 2000] + [500] * 3
    done = 0
    for size in sizes:
        name, fresh = writer.begin()
        writer.write(fresh, events(size, done).to_arrow_table())
        segment = writer.finish(name, fresh, lo=done + 1, hi=done + size, rows=size)
        with store.tx() as tx:
            register(tx, segment)
        done += size
    with store.tx() as tx:  # the next row follows the sealed ones
        tx.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('inbox', ?)", (done,))
    store.append([row() for _ in range(count - done)])


def alternating(asked: dict[str, Callable[[], object]], times: int) -> dict[str, float]:
    """The median milliseconds of each, taken in turns so that all see the same machine."""
    found: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(times):
        for name, ask in asked.items():
            begun = time.perf_counter()
            ask()
            found[name].append((time.perf_counter() - begun) * 1000)
    return {name: statistics.median(times) for name, times in found.items()}


def bench_query(folder: Path, *, count: int, times: int) -> bool:
    store = Store.open(folder / "asked")
    fill(store, count)
    one = folder / "one.parquet"
    duck = store.connect()
    duck.execute(f"COPY (SELECT * FROM events ORDER BY seq) TO '{one}' (COMPRESSION zstd)")
    plain = duckdb.connect()
    expected = plain.execute(QUERY.format(f"'{one}'")).fetchall()
    assert duck.execute(QUERY.format("events")).fetchall() == expected
    assert sum(n for _, n in expected) == count
    asked = {
        "bare": lambda: plain.execute(QUERY.format(f"'{one}'")).fetchall(),
        "view": lambda: duck.execute(QUERY.format("events")).fetchall(),
    }
    took = alternating(asked, times)
    duck.close()
    took |= alternating({"connect": lambda: store.connect().close()}, 5)
    store.close()
    ratio = took["view"] / took["bare"]
    print(
        f"{QUERY.format('events')} over {count:,} events: {took['view']:.1f} ms, bare DuckDB on one "
        f"Parquet file {took['bare']:.1f} ms, ratio {ratio:.2f} (bound {QUERY_BOUND:.1f}); "
        f"opening the views {took['connect']:.0f} ms"
    )
    return ratio <= QUERY_BOUND


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything, same bounds")
    parser.add_argument("--writer", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.writer:
        which, folder, count = options.writer
        write(which, Path(folder), int(count))
        return 0
    quick = options.quick
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        kept = [
            bench_append(folder, rounds=3 if quick else 6, count=200 if quick else 400),
            bench_query(folder, count=1_000_000, times=7 if quick else 15),
        ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).resolve().parents[1]))
    sys.exit(main())
