"""Several processes write to one home, some of them die, and nothing that was acked is lost."""

import json
import signal
import subprocess
import sys
import textwrap

import pytest

from claw_nb.core.errors import StoreError
from claw_nb.core.locks import FileLock
from claw_nb.core.records import LogRow, Memory
from claw_nb.memory.memories import Memories
from claw_nb.memory.rows import SCHEMA, to_rows
from claw_nb.memory.table import Table

HEAD = """
import json, os, sys
from pathlib import Path
from claw_nb.core.records import Memory
from claw_nb.core.wire import to_json
from claw_nb.memory.memories import Memories
home, name = Path(sys.argv[1]), sys.argv[2]
journal = open(home / f"log-{name}.jsonl", "a")
def log(row):
    journal.write(json.dumps(to_json(row)) + "\\n")
    journal.flush()
    os.fsync(journal.fileno())
memories = Memories(home / "memory", home / "memory.lock", log=log)
memories.count()
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def start(tmp_path):
    """Starts a process that runs some code when its standard input gets a line."""
    running = []

    def run(name, code):
        process = subprocess.Popen(
            [sys.executable, "-c", HEAD + textwrap.dedent(code), str(tmp_path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def go(processes):
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()


def logged(home):
    rows = []
    for path in home.glob("log-*.jsonl"):
        for line in path.read_text().splitlines():
            rows.append(LogRow(**json.loads(line)))
    return rows


@pytest.fixture
def memories(tmp_path):
    return Memories(tmp_path / "memory", tmp_path / "memory.lock")


def test_the_same_key_merged_by_four_processes_is_one_row(start, memories):
    """Past the lock on purpose: the declared key alone must hold. It is what a crash leaves."""
    code = """
    from claw_nb.memory.rows import SCHEMA, to_rows
    from claw_nb.memory.table import Table
    table = Table(home / "memory", "memories", SCHEMA)
    for n in range(6):
        table.insert(to_rows([Memory(id=f"k{n}", text=f"by {name}", created=1, updated=1)]))
    """
    # Made beforehand: making the table is what the lock is for, and here nobody takes it.
    first = Memory(id="k0", text="by nobody", created=1, updated=1)
    Table(memories.folder, "memories", SCHEMA).insert(to_rows([first]))
    processes = [start(f"p{n}", code) for n in range(4)]
    go(processes)
    assert [process.wait() for process in processes] == [0] * 4
    assert sorted(memory.id for memory in memories.list(limit=99)) == [f"k{n}" for n in range(6)]


def test_three_writers_say_the_same_and_it_is_remembered_once(start, memories):
    code = "for n in range(6): memories.add(f'Fact number {n}.')"
    processes = [start(f"p{n}", code) for n in range(3)]
    go(processes)
    assert [process.wait() for process in processes] == [0] * 3
    assert sorted(memory.text for memory in memories.list(limit=99)) == [
        f"Fact number {n}." for n in range(6)
    ]


def test_putting_files_together_beside_writers_loses_nothing(start, memories):
    """Each writer passes the limit of files several times, so each of them optimizes as well."""
    code = """
    import claw_nb.memory.table as table
    table._FRAGMENTS = 4
    for n in range(12):
        print(memories.add(f"Fact {n} of {name}.").id, flush=True)
    """
    processes = [start(f"p{n}", code) for n in range(3)]
    go(processes)
    acked = {line.strip() for process in processes for line in process.stdout}
    assert len(acked) == 36
    assert {memory.id for memory in memories.list(limit=999)} == acked
    fragments = memories._shelf._table._opened.stats()["fragment_stats"]["num_fragments"]
    assert fragments < 8


def test_a_killed_writer_loses_nothing_that_it_acked(start, memories, tmp_path):
    code = """
    n = 0
    while True:
        n += 1
        print(memories.add(f"Fact {n} of {name}.").id, flush=True)
    """
    acked = set()
    for name in ("one", "two"):
        process = start(name, code)
        go([process])
        acked |= {process.stdout.readline().strip() for _ in range(12)}
        process.send_signal(signal.SIGKILL)
        acked |= {line.strip() for line in process.stdout if line.endswith("\n")}
        process.wait()
    assert acked <= {memory.id for memory in memories.list(limit=9999)}
    memories.rebuild(logged(tmp_path))
    assert {memory.id for memory in memories.list(limit=9999)} == {
        row.data["id"] for row in logged(tmp_path)
    }


def test_a_writer_that_dies_between_log_and_table_is_made_good_from_the_log(
    start, memories, tmp_path
):
    code = """
    memories.add("Kept.")
    memories._log = lambda row: (log(row), os._exit(9))
    memories.add("Logged, and then the power went.")
    """
    process = start("dying", code)
    go([process])
    assert process.wait() == 9
    assert [memory.text for memory in memories.list()] == ["Kept."]
    assert memories.rebuild(logged(tmp_path)) == 1
    assert memories.rebuild(logged(tmp_path)) == 0
    assert memories.search("where did the power go")[0].text == "Logged, and then the power went."


def test_a_stopped_writer_is_named_and_nobody_waits_for_ever(
    start, memories, tmp_path, monkeypatch
):
    code = """
    from claw_nb.core.locks import FileLock
    with FileLock(home / "memory.lock"):
        print("held", flush=True)
        sys.stdin.readline()
    """
    process = start("stopped", code)
    go([process])
    assert process.stdout.readline() == "held\n"
    monkeypatch.setattr(FileLock.__init__, "__kwdefaults__", {"timeout": 0.05})
    with pytest.raises(StoreError, match="memory.lock"):
        memories.add("Too late.")
    assert memories.search("anything") == ()
