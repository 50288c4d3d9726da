"""Writers and compactors die by `kill -9` while a reader watches that nothing is lost or doubled."""

import itertools
import subprocess
import sys
import time
from pathlib import Path

import pytest

from claw_nb.store import Store
from claw_nb.store.compaction import POINTS

SCRIPT = Path(__file__).with_name("chaos.py")
SECONDS = 7
WRITERS = 3


def start(role: str, home: Path, name: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, str(SCRIPT), role, str(home), name])


def acknowledged(home: Path) -> set[str]:
    lines = [file.read_text().splitlines(keepends=True) for file in home.glob("*.acks")]
    return {line.strip() for line in itertools.chain(*lines) if line.endswith("\n")}


@pytest.mark.timeout(120)
def test_no_acknowledged_row_is_lost_or_doubled_by_kill_9(home):
    store = Store.open(home)
    names = (f"w{i}" for i in itertools.count())
    points = itertools.cycle(POINTS)
    writers = [start("writer", home, next(names)) for _ in range(WRITERS)]
    compactors = [start("compactor", home, next(points)) for _ in range(2)]
    deaths = kills = polls = 0
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end or min(kills, deaths) < 3:
            before = acknowledged(home)
            duck = store.connect()
            found = [name for (name,) in duck.execute("SELECT name FROM events").fetchall()]
            duck.close()
            polls += 1
            assert len(found) == len(set(found)), "a row was read twice"
            assert before <= set(found), f"lost: {sorted(before - set(found))[:5]}"
            if polls % 3 == 0:
                writers[0].kill()
                assert writers.pop(0).wait() == -9
                writers.append(start("writer", home, next(names)))
                kills += 1
            for compactor in list(compactors):
                if compactor.poll() is not None:
                    assert compactor.returncode == -9, "a compactor failed"
                    compactors.remove(compactor)
                    deaths += 1
                    compactors.append(start("compactor", home, next(points)))
    finally:
        for process in writers + compactors:
            process.kill()
            process.wait()
    duck = store.connect()
    ((rows, distinct),) = duck.execute(
        "SELECT count(*), count(DISTINCT name) FROM events"
    ).fetchall()
    duck.close()
    assert rows == distinct >= len(acknowledged(home)) > 100
    with store.read() as read:
        assert read.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    store.close()
