"""The peer: pydantic-ai with a FunctionModel that gives the same replies, keeping nothing.

It runs without streaming, which is its cheaper way.
"""

import asyncio

from measure import CALLS, begin, measured, report

begun = begin()

from pydantic_ai import Agent  # noqa: E402
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402
from pydantic_ai.usage import UsageLimits  # noqa: E402

imported = begun()


async def run(turns: int, calls: int) -> None:
    turn = 0

    def answer(_messages: object, _info: object) -> ModelResponse:
        nonlocal turn
        turn += 1
        if turn == turns:
            return ModelResponse(parts=[TextPart("done")])
        asked = [
            ToolCallPart("add", {"a": turn, "b": n}, tool_call_id=f"c{turn}-{n}")
            for n in range(calls)
        ]
        return ModelResponse(parts=asked)

    agent = Agent(FunctionModel(answer), instructions="Work.")

    @agent.tool_plain
    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    result = await agent.run("go", usage_limits=UsageLimits(request_limit=turns + 1))
    assert (result.output, turn) == ("done", turns)


async def main() -> None:
    one = await measured(lambda turns: run(turns, 1))
    many = await measured(lambda turns: run(turns, CALLS))
    report(imported, one, many)


asyncio.run(main())
