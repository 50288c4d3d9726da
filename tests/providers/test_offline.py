"""The embedded interpreter over the real loop and the real tools."""

import asyncio
import re
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest

from claw_nb.agent import Agent
from claw_nb.core.events import MessageAdded, RunFinished
from claw_nb.core.messages import Message, ToolCall, user
from claw_nb.core.protocols import Answer, MemoryHit, ModelRequest, ToolSpec
from claw_nb.core.records import Task
from claw_nb.core.tools import Tool
from claw_nb.providers.offline import OfflineProvider
from claw_nb.providers.offline.intents import INTENTS
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.files import file_tools
from claw_nb.tools.memory import memory_tools
from claw_nb.tools.python import python_tools
from claw_nb.tools.schedule import schedule_tools
from claw_nb.tools.sql import sql_tools
from claw_nb.tools.variables import variable_tools
from tests.providers.asking import ask
from tests.providers.plain_kernel import PlainKernel

NOON = int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp() * 1e6)


def penguins() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "species": ["Adelie", "Adelie", "Gentoo", "Gentoo", "Chinstrap"],
            "bill_length_mm": [39.1, 39.5, 46.1, None, 46.5],
            "bill_depth_mm": [18.7, 17.4, 13.2, 14.1, 17.9],
            "body_mass_g": [3750.0, 3800.0, 4500.0, 5700.0, 3500.0],
        }
    )


@dataclass
class Place:
    """A notebook with its tools; ``ask`` gives what was called and what was answered."""

    kernel: PlainKernel
    root: Any
    decision: str = "once"
    kept: list[tuple] = field(default_factory=list)
    hits: list[MemoryHit] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    history: list[Message] = field(default_factory=list)
    without: tuple[str, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        async def keep(text, category, tags):
            self.kept.append((text, category, tuple(tags)))
            return "m1"

        async def find(query, limit):
            return self.hits

        async def add(*, name, notebook, prompt, cron, every, at, timezone):
            target = {"notebook": notebook} if notebook else {"prompt": prompt}
            kind = "cron" if cron else "interval" if every else "once"
            task = Task(
                id="t1",
                agent_id="main",
                name=name,
                target=target,
                schedule_type=kind,
                schedule_value=cron or every or at,
                timezone="Europe/Berlin",
                next_run=NOON,
            )
            self.tasks.append(task)
            return task

        async def tasks():
            return self.tasks

        async def query(text, limit):
            self.queries.append(text)
            return next((t for part, t in self.tables.items() if part in text), "| x |\n|---|")

        tools = (
            *variable_tools(self.kernel),
            *python_tools(self.kernel),
            *file_tools(Boundary(self.root)),
            *memory_tools(keep, find),
            *schedule_tools(add, tasks),
            *sql_tools(query),
        )
        return tuple(tool for tool in tools if tool.name not in self.without)

    async def _approve(self, request):
        return Answer(decision=self.decision, by="test")

    async def _ask(self, text: str) -> tuple[list[ToolCall], str]:
        agent = Agent(
            name="main",
            provider=OfflineProvider(clock=lambda: NOON),
            model="interpreter",
            instructions="",
            tools=self.tools(),
        )
        run = agent.run(self.history, user(text), run_id="r", session_id="s", approve=self._approve)
        async with aclosing(run) as stream:
            events = [event async for event in stream]
        assert isinstance(events[-1], RunFinished), events[-1]
        added = [event.message for event in events if isinstance(event, MessageAdded)]
        self.history += added
        calls = [call for message in added for call in message.tool_calls]
        said = [m.text for m in added if m.role == "assistant" and m.text]
        return calls, "\n\n".join(said)

    def ask(self, text: str) -> tuple[list[ToolCall], str]:
        return asyncio.run(self._ask(text))


@pytest.fixture
def place(tmp_path):
    return Place(kernel=PlainKernel(penguins=penguins(), count=3), root=tmp_path)


def names(calls):
    return [call.name for call in calls]


# -- variables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "describe penguins",
        "Describe the data frame penguins.",
        "please describe the penguins data frame",
        "what's in `penguins`?",
        "what is `penguins`",
        "show me penguins",
        "Tell me about penguins",
        "summarise penguins",
    ],
)
def test_a_data_frame_is_described_from_what_the_tool_saw(place, said):
    calls, answer = place.ask(said)
    assert [(call.name, call.arguments) for call in calls] == [
        ("inspect_variable", {"name": "penguins"})
    ]
    assert "**5 rows** and **4 columns**" in answer
    assert "Values are missing in `bill_length_mm` (1)." in answer
    for column in penguins().columns:
        assert f"| `{column}` |" in answer


