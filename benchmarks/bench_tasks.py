"""A trivial notebook as a Task, from its claim to its report, against the papermill command."""

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from claw_nb.store import Store
from claw_nb.tasks import Tasks
from claw_nb.tasks.runner import Runner
from claw_nb.tasks.scheduler import run_here

BOUND = 1.1


def write(path: Path) -> None:
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    nb.metadata["kernelspec"] = {
        "name": "python3", "display_name": "Python 3", "language": "python",
    }  # fmt: skip
    nbformat.write(nb, path)


def papermill(path: Path) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", path, path.with_stem("out")]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begun


def task(tasks: Tasks, path: Path) -> float:
    begun = time.perf_counter()
    run = tasks.run_now(tasks.find("trivial"))
    ended = asyncio.run(run_here(tasks, Runner(home=tasks.home), run))
    took = time.perf_counter() - begun
    assert ended.status == "success", ended.error
    return took


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    rounds = 3 if parser.parse_args().quick else 10
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "trivial.ipynb"
        write(path)
        store = Store.open(Path(scratch) / "home")
        tasks = Tasks(store)
        tasks.add("trivial", notebook=path, every="1w")
        papermill(path), task(tasks, path)  # both warm the disk's cache
        pairs = [(papermill(path), task(tasks, path)) for _ in range(rounds)]
        store.close()
    theirs, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(mine / other for other, mine in pairs)
    print(f"papermill command {theirs:.2f} s, task with its report {ours:.2f} s")
    print(f"ratio {ratio:.2f} (bound {BOUND})")
    return int(ratio > BOUND)


if __name__ == "__main__":
    sys.exit(main())
