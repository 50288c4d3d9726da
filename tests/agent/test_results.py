"""A result that is too long to be sent is kept, and can be read on."""

from claw_nb.agent import Agent, ask_nobody
from claw_nb.agent.results import shortened
from claw_nb.core.errors import StoreError
from claw_nb.core.events import MessageAdded
from claw_nb.core.messages import Image, Text, ToolCall, ToolResult, user
from claw_nb.core.tools import tool
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider

LONG = "".join(f"line {n}\n" for n in range(2_000))


def keep(tool: str, text: str) -> str:
    assert (tool, text) == ("dump", LONG)
    return "abc123"


async def test_a_short_result_is_left_alone() -> None:
    parts = (Text(text="short"), Image(data=""))
    assert await shortened("dump", parts, limit=5, keep=keep) is parts


async def test_the_model_sees_both_ends_and_a_handle() -> None:
    [part] = await shortened("dump", (Text(text=LONG),), limit=4_000, keep=keep)
    assert isinstance(part, Text)
    assert part.text.startswith("line 0\nline 1\n")
    assert part.text.endswith("line 1999\n")
    assert 'read_result(handle="abc123"' in part.text
    assert len(part.text) < 4_000


async def test_pictures_stay() -> None:
    parts = (Text(text=LONG), Image(data="aa"))
    assert (await shortened("dump", parts, limit=4_000, keep=keep))[1:] == (Image(data="aa"),)


async def test_a_disk_that_refuses_costs_the_middle_and_not_the_run() -> None:
    def full(tool: str, text: str) -> str:
        raise StoreError("The disk is full.")

    [part] = await shortened("dump", (Text(text=LONG),), limit=4_000, keep=full)
    assert isinstance(part, Text)
    assert "could not be kept (The disk is full.)" in part.text


async def test_the_loop_shortens_what_its_tools_give() -> None:
    @tool()
    async def dump() -> str:
        """Give very much."""
        return LONG

    script = [Turn(calls=(ToolCall(id="c", name="dump"),)), "fine"]
    agent = Agent(
        name="main", provider=ScriptedProvider(turns=script), model="m", instructions="",
        tools=(dump,), result_limit=4_000, keep_result=keep,
    )  # fmt: skip
    run = agent.run((), user("go"), run_id="r", session_id="s", approve=ask_nobody)
    results = [
        part
        async for event in run
        if isinstance(event, MessageAdded)
        for part in event.message.parts
        if isinstance(part, ToolResult)
    ]
    assert [(len(r.text) < 4_000, "abc123" in r.text) for r in results] == [(True, True)]