def test_the_only_data_frame_needs_no_name(place):
    calls, answer = place.ask("describe the data frame")
    assert names(calls) == ["list_variables", "inspect_variable"]
    assert re.match(r"`penguins` is a `[\w.]*DataFrame` with", answer)


def test_of_several_data_frames_one_must_be_named(place):
    place.kernel.namespace["flights"] = penguins()
    calls, answer = place.ask("describe the data frame")
    assert names(calls) == ["list_variables"]
    assert "Which one do you mean?" in answer
    assert "`flights`" in answer
    assert "`penguins`" in answer


def test_two_variables_are_looked_at_together(place):
    calls, answer = place.ask("describe penguins and count")
    assert [call.arguments["name"] for call in calls] == ["penguins", "count"]
    assert answer.endswith("`count` is an `int`: `3`")


def test_a_mistyped_name_gets_a_suggestion(place):
    calls, answer = place.ask("describe pengiuns")
    assert names(calls) == ["inspect_variable", "list_variables"]
    assert answer == "There is no variable `pengiuns`. Did you mean `penguins`?"


def test_variables_are_listed(place):
    calls, answer = place.ask("What variables are there?")
    assert names(calls) == ["list_variables"]
    assert "The kernel holds 2 variables:" in answer
    assert "| `penguins` |" in answer


# -- plots -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "code", "caption"),
    [
        (
            "plot bill_length_mm against body_mass_g",
            "_axes.scatter(penguins['body_mass_g'], penguins['bill_length_mm'], s=14)",
            (
                "`bill_length_mm` against `body_mass_g`: 5 rows of `penguins`. "
                "Rows with a missing value are left out (1 in `bill_length_mm`)."
            ),
        ),
        (
            "Plot bill length vs. body mass in penguins, coloured by species",
            "_axes.scatter(_part['body_mass_g'], _part['bill_length_mm'], s=14, label=_label)",
            (
                "`bill_length_mm` against `body_mass_g`, one colour for each `species`: 5 rows of "
                "`penguins`. Rows with a missing value are left out (1 in `bill_length_mm`)."
            ),
        ),
        (
            "show me a scatter plot of bill_depth_mm and body_mass_g",
            "_axes.scatter(penguins['bill_depth_mm'], penguins['body_mass_g'], s=14)",
            "`body_mass_g` against `bill_depth_mm`: 5 rows of `penguins`.",
        ),
        (
            "plot a histogram of body mass",
            "_axes.hist(penguins['body_mass_g'].dropna(), bins=30, alpha=0.6)",
            "The distribution of `body_mass_g`: 5 rows of `penguins`.",
        ),
        (
            "plot body_mass_g by species",
            "for _label, _part in penguins.groupby('species')}",
            "`body_mass_g` for each `species`: 5 rows of `penguins`.",
        ),
        (
            "plot species",
            "_counts = penguins['species'].dropna().value_counts()",
            "How often each value of `species` occurs: 5 rows of `penguins`.",
        ),
        (
            "draw penguins",
            "penguins.hist(figsize=(8, 5))",
            "The distribution of each numeric column: 5 rows of `penguins`.",
        ),
        (
            "line chart of body_mass_g",
            "_axes.plot(penguins['body_mass_g'])",
            "`body_mass_g` in the order of the rows: 5 rows of `penguins`.",
        ),
    ],
)
def test_columns_are_plotted(place, said, code, caption):
    calls, answer = place.ask(said)
    assert names(calls) == ["list_variables", "inspect_variable", "run_python"]
    assert code in calls[-1].arguments["code"]
    assert answer == caption
    result = place.history[-2].parts[0]
    assert [part.media_type for part in result.parts if hasattr(part, "media_type")] == [
        "image/png"
    ]


