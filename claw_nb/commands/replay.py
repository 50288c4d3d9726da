"""``claw replay``: a notebook run again with the recorded answers, without a model and a key."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from pathlib import Path

import click

from claw_nb.commands.options import json_option
from claw_nb.commands.output import Note
from claw_nb.core.errors import ClawError, NotFound
from claw_nb.core.records import Run
from claw_nb.providers.cassette import SUFFIX, Cassette
from claw_nb.store import Store
from claw_nb.tasks import Tasks
from claw_nb.tasks.runner import Runner
from claw_nb.tasks.scheduler import run_here

_NEVER = "2999-01-01T00:00"


@click.command()
@click.argument("notebook", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--cassette", type=click.Path(path_type=Path, dir_okay=False),
              help="The recorded answers (default: beside the notebook).")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False),
              help="Keep the executed notebook here.")  # fmt: skip
@click.option("--match", type=click.Choice(["conversation", "request"]), default="conversation",
              show_default=True, help="Compare the instructions and tools too: request.")  # fmt: skip
@json_option
def replay(notebook: Path, cassette: Path | None, output: Path | None, match: str) -> Note:
    """Run NOTEBOOK with the answers that were recorded for it.

    No model is asked and no key is needed; tools run as they ran, in a fresh home of its own. It
    fails, and shows the difference, when a question or a tool's result is not as recorded.
    """
    if not notebook.exists():
        raise NotFound(f"There is no notebook {notebook}.", hint="Give its path.")
    notebook = notebook.absolute()
    tape = (cassette or notebook.with_suffix(SUFFIX)).absolute()
    answers = len(Cassette(path=tape).calls())
    run = _played(notebook, tape, match=match, output=output and output.absolute())
    if run.status != "success":
        raise ClawError(
            f"{notebook.name} did not run as it was recorded: {run.error or run.status}",
            hint=f"The recorded answers are in {tape}.",
        )
    return Note(
        text=f"{notebook.name} ran as it was recorded. {tape.name} holds {answers} answers.",
        facts={"notebook": str(notebook), "cassette": str(tape), "answers": answers, "ok": True},
    )


def _played(notebook: Path, tape: Path, *, match: str, output: Path | None) -> Run:
    """The run, in a home that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="claw-replay-") as scratch:
        home = Path(scratch).resolve()
        told = {"CLAW_REPLAY": "strict", "CLAW_CASSETTE": str(tape), "CLAW_MATCH": match}
        store = Store.open(home)
        try:
            tasks = Tasks(store)
            task = tasks.add(f"replay of {notebook.name}", notebook=notebook, at=_NEVER)
            run = _in_a_thread(tasks, Runner(home=home, env={**os.environ, **told}), task.id)
        finally:
            store.close()
        if output and run.notebook and Path(run.notebook).exists():
            output.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(run.notebook, output)
        return run


def _in_a_thread(tasks: Tasks, runner: Runner, task_id: str) -> Run:
    """Away from the loop that a notebook's kernel already has."""
    queued = tasks.run_now(tasks.find(task_id))
    done: list[Run] = []
    thread = threading.Thread(
        target=lambda: done.append(asyncio.run(run_here(tasks, runner, queued)))
    )
    thread.start()
    thread.join()
    return done[0] if done else tasks.run(queued.id)
