"""Scheduling and asking in SQL, over functions that are given."""

import json

import pytest

from claw_nb.core.errors import InvalidInput, ToolError
from claw_nb.core.records import Task
from claw_nb.core.tools import check_arguments
from claw_nb.tools.schedule import schedule_tools
from claw_nb.tools.sql import sql_tools

TASK = Task(
    id="t1",
    agent_id="main",
    name="report",
    target={"prompt": "hi"},
    schedule_type="cron",
    schedule_value="0 9 * * *",
    timezone="Europe/Berlin",
    next_run=1_704_186_000_000_000,
)


@pytest.fixture
def asked():
    return []


@pytest.fixture
def tools(asked):
    async def add(**given):
        asked.append(given)
        if given["cron"] == "bad":
            raise InvalidInput("'bad' is not a cron expression.", hint="Write five fields.")
        return TASK

    async def every_task():
        return [TASK]

    return {tool.name: tool for tool in schedule_tools(add, every_task)}


async def failure(awaitable):
    with pytest.raises(ToolError) as caught:
        await awaitable
    return caught.value


async def test_a_task_is_made_and_shown(tools, asked):
    shown = json.loads(
        await tools["schedule_task"].run(name="report", prompt="hi", cron="0 9 * * *")
    )
    assert shown == {
        "id": "t1",
        "name": "report",
        "target": {"prompt": "hi"},
        "schedule": "cron 0 9 * * *",
        "timezone": "Europe/Berlin",
        "status": "active",
        "next_run": "2024-01-02T09:00:00+00:00",
        "last_run": None,
        "last_result": None,
    }
    assert asked == [
        {
            "name": "report",
            "notebook": None,
            "prompt": "hi",
            "cron": "0 9 * * *",
            "every": None,
            "at": None,
            "timezone": None,
        }
    ]
    assert json.loads(await tools["list_tasks"].run()) == [shown]


@pytest.mark.parametrize(
    "given",
    [
        {"cron": "x"},
        {"prompt": "x"},
        {"prompt": "x", "notebook": "y", "cron": "z"},
        {"prompt": "x", "cron": "y", "at": "z"},
    ],
)
async def test_what_is_not_clear_is_refused_before_anybody_is_asked(tools, asked, given):
    error = await failure(tools["schedule_task"].run(name="x", **given))
    assert error.kind == "validation"
    assert "exactly one of" in error.message
    with pytest.raises(ToolError):
        tools["schedule_task"].review({"name": "x", **given})
    assert asked == []


async def test_a_bad_schedule_keeps_its_hint(tools):
    error = await failure(tools["schedule_task"].run(name="x", prompt="y", cron="bad"))
    assert (error.kind, error.hints) == ("validation", ("Write five fields.",))


def test_the_person_sees_what_will_run_and_when(tools):
    said = tools["schedule_task"].review({"name": "n", "notebook": "a.ipynb", "every": "1h"})
    assert (said.verdict, said.preview) == ("ask", "name: n\nnotebook: a.ipynb\nevery: 1h")


async def test_sql_passes_the_query_on_and_shortens_the_answer():
    seen = []

    async def run(query, limit):
        seen.append((query, limit))
        if query == "bad":
            raise InvalidInput("no such column", hint="DESCRIBE events")
        return "x" * 100_000

    (sql,) = sql_tools(run)
    assert len(await sql.run(**check_arguments(sql, {"query": "SELECT 1", "limit": "7"}))) < 31_000
    assert seen == [("SELECT 1", 7)]
    assert (await failure(sql.run(query="bad"))).hints == ("DESCRIBE events",)
    assert (await failure(sql.run(query=" "))).kind == "validation"
    assert (await failure(sql.run(query="x", limit=1001))).kind == "validation"
    assert sql.effect == "read"