@pytest.mark.parametrize(
    "said",
    [
        "plot body_mass_g against bill_depth_mm by species",
        "plot body_mass_g by species",
        "plot species",
        "histogram of body_mass_g by species",
        "line plot of body_mass_g over bill_depth_mm",
    ],
)
def test_polars_frames_are_plotted_too(place, said):
    import polars as pl

    place.kernel.namespace["penguins"] = pl.DataFrame(penguins().to_dict("list"))
    calls, answer = place.ask(said)
    assert names(calls)[-1] == "run_python"
    assert answer.endswith("of `penguins`.") or "missing" in answer, answer


def test_a_plot_leaves_only_underscored_names_behind(place):
    before = set(place.kernel.namespace)
    place.ask("plot body_mass_g by species")
    assert {n for n in place.kernel.namespace if not n.startswith("_")} - before == {"plt"}


def test_an_unclear_column_is_asked_about(place):
    calls, answer = place.ask("plot bill against body mass")
    assert "run_python" not in names(calls)
    assert answer == ("“bill” could be `bill_length_mm`, `bill_depth_mm`. Which one do you mean?")


def test_an_unknown_column_is_answered_with_the_known_ones(place):
    _, answer = place.ask("plot wingspan against body mass")
    assert answer.startswith("I found no column for “wingspan”. The columns are `species`,")


def test_a_plot_that_may_not_run_shows_its_code(place):
    place.decision = "denied"
    _, answer = place.ask("plot species")
    assert answer.startswith("You did not allow `run_python`, so I stopped there.")
    assert "```python\nimport matplotlib.pyplot as plt" in answer


# -- running what is given ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "code", "answer"),
    [
        ("run: 6 * 7", "6 * 7", "I ran it:\n\n```\n42\n```"),
        ("run `count + 1`", "count + 1", "I ran it:\n\n```\n4\n```"),
        ("Run this code:\nx = 1\ny = 2", "x = 1\ny = 2", "I ran it; it showed nothing."),
        ("Please try\n```python\nprint('a')\n```", "print('a')", "I ran it:\n\n```\na\n```"),
        ("run: 1 / 0", "1 / 0", "The code failed: `ZeroDivisionError: division by zero`"),
    ],
)
def test_code_that_is_given_runs_as_it_stands(place, said, code, answer):
    calls, said_back = place.ask(said)
    assert [(call.name, call.arguments) for call in calls] == [("run_python", {"code": code})]
    assert said_back == answer


def test_output_with_fences_stays_in_its_fence(place):
    _, answer = place.ask("run: print('```')")
    assert answer == "I ran it:\n\n````\n```\n````"


@pytest.mark.parametrize(
    "said", ["sql: SELECT 1 AS n", "SELECT 1 AS n", "```sql\nSELECT 1 AS n;\n```"]
)
def test_sql_that_is_given_runs_as_it_stands(place, said):
    place.tables = {"SELECT 1": "| n |\n|---|\n| 1 |"}
    calls, answer = place.ask(said)
    assert [(call.name, call.arguments) for call in calls] == [("sql", {"query": "SELECT 1 AS n"})]
    assert answer == "| n |\n|---|\n| 1 |"


def test_a_file_is_read(place):
    (place.root / "notes.md").write_text("# Notes\n")
    calls, answer = place.ask("read notes.md")
    assert names(calls) == ["read_file"]
    assert "# Notes" in answer


def test_a_missing_file_is_said_to_be_missing(place):
    _, answer = place.ask("read nothing.md")
    assert answer.startswith("That did not work: ")


