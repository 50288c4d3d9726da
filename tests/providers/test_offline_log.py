"""The interpreter in a whole workspace: it tells what it did from the real log."""

import asyncio

import pandas as pd

from claw_nb.core.events import RunFinished, TextAdded
from claw_nb.core.protocols import Answer
from claw_nb.workspace import Workspace
from tests.providers.plain_kernel import PlainKernel


def answers(home, root, *questions):
    """What a notebook's questions are answered, one after the other."""

    async def allow(request):
        return Answer(decision="once", by="test")

    async def go():
        kernel = PlainKernel(penguins=pd.DataFrame({"species": ["Gentoo"], "mass": [5000.0]}))
        workspace = Workspace.open(home, kernel=kernel, root=root)
        said = []
        for question in questions:
            events = [e async for e in workspace.ask(question, key="nb.ipynb", approve=allow)]
            assert isinstance(events[-1], RunFinished), events[-1]
            said.append("".join(e.text for e in events if isinstance(e, TextAdded)))
        workspace.close()
        return said

    return asyncio.run(go())


def test_a_day_in_a_notebook(home, tmp_path):
    described, kept, known, done, planned, listed, task = answers(
        home,
        tmp_path,
        "describe penguins",
        "remember that Gentoo are the heaviest #penguins",
        "what do you know about Gentoo?",
        "what did you do?",
        "schedule 'describe penguins' every day at 9",
        "list tasks",
        "what did the last task do?",
    )
    assert "**1 row** and **2 columns**" in described
    assert kept == "I remember, as a fact: “Gentoo are the heaviest”"
    assert "- Gentoo are the heaviest *(fact, from `" in known
    assert "| what do you know about Gentoo? | 2 | 1 | 0 |" in done
    assert "| recall | ok | " in done
    assert "which asks “describe penguins”: `cron 0 9 * * *`" in planned
    assert "| `describe penguins` |" in listed
    assert task == "No scheduled task has run yet."
