"""Soft hints to a model that goes in circles or runs out of turns, at most two a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from claw_nb.core.events import ReminderAdded
from claw_nb.core.messages import ToolCall, ToolResult

MOST = 2
SAME_FAILURES = 3
TURNS_SHARE = 0.75

_CIRCLES = (
    "The same call of {tool} has now failed {times} times in a row with the same arguments and "
    "the same error. Do not repeat it. Read the current state again if you need to, take another "
    "way, or tell the user what stands in the way."
)
_FEW_LEFT = (
    "{used} of {limit} turns are used. Finish the most important part now and answer; say what "
    "remains to be done."
)


@dataclass
class Reminders:
    """Watches one run."""

    max_turns: int
    _given: set[str] = field(default_factory=set)
    _last: tuple[str, str, str] | None = None
    _times: int = 0

    def after(
        self, turn: int, calls: Sequence[ToolCall], results: Sequence[ToolResult]
    ) -> Iterator[ReminderAdded]:
        """What the model should be told after this turn's tools, if anything."""
        self._count(calls, results)
        if self._times >= SAME_FAILURES:
            yield from self._give(
                "repeated_failure", _CIRCLES.format(tool=calls[0].name, times=self._times)
            )
        if turn >= self.max_turns * TURNS_SHARE:
            yield from self._give("turns_low", _FEW_LEFT.format(used=turn, limit=self.max_turns))

    def _count(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        if len(calls) != 1 or results[0].error is None:
            self._last, self._times = None, 0
            return
        same = (calls[0].name, repr(sorted(calls[0].arguments.items())), results[0].text)
        self._times = self._times + 1 if same == self._last else 1
        self._last = same

    def _give(self, reason: str, text: str) -> Iterator[ReminderAdded]:
        if reason not in self._given and len(self._given) < MOST:
            self._given.add(reason)
            yield ReminderAdded(
                reason="repeated_failure" if reason == "repeated_failure" else "turns_low",
                text=text,
            )
