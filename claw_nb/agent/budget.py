"""What a run may spend, in tokens and in money: looked at before each call of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from claw_nb.core.errors import ClawError
from claw_nb.core.messages import Usage

Scope = Literal["turn", "run", "session", "task", "day"]
"""One call of the model, one question, a conversation, one run of a task, a day (UTC)."""

ANSWER_TOKENS = 500
"""Tokens that an answer is taken to have before it is there."""

_WORDS: Mapping[Scope, str] = {
    "turn": "one model call",
    "run": "one question",
    "session": "this session",
    "task": "one run of this task",
    "day": "a day",
}
_OTHERWISE: Mapping[Scope, str] = {
    "turn": "begin a new session, which is shorter",
    "run": "ask for less at once",
    "session": "begin a new session",
    "task": "let the task do less",
    "day": "go on after midnight UTC",
}


class OverBudget(ClawError):
    """The next call of the model would spend more than was allowed."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The most that may be spent; None is no limit. All tokens count, cached ones too."""

    tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The limits, and where to ask what is spent.

    ``spent`` tells what the log has of a session, task or day; ``price`` says what tokens cost in
    US dollars, None when no price is known. ``model`` names the price in messages.
    """

    allowances: Mapping[Scope, Allowance] = field(default_factory=dict)
    spent: Callable[[Scope], Usage] = lambda _: Usage()
    price: Callable[[Usage], float | None] = lambda _: None
    model: str = ""

    def check(self, *, run: Usage, context: int, cached: int = 0) -> None:
        """Raise OverBudget when a call with ``context`` tokens would break a limit.

        ``run`` is what this run has spent; ``cached`` tokens are likely to be read from a cache.
        """
        if not self.allowances:
            return
        cached = min(cached, context)
        next_call = Usage(input=context - cached, cache_read=cached, output=ANSWER_TOKENS)
        for scope, allowed in self.allowances.items():
            match scope:
                case "turn":
                    spent = Usage()
                case "run":
                    spent = run
                case _:
                    spent = self.spent(scope)
            self._check_tokens(scope, allowed, total(spent), total(next_call))
            self._check_cost(scope, allowed, spent.cost or 0.0, next_call)

    def _check_tokens(self, scope: Scope, allowed: Allowance, spent: int, more: int) -> None:
        if allowed.tokens is not None and spent + more > allowed.tokens:
            limit, so_far, about = (f"{n:,} tokens" for n in (allowed.tokens, spent, more))
            raise _over(scope, "tokens", limit, so_far, about)

    def _check_cost(self, scope: Scope, allowed: Allowance, spent: float, more: Usage) -> None:
        if allowed.cost is None:
            return
        price = self.price(more)
        if price is None:
            raise OverBudget(
                f"there is a money budget, but no price is known for {self.model}",
                hint="Add it to config.toml, in US dollars per million tokens: "
                f'`[prices]`, then `"{self.model}" = {{input = 2, output = 10}}`; or take out '
                f"budget.{scope}_cost.",
            )
        if spent + price > allowed.cost:
            limit, so_far, about = (_dollars(n) for n in (allowed.cost, spent, price))
            raise _over(scope, "cost", limit, so_far, about)


def total(usage: Usage) -> int:
    """All tokens of a usage."""
    return usage.input + usage.cache_read + usage.cache_write + usage.output


def _over(scope: Scope, what: str, limit: str, so_far: str, about: str) -> OverBudget:
    before = "" if scope == "turn" else f"{so_far} are spent, and "
    return OverBudget(
        f"the budget of {limit} for {_WORDS[scope]} does not allow this call: {before}"
        f"it would take about {about}",
        hint=f"Raise it with `claw config set budget.{scope}_{what} …`, or {_OTHERWISE[scope]}. "
        "`claw usage` shows what was spent.",
    )


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"
