"""A writer that dies by `kill -9` at a named point: all of its row is there, or nothing of it."""

import subprocess
import sys

import pytest

TEXT = 200_000
"""Characters of the row: more than stays in the database, so that a blob is written as well."""

WRITER = f"""if True:
    import os, signal, sys
    from pathlib import Path
    from claw_nb.core.clock import new_id, now
    from claw_nb.core.records import LogRow
    from claw_nb.store import Store
    home, point = Path(sys.argv[1]), sys.argv[2]
    store = Store.open(home)
    row = LogRow(id=new_id(), ts=now(), kind="note", name="row", text="x" * {TEXT})
    def die(reached):
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)
    with store.tx() as tx:
        die("transaction begun")
        store.append([row], tx=tx)
        die("row inserted")
    die("committed")
"""

SPILLER = f"""if True:
    import os, signal, sys
    from pathlib import Path
    from claw_nb.core.clock import new_id, now
    from claw_nb.core.records import LogRow
    from claw_nb.store import Store
    store = Store.open(Path(sys.argv[1]))
    print("open", flush=True)
    sys.stdin.readline()
    store.append([LogRow(id=new_id(), ts=now(), kind="note", name="row", text="x" * {TEXT})])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kept_rows(store, columns="name"):
    duck = store.connect()
    try:
        return duck.execute(f"SELECT {columns} FROM events WHERE kind = 'note'").fetchall()
    finally:
        duck.close()


@pytest.mark.parametrize(
    ("point", "kept"), [("transaction begun", 0), ("row inserted", 0), ("committed", 1)]
)
def test_a_row_is_there_whole_from_the_commit_on_and_not_before(home, store, point, kept):
    done = subprocess.run([sys.executable, "-c", WRITER, str(home), point], check=False)
    assert done.returncode == -9
    assert kept_rows(store) == [("row",)] * kept
    store.compact(force=True)
    found = kept_rows(store, "name, blob")
    assert [name for name, _ in found] == ["row"] * kept
    assert ["x" * TEXT in store.blobs.load(digest) for _, digest in found] == [True] * kept


def test_a_row_that_was_spilled_outlives_its_writer_and_comes_in_once(home, store):
    with subprocess.Popen(
        [sys.executable, "-c", SPILLER, str(home)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as writer:  # fmt: skip
        assert writer.stdout.readline() == "open\n"
        with store.tx():
            writer.stdin.write("go\n")
            writer.stdin.flush()
            assert writer.wait(60) == -9
    assert kept_rows(store) == [("row",)]
    store.compact(force=True)
    assert kept_rows(store) == [("row",)]
