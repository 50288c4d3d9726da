"""The loop with one tool call a turn, everything saved: CPU milliseconds a turn.

Beside it, in the same run, the bare cost of driving the same scripted replies without the loop.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from claw_nb.agent import Agent, Limits, ask_nobody
from claw_nb.core.clock import new_id
from claw_nb.core.messages import Message, Text, ToolCall, user
from claw_nb.core.protocols import ModelRequest, Reply
from claw_nb.core.tools import tool
from claw_nb.providers.scripted import ScriptedProvider
from claw_nb.store import Store

BOUND = 2.0


@tool()
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def replies(turns: int) -> list[Reply]:
    calls = [
        Reply(
            message=Message(
                role="assistant",
                parts=(ToolCall(id=f"c{i}", name="add", arguments={"a": i, "b": 1}),),
            ),
            stop="tool_use",
        )
        for i in range(turns - 1)
    ]
    end = Message(role="assistant", parts=(Text(text="done"),))
    return [*calls, Reply(message=end, stop="end")]


async def bare(turns: int) -> float:
    provider = ScriptedProvider(turns=replies(turns))
    request = ModelRequest(model="scripted", system="", messages=(user("go"),))
    begun = time.process_time()
    for _ in range(turns):
        async for _piece in provider.stream(request):
            pass
    return (time.process_time() - begun) * 1000 / turns


async def whole(turns: int, home: Path) -> float:
    store = Store.open(home)
    session = store.sessions.create("bench", "main")
    agent = Agent(
        name="main",
        provider=ScriptedProvider(turns=replies(turns)),
        model="scripted",
        instructions="Work.",
        tools=(add,),
        limits=Limits(max_turns=turns),
    )
    begun = time.process_time()
    events = agent.run((), user("go"), run_id=new_id(), session_id=session.id, approve=ask_nobody)
    async for _event in store.record(events, session=session, agent="main"):
        pass
    took = (time.process_time() - begun) * 1000 / turns
    store.close()
    return took


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    turns, rounds = (20, 3) if parser.parse_args().quick else (40, 9)
    pairs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as scratch:
            pairs.append((asyncio.run(bare(turns)), asyncio.run(whole(turns, Path(scratch)))))
    least, ours = min(p[0] for p in pairs), min(p[1] for p in pairs)
    print(f"loop, tool call and log: {ours:.2f} ms CPU a turn; scripted replies alone {least:.2f}")
    print(f"overhead {ours - least:.2f} ms (bound {BOUND}), {turns} turns in one run")
    return int(ours - least > BOUND)


if __name__ == "__main__":
    sys.exit(main())