# -- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "remember that Gentoo penguins are the heaviest",
            ("Gentoo penguins are the heaviest", "fact", ()),
        ),
        (
            "Please remember: I prefer tables and plot nothing #style",
            ("I prefer tables and plot nothing", "preference", ("style",)),
        ),
        (
            "note that we decided to use Parquet, and describe it later #a #b",
            ("we decided to use Parquet, and describe it later", "decision", ("a", "b")),
        ),
    ],
)
def test_a_text_is_remembered_whole(place, said, kept):
    calls, answer = place.ask(said)
    assert place.kept == [kept]
    assert names(calls) == ["remember"]
    assert answer == f"I remember, as a {kept[1]}: “{kept[0]}”"


def hit(text, *, weak=False):
    return MemoryHit(
        id="m1",
        text=text,
        score=0.9,
        weak=weak,
        category="fact",
        tags=(),
        source="tour.ipynb",
        session_id="0192aaaabbbbccccdddd",
        created="2026-11-30T10:00:00Z",
        why={},
    )


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("recall gentoo", "gentoo"),
        ("What do you know about Gentoo penguins?", "Gentoo penguins"),
        ("what do you remember about how bill length relates?", "how bill length relates"),
        ("do you remember the heaviest?", "the heaviest"),
    ],
)
def test_what_is_recalled_has_its_source(place, said, query):
    place.hits = [hit("Gentoo are the heaviest."), hit("Something else.", weak=True)]
    calls, answer = place.ask(said)
    assert [(call.name, call.arguments) for call in calls] == [("recall", {"query": query})]
    assert answer == (
        f"This is what I know about “{query}”:\n\n"
        "- Gentoo are the heaviest. *(fact, from `tour.ipynb`, session `0192aaaabbbb`, "
        "2026-11-30)*"
    )


def test_what_may_not_fit_is_not_told_as_knowledge(place):
    place.hits = [hit("Something else.", weak=True)]
    _, answer = place.ask("recall gentoo")
    assert answer.startswith("I know nothing about “gentoo” for sure. These come closest:")


def test_nothing_known_is_said(place):
    assert place.ask("recall gentoo")[1].startswith("I know nothing about “gentoo” yet.")


# -- tasks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        (
            "schedule report.ipynb every day at 9",
            {"name": "report", "notebook": "report.ipynb", "cron": "0 9 * * *"},
        ),
        (
            "Run `my reports/sales.ipynb` every monday and friday at 17:30",
            {"name": "sales", "notebook": "my reports/sales.ipynb", "cron": "30 17 * * 1,5"},
        ),
        (
            "every 30 minutes run check.ipynb",
            {"name": "check", "notebook": "check.ipynb", "every": "30m"},
        ),
        (
            'schedule "describe what changed every day at 5" every weekday at 8',
            {
                "name": "describe what changed every day",
                "prompt": "describe what changed every day at 5",
                "cron": "0 8 * * 1-5",
            },
        ),
        (
            "schedule report.ipynb cron 0 9 * * 1-5",
            {"name": "report", "notebook": "report.ipynb", "cron": "0 9 * * 1-5"},
        ),
        (
            "ask how sales went daily at 18:00",
            {"name": "how sales went", "prompt": "how sales went", "cron": "0 18 * * *"},
        ),
    ],
)
def test_work_is_scheduled_in_plain_words(place, said, arguments):
    calls, answer = place.ask(said)
    assert [(call.name, call.arguments) for call in calls] == [("schedule_task", arguments)]
    assert f"I scheduled the task `{arguments['name']}`" in answer
    assert "Europe/Berlin" in answer
    assert place.tasks


def test_a_time_that_is_unclear_is_asked_for(place):
    calls, answer = place.ask("schedule report.ipynb sometime")
    assert calls == []
    assert answer.startswith("I did not understand when.")


def test_tasks_are_listed(place):
    assert place.ask("list tasks")[1].startswith("Nothing is scheduled yet.")
    place.ask("schedule report.ipynb every day at 9")
    calls, answer = place.ask("What is scheduled?")
    assert names(calls) == ["list_tasks"]
    assert "| `report` | report.ipynb | cron 0 9 * * * (Europe/Berlin) | active |" in answer


