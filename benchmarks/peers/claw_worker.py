"""Our side: the loop with its tools, and every event kept in SQLite and in JSON lines."""

import asyncio
import tempfile
from pathlib import Path

from measure import CALLS, begin, measured, report

begun = begin()

from claw_nb.agent import Agent, Limits, ask_nobody  # noqa: E402
from claw_nb.core.clock import new_id  # noqa: E402
from claw_nb.core.events import RunFinished  # noqa: E402
from claw_nb.core.messages import Message, Text, ToolCall, user  # noqa: E402
from claw_nb.core.protocols import Reply  # noqa: E402
from claw_nb.core.tools import tool  # noqa: E402
from claw_nb.providers.scripted import ScriptedProvider  # noqa: E402
from claw_nb.store import Store  # noqa: E402

imported = begun()


@tool()
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def replies(turns: int, calls: int) -> list[Reply]:
    asking = [
        Reply(
            message=Message(
                role="assistant",
                parts=tuple(
                    ToolCall(id=f"c{turn}-{n}", name="add", arguments={"a": turn, "b": n})
                    for n in range(calls)
                ),
            ),
            stop="tool_use",
        )
        for turn in range(turns - 1)
    ]
    end = Message(role="assistant", parts=(Text(text="done"),))
    return [*asking, Reply(message=end, stop="end")]


async def run(store: Store, turns: int, calls: int) -> None:
    session = store.sessions.create("bench", "main")
    agent = Agent(
        name="main",
        provider=ScriptedProvider(turns=replies(turns, calls)),
        model="scripted",
        instructions="Work.",
        tools=(add,),
        limits=Limits(max_turns=turns),
    )
    last = None
    events = agent.run((), user("go"), run_id=new_id(), session_id=session.id, approve=ask_nobody)
    async for event in store.record(events, session=session, agent="main"):
        last = event
    assert isinstance(last, RunFinished)
    assert (last.turns, last.tools) == (turns, (turns - 1) * calls)


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        store = Store.open(Path(home))
        one = await measured(lambda turns: run(store, turns, 1))
        many = await measured(lambda turns: run(store, turns, CALLS))
        store.close()
    report(imported, one, many)


asyncio.run(main())
