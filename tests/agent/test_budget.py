"""What may be spent is looked at before the model is asked."""

from typing import Any

import pytest

from claw_nb.agent import Agent, ask_nobody
from claw_nb.agent.budget import Allowance, Budget, OverBudget, Scope
from claw_nb.core.events import Event, RunFailed, RunFinished
from claw_nb.core.messages import ToolCall, Usage, user
from claw_nb.core.tools import tool
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider


@tool()
async def look() -> str:
    """Look."""
    return "seen"


def price(usage: Usage) -> float:
    return (usage.input + usage.output) / 1_000


async def run(budget: Budget, turns: list[Any]) -> tuple[list[Event], ScriptedProvider]:
    provider = ScriptedProvider(turns=turns)
    agent = Agent(
        name="main", provider=provider, model="m", instructions="", tools=(look,), budget=budget
    )
    events = agent.run((), user("go"), run_id="r", session_id="s", approve=ask_nobody)
    return [event async for event in events], provider


def calling(usage: Usage) -> Turn:
    return Turn(calls=(ToolCall(id="", name="look"),), usage=usage)


async def test_without_limits_everything_may_be_spent() -> None:
    events, _ = await run(Budget(), ["fine"])
    assert isinstance(events[-1], RunFinished)


@pytest.mark.parametrize("scope", ["turn", "run", "session", "task", "day"])
async def test_a_call_that_would_break_a_limit_is_not_made(scope: Scope) -> None:
    budget = Budget(
        allowances={scope: Allowance(cost=0.1)},
        spent=lambda _: Usage(cost=0.0),
        price=price,
        model="p/m",
    )
    events, provider = await run(budget, ["never"])
    assert provider.requests == []
    end = events[-1]
    assert isinstance(end, RunFailed)
    assert end.kind == "budget"
    assert "$0.1000" in end.error
    assert f"budget.{scope}_cost" in end.hint


async def test_what_the_run_has_spent_counts_in_it() -> None:
    budget = Budget(allowances={"run": Allowance(tokens=2_000)})
    turns = [calling(Usage(input=900, output=100)), calling(Usage(input=900, output=100)), "never"]
    events, provider = await run(budget, turns)
    assert len(provider.requests) == 2
    assert isinstance(events[-1], RunFailed)
    assert "2,000 tokens are spent" in events[-1].error
    # The transcript is whole: the calls that were made have their results.
    assert events[-1].usage.input == 1_800


async def test_money_without_a_known_price_is_refused_and_says_how_to_give_one() -> None:
    budget = Budget(allowances={"day": Allowance(cost=5)}, model="openai/mine")
    events, provider = await run(budget, ["never"])
    assert provider.requests == []
    assert isinstance(events[-1], RunFailed)
    assert '"openai/mine" = {input = 2, output = 10}' in events[-1].hint


def test_tokens_that_are_cached_already_are_cheap() -> None:
    def cached(usage: Usage) -> float:
        return usage.input / 1_000 + usage.cache_read / 10_000

    budget = Budget(allowances={"turn": Allowance(cost=0.2)}, price=cached)
    budget.check(run=Usage(), context=1_000, cached=900)
    with pytest.raises(OverBudget):
        budget.check(run=Usage(), context=1_000)