# -- what was done -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", ["what did you do?", "Summarise the last run", "summarize your last answer."]
)
def test_the_last_run_is_told_from_the_log(place, said):
    place.tables = {
        "AS asked": "| ended | asked |\n|---|---|\n| 12:00 | describe penguins |",
        "FROM tool_calls JOIN": "| tool | status |\n|---|---|\n| inspect_variable | ok |",
    }
    calls, answer = place.ask(said)
    assert names(calls) == ["sql", "sql"]
    assert answer.index("describe penguins") < answer.index("inspect_variable")


def test_the_last_run_of_a_task_is_told(place):
    place.tables = {"FROM task_runs": "| task | status |\n|---|---|\n| report | success |"}
    _, answer = place.ask("summarise the last task run")
    assert answer.startswith("The last run of a task:\n\n| task |")


def test_without_a_run_there_is_nothing_to_tell(place):
    assert place.ask("what did you do?")[1] == "No run has finished here yet."


# -- chains, and what it can't do --------------------------------------------------------------


def test_commands_can_be_chained(place):
    calls, answer = place.ask(
        "describe penguins, plot species and remember that Adelie lead, and describe them later"
    )
    assert names(calls) == [
        "inspect_variable",
        "list_variables",
        "inspect_variable",
        "run_python",
        "remember",
    ]
    assert place.kept == [("Adelie lead, and describe them later", "fact", ())]
    told = [answer.index(part) for part in ("`penguins` is a", "How often", "I remember")]
    assert told == sorted(told)


@pytest.mark.parametrize(
    "said",
    [
        "What is the meaning of life?",
        "write me a poem about penguins",
        "explain why the sky is blue",
        "describe how a p-value works",
        "",
        "   ",
        "🐧",
        "why?",
    ],
)
def test_anything_else_is_declined_plainly(place, said):
    calls, answer = place.ask(said)
    assert calls == []
    assert "**not a language model**" in answer
    assert "none of them" in answer
    assert "claw config set provider anthropic" in answer
    assert "%claw ask --provider" in answer
    assert "CLAW_PROVIDER" in answer


@pytest.mark.parametrize("said", ["help", "Hello!", "what can you do?", "who are you?"])
def test_help_lists_what_it_can_do_here(place, said):
    _, answer = place.ask(said)
    assert "describe penguins" in answer
    assert "none of them" not in answer
    assert "shell: ls" not in answer, "there is no shell tool here"


def test_what_needs_the_kernel_says_so_elsewhere(place):
    place.without = ("list_variables", "inspect_variable", "run_python")
    _, answer = place.ask("describe penguins")
    assert answer == (
        "I have no tool here to describe a variable, or the only data frame. "
        "It works in a notebook, where I can see the kernel."
    )


@pytest.mark.parametrize("intent", INTENTS, ids=lambda intent: intent.name)
def test_every_documented_example_is_understood_as_what_it_stands_for(intent):
    understood = next(i for i in INTENTS if i.pattern.fullmatch(intent.example))
    assert understood is intent


def test_tables_hold_any_text(place):
    place.kernel.namespace["penguins"] = pd.DataFrame({"a|b": ["x|y\nz"], "c`d": [1]})
    _, answer = place.ask("describe penguins")
    rows = [line for line in answer.splitlines() if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)\|", row)) for row in rows[:4]}
    assert len(bars) == 1


def test_any_provider_made_anew_goes_on_from_the_transcript(place):
    """Nothing is kept between two turns but the messages."""
    place.ask("describe the data frame")
    asked = ModelRequest(
        model="interpreter",
        system="",
        messages=tuple(place.history[:-1]),
        tools=tuple(
            ToolSpec(name=t.name, description=t.description, parameters=t.parameters)
            for t in place.tools()
        ),
    )
    _, _, reply = ask(OfflineProvider(), asked)
    assert reply.message.text == place.history[-1].text
