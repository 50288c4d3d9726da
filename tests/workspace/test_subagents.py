"""A task handed to a fresh agent: isolated, bounded, under the same rules."""

import asyncio

import pytest

from claw_nb import config
from claw_nb.core.errors import ProviderError
from claw_nb.core.events import (
    MessageAdded,
    RunFinished,
    SubagentFinished,
    SubagentStarted,
    ToolFinished,
    ToolProgressed,
)
from claw_nb.core.messages import ToolCall, Usage
from claw_nb.core.protocols import Answer
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider
from claw_nb.workspace import Workspace

DELEGATE = ToolCall(id="s1", name="subagent", arguments={"task": "Count the files."})


@pytest.fixture
def work(home, tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    opened = Workspace.open(home, settings=config.load(home, env={}), root=root)
    yield opened
    opened.close()


async def ask(work, *turns, **given):
    provider = ScriptedProvider(turns)
    work.provider = lambda _: provider
    events = [event async for event in work.ask("go", key="k", new=True, **given)]
    return events, provider.requests


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def result(events):
    [finished] = [e for e in of(ToolFinished, events) if e.call.name == "subagent"]
    return finished.result


async def test_only_the_final_answer_comes_back(work):
    look = ToolCall(id="c1", name="read_file", arguments={"path": "."})
    events, requests = await ask(
        work, Turn(text="The user's secret plan.", calls=(DELEGATE,)),
        Turn(text="I look.", calls=(look,)), "There are 3.", "Done: 3.",
    )  # fmt: skip
    assert result(events).text == "There are 3."
    messages = [event.message.text for event in of(MessageAdded, events)]
    assert "I look." not in messages
    parent, first, _second, _last = requests
    assert [m.text for m in first.messages] == ["Count the files."]
    assert "You are a subagent" in first.system
    assert "You are a subagent" not in parent.system
    names = {tool.name for tool in first.tools}
    assert names == {tool.name for tool in parent.tools} - {"subagent"}
    assert {"read_file", "bash", "memory", "todo", "web_search"} <= names


async def test_its_run_is_kept_in_a_session_of_its_own(work):
    events, _ = await ask(
        work, Turn(calls=(DELEGATE,), usage=Usage(input=1, cost=0.5)),
        Turn(text="3", usage=Usage(input=10, cost=1.0)), Turn(text="ok", usage=Usage(input=100)),
    )  # fmt: skip
    [started], [finished] = of(SubagentStarted, events), of(SubagentFinished, events)
    assert (started.call_id, started.task) == ("s1", "Count the files.")
    assert (finished.run_id, finished.stop, finished.turns) == (started.run_id, "end", 1)
    child = work.store.sessions.get(started.session_id)
    assert child.key == f"subagent:{events[0].session_id}"
    assert [m.text for m in work.store.sessions.messages(child.id)] == ["Count the files.", "3"]
    kinds = work.store.select(
        "SELECT kind, text, status FROM events WHERE kind LIKE 'subagent.%' ORDER BY seq"
    )
    assert kinds == [
        {"kind": "subagent.started", "text": "Count the files.", "status": None},
        {"kind": "subagent.finished", "text": None, "status": "end"},
    ]
    [end] = of(RunFinished, events)
    assert (end.usage.input, end.usage.cost) == (111, 1.5)
    assert work.store.sessions.latest("k", "main").id == events[0].session_id


async def test_its_approvals_reach_the_same_person(work):
    asked = []

    async def approve(request):
        asked.append(request.call.arguments["command"])
        return Answer(decision="once", by="Ann")

    run = ToolCall(id="c1", name="bash", arguments={"command": "touch here"})
    risky = ToolCall(id="c2", name="bash", arguments={"command": "rm -rf here"})
    events, _ = await ask(
        work, Turn(calls=(DELEGATE,)), Turn(calls=(run,)), Turn(calls=(risky,)), "Made.", "ok",
        approve=approve,
    )  # fmt: skip
    assert asked == ["touch here", "rm -rf here"]
    shown = [event.text for event in of(ToolProgressed, events)]
    assert shown == [
        "bash waits for a yes", "bash started", "bash waits for a yes", "bash started"
    ]  # fmt: skip
    assert {event.call_id for event in of(ToolProgressed, events)} == {"s1"}


async def test_a_denied_call_stays_denied_inside(work):
    run = ToolCall(id="c1", name="bash", arguments={"command": "touch here"})
    events, _ = await ask(work, Turn(calls=(DELEGATE,)), Turn(calls=(run,)), "I may not.", "ok")
    assert result(events).text == "I may not."
    assert not (work.root / "here").exists()


async def test_its_budget_of_turns_is_small(work):
    def again(_):
        return Turn(calls=(ToolCall(id="c", name="todo", arguments={"action": "list"}),))

    events, requests = await ask(work, Turn(calls=(DELEGATE,)), *[again] * 12, "sorry")
    assert len(requests) == 14
    assert "the subagent was cut off by max_turns" in result(events).text
    assert result(events).error == "system"


async def test_it_can_not_start_another(work):
    events, _ = await ask(work, Turn(calls=(DELEGATE,)), Turn(calls=(DELEGATE,)), "No.", "ok")
    assert result(events).text == "No."
    assert len(of(SubagentStarted, events)) == 1


async def test_a_failure_is_told_shortly(work):
    error = ProviderError("the key is wrong", kind="auth")
    events, _ = await ask(work, Turn(calls=(DELEGATE,)), error, "ok")
    assert "the subagent failed after 1 turns: the key is wrong" in result(events).text
    assert [event.stop for event in of(SubagentFinished, events)] == ["auth"]


async def test_two_of_them_run_one_after_the_other(work):
    two = (DELEGATE, ToolCall(id="s2", name="subagent", arguments={"task": "Again."}))
    events, _ = await ask(work, Turn(calls=two), "first", "second", "ok")
    order = [
        (type(event).__name__, event.call_id)
        for event in events
        if isinstance(event, SubagentStarted | SubagentFinished)
    ]
    assert order == [
        ("SubagentStarted", "s1"), ("SubagentFinished", "s1"),
        ("SubagentStarted", "s2"), ("SubagentFinished", "s2"),
    ]  # fmt: skip


async def test_stopping_the_run_stops_it_too(work):
    slow = ToolCall(id="c1", name="bash", arguments={"command": "sleep 60"})
    provider = ScriptedProvider([Turn(calls=(DELEGATE,)), Turn(calls=(slow,)), "never"])
    work.provider = lambda _: provider
    begun = asyncio.Event()
    seen = []

    async def run():
        async for event in work.ask("go", key="k", grant=("bash",)):
            seen.append(event)
            if isinstance(event, ToolProgressed):
                begun.set()

    task = asyncio.create_task(run())
    async with asyncio.timeout(20):
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    [started] = of(SubagentStarted, seen)
    last = work.store.sessions.messages(started.session_id)[-1]
    assert last.parts[0].error == "interrupted"
    assert [event.stop for event in of(SubagentFinished, seen)] == ["cancelled"]
