"""What an answer costs: a small, dated table of list prices, which users can extend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from claw_nb.core.messages import Usage

AS_OF = "2026-11-30"
"""The day on which the vendors' price pages said what stands here."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars per million tokens, for prompts of at most ``upto`` tokens.

    Longer prompts are dearer at some vendors; their cost is unknown here rather than wrong.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    upto: int | None = None


def _claude(into: float, out: float, upto: int | None = None) -> Price:
    """A cached token costs a tenth to read and a quarter more to write (for five minutes)."""
    return Price(input=into, output=out, cache_read=into / 10, cache_write=into * 1.25, upto=upto)


def _gpt(into: float, cached: float, out: float) -> Price:
    return Price(input=into, output=out, cache_read=cached, cache_write=into * 1.25, upto=272_000)


PRICES: Mapping[str, Price] = {
    "anthropic/claude-fable-5-2": _claude(8, 40),
    "anthropic/claude-fable-5-1": _claude(10, 50),
    "anthropic/claude-fable-5": _claude(10, 50),
    "anthropic/claude-opus-5-5": _claude(4, 20),
    "anthropic/claude-opus-5": _claude(5, 25),
    "anthropic/claude-opus-4-8": _claude(5, 25),
    "anthropic/claude-opus-4-7": _claude(5, 25),
    "anthropic/claude-opus-4-6": _claude(5, 25),
    "anthropic/claude-sonnet-5-5": _claude(2, 10),
    "anthropic/claude-sonnet-5": _claude(2, 10),
    "anthropic/claude-sonnet-4-6": _claude(3, 15),
    "anthropic/claude-haiku-5-5": _claude(0.10, 0.50, upto=100_000),
    "anthropic/claude-haiku-4-5": _claude(1, 5),
    "openai/gpt-6-astra": _gpt(10, 1.00, 50),
    "openai/gpt-6.1-sol": _gpt(2, 0.10, 10),
    "openai/gpt-6-sol": _gpt(2, 0.20, 10),
    "openai/gpt-6.1-terra": _gpt(1, 0.05, 5),
    "openai/gpt-6-luna": _gpt(0.10, 0.01, 0.50),
    "openai/gpt-5.6-terra": _gpt(2, 0.20, 12),
    "openai/gpt-5.6-luna": _gpt(0.20, 0.02, 1.20),
}
"""Prices by ``provider/model``. A model that isn't here has no known cost."""

FREE = frozenset({"offline", "scripted", "codex-subscription"})
"""Providers that cost nothing, or nothing beyond a plan's monthly price."""

_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


def price(provider: str, model: str, prices: Mapping[str, Price] = PRICES) -> Price | None:
    """The price of a model; a dated name counts as its base."""
    key = f"{provider}/{model}"
    return prices.get(key) or prices.get(_DATE.sub("", key))


def cost(
    provider: str, model: str, usage: Usage, *, prices: Mapping[str, Price] = PRICES
) -> float | None:
    """US dollars for these tokens, or None when no price is known for them.

    ``prices`` with a user's own rows is ``{**PRICES, "openai/my-model": Price(...)}``.
    """
    if provider in FREE:
        return 0.0
    found = price(provider, model, prices)
    prompt = usage.input + usage.cache_read + usage.cache_write
    if found is None or (found.upto is not None and prompt > found.upto):
        return None
    return (
        usage.input * found.input
        + usage.output * found.output
        + usage.cache_read * found.cache_read
        + usage.cache_write * found.cache_write
    ) / 1_000_000


def priced(
    provider: str, model: str, usage: Usage, *, prices: Mapping[str, Price] = PRICES
) -> Usage:
    """The usage with its cost."""
    return replace(usage, cost=cost(provider, model, usage, prices=prices))


def price_list(
    own: Mapping[str, Mapping[str, float]], *, at_vendor: bool = True
) -> dict[str, Price]:
    """All prices that hold: the user's ``own`` rows go before ours.

    A row needs ``input`` and ``output``; what it doesn't say of the cache costs as much as input.
    Services elsewhere than ``at_vendor`` have only the user's.
    """
    listed = dict(PRICES) if at_vendor else {}
    for model, row in own.items():
        upto = row.get("upto")
        listed[model] = Price(
            input=row["input"],
            output=row["output"],
            cache_read=row.get("cache_read", row["input"]),
            cache_write=row.get("cache_write", row["input"]),
            upto=None if upto is None else int(upto),
        )
    return listed
