"""Recording a provider's answers, and playing them back without one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from difflib import unified_diff
from typing import Any

from claw_nb.core.errors import ProviderError, ProviderErrorKind
from claw_nb.core.events import ApprovalRequest
from claw_nb.core.messages import Text, Thinking
from claw_nb.core.protocols import (
    Answer,
    ModelEvent,
    ModelRequest,
    Provider,
    Reply,
    TextPiece,
    ThinkingPiece,
)
from claw_nb.providers.cassette import Asked, Call, Cassette, Match
from claw_nb.providers.normal import digest, lines

NAME = "replay"
"""The provider's name in events and in the log."""

_LASTING: frozenset[ProviderErrorKind] = frozenset({"overflow", "refused", "bad_request"})
"""Failures that are part of a conversation's course; the others are the service's bad days."""

_SHOWN = 60
"""Lines of a difference that are shown."""


class RecordingProvider:
    """Asks another provider and writes down what it answers."""

    def __init__(self, inner: Provider, cassette: Cassette) -> None:
        self._inner = inner
        self._cassette = cassette

    @property
    def name(self) -> str:
        """The name of the provider that answers."""
        return self._inner.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask; see ``core.protocols.Provider``."""
        asked = self._cassette.asked(request)
        try:
            async with aclosing(self._inner.stream(request)) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        self._cassette.record(self.name, asked, event)
                    yield event
        except ProviderError as error:
            if error.kind in _LASTING:
                self._cassette.record(self.name, asked, error)
            raise


class ReplayProvider:
    """Answers what was recorded for the same request, and refuses any other with the difference.

    Equal requests get their answers in the order in which they were recorded, and then the last
    one again.
    """

    name = NAME

    def __init__(self, cassette: Cassette, *, match: Match = "conversation") -> None:
        self._cassette = cassette
        self._match: Match = match
        self._calls = cassette.calls(match=match)
        self._answers: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        newest: dict[str, int] = {}
        for call in self._calls:
            if newest.get(call.key) != call.take:
                newest[call.key] = call.take
                self._answers[call.key].clear()
            self._answers[call.key].append(call.answer)
        self._given: dict[str, int] = defaultdict(int)
        self._allowed = frozenset(_allowed(self._calls))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Play the answer back; see ``core.protocols.Provider``."""
        asked = self._cassette.asked(request, match=self._match)
        key = asked.key
        answers = self._answers.get(key)
        if not answers:
            raise self._changed(asked)
        reply = self._cassette.reply(answers[min(self._given[key], len(answers) - 1)])
        self._given[key] += 1
        for part in reply.message.parts:
            match part:
                case Text(text=text):
                    yield TextPiece(text=text)
                case Thinking(text=text):
                    yield ThinkingPiece(text=text)
                case _:
                    pass
        yield reply

    async def approve(self, request: ApprovalRequest) -> Answer:
        """Yes to the calls that ran when it was recorded, no to any other."""
        call = request.call
        normal = self._cassette.normal
        if digest([call.name, normal.value(call.arguments)]) in self._allowed:
            return Answer(decision="once", by="the recording")
        why = f"{call.name} did not run with these arguments when it was recorded."
        return Answer(decision="denied", by="the recording", why=why)

    def _changed(self, asked: Asked) -> ProviderError:
        nearest = max(self._calls, key=lambda call: self._likeness(call, asked), default=None)
        if nearest is None:
            difference = "nothing was recorded there"
        else:
            shown = list(_difference(nearest, asked, self._match))
            left = len(shown) - _SHOWN
            more = [f"… {left} more lines"] if left > 0 else []
            difference = "\n".join([*shown[:_SHOWN], *more]) or "its answers were used up"
        return ProviderError(
            f"the recording has no answer to this request. What changed:\n{difference}",
            kind="replay",
            hint=f"Undo the change, or record again (--record); the recording is "
            f"{self._cassette.path}.",
        )

    def _likeness(self, call: Call, asked: Asked) -> tuple[int, int, int]:
        same = 0
        for one, other in zip(call.hashes, asked.hashes, strict=False):
            if one != other:
                break
            same += 1
        unused = int(self._given[call.key] == 0)
        return same, unused, -abs(len(call.hashes) - len(asked.hashes))


def _allowed(calls: Sequence[Call]) -> set[str]:
    """The calls that have a result other than a refusal."""
    found: set[str] = set()
    for call in calls:
        asked: dict[int, str] = {}
        for message in call.messages:
            for part in message["parts"]:
                if "call" in part:
                    asked[part["call"]] = digest([part["name"], part["arguments"]])
                elif "result" in part and part.get("error") not in ("denied", "policy"):
                    found.add(asked.get(part["result"], ""))
    return found


def _difference(recorded: Call, asked: Asked, match: Match) -> Sequence[str]:
    old, new = lines(recorded.messages), lines(asked.messages)
    if recorded.model != asked.model:
        old, new = [f"model: {recorded.model}", *old], [f"model: {asked.model}", *new]
    if match == "request":
        tools = json.dumps(asked.tools, ensure_ascii=False, sort_keys=True)
        old = [*recorded.system.splitlines(), *recorded.tools.split("}, {"), *old]
        new = [*asked.system.splitlines(), *tools.split("}, {"), *new]
    return list(unified_diff(old, new, "recorded", "now", lineterm="", n=2))
