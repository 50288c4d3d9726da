"""What an agent of a workspace may read and spend, made of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claw_nb.agent.budget import Allowance, Budget, Scope
from claw_nb.agent.compaction import Window
from claw_nb.config import Settings
from claw_nb.core.messages import Usage
from claw_nb.providers import catalog, pricing, windows

if TYPE_CHECKING:
    from claw_nb.workspace.workspace import Workspace


def window_of(settings: Settings, model: str) -> Window:
    """How much the model can read, and when to summarise."""
    return Window(
        size=settings.window or windows.window(model),
        reserve=settings.reserve,
        keep=settings.keep_recent,
        summary=settings.summary,
    )


def result_limit(settings: Settings, window: Window) -> int:
    """Characters of a tool's result at most: what is set, but no more than an eighth of a window."""
    return min(settings.result_limit, window.size // 2)


def budget_of(work: Workspace, settings: Settings, model: str, *, session_id: str | None) -> Budget:
    """What the agent may spend; what is played back is not spent."""
    run_id = work.env.get("CLAW_RUN_ID")
    given: dict[Scope, Allowance] = {
        "turn": Allowance(tokens=settings.turn_tokens, cost=settings.turn_cost),
        "run": Allowance(tokens=settings.run_tokens, cost=settings.run_cost),
        "session": Allowance(tokens=settings.session_tokens, cost=settings.session_cost),
        "day": Allowance(tokens=settings.day_tokens, cost=settings.day_cost),
    }
    if run_id:
        given["task"] = Allowance(tokens=settings.task_tokens, cost=settings.task_cost)
    set_ = {scope: allowed for scope, allowed in given.items() if allowed != Allowance()}
    if not set_ or settings.replay == "strict":
        return Budget()

    def spent(scope: Scope) -> Usage:
        spending = work.store.spending
        match scope:
            case "session" if session_id:
                return spending.of_session(session_id)
            case "task" if run_id:
                return spending.of_task_run(run_id)
            case "day":
                return spending.today()
            case _:
                return Usage()

    name = settings.provider
    vendor = catalog.at_vendor(name, base_url=settings.base_url, env=work.env)
    prices = pricing.price_list(settings.prices or {}, at_vendor=vendor)
    return Budget(
        allowances=set_,
        spent=spent,
        price=lambda usage: pricing.cost(name, model, usage, prices=prices),
        model=f"{name}/{model}",
    )
