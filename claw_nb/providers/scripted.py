"""A model that says what it was told to: for tests, docs and demonstrations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from claw_nb.core.clock import NewId, new_id
from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Message, Origin, Part, StopReason, Text, Thinking
from claw_nb.core.protocols import ModelEvent, ModelRequest, Reply, TextPiece, ThinkingPiece
from claw_nb.providers.script import Turn, read_script

Scripted = Turn | Reply | ProviderError | str
"""What a turn may be: ``"words"``, a Turn, a whole Reply, or an error to raise."""

Step = Scripted | Callable[[ModelRequest], Scripted]
"""A turn, or a function that looks at the request and gives one."""


class ScriptedProvider:
    """Plays its turns back, one for each request, in order.

    It is strict: one request more than there are turns is an error, and so is a request that a
    turn did not expect. ``chunk`` is the number of characters in a piece of text.
    """

    name = "scripted"

    def __init__(self, turns: Sequence[Step], *, chunk: int = 12, new_id: NewId = new_id) -> None:
        self._turns = tuple(turns)
        self._chunk = chunk
        self._new_id = new_id
        self._position = 0
        self._follows_history = False
        self.requests: list[ModelRequest] = []

    @classmethod
    def load(cls, path: Path, *, chunk: int = 12) -> ScriptedProvider:
        """The script in a YAML or JSON file (``script.read_script`` has the form).

        Made anew for a conversation that this script already began, it goes on where it stopped.
        """
        provider = cls(read_script(path), chunk=chunk)
        provider._follows_history = True
        return provider

    @property
    def left(self) -> int:
        """How many turns have not been asked for."""
        return len(self._turns) - self._position

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Give the next turn; see ``core.protocols.Provider``."""
        if self._follows_history and not self.requests:
            self._position = _played(self._turns, request.messages)
        self.requests.append(request)
        turn = self._next(request)
        turn.expect.check(request, self._position)
        if turn.error is not None:
            raise turn.error
        for text in _cut(turn.thinking, self._chunk):
            await asyncio.sleep(turn.pause)
            yield ThinkingPiece(text=text)
        for text in _cut(turn.text, self._chunk):
            await asyncio.sleep(turn.pause)
            yield TextPiece(text=text)
        yield self._reply(turn, request)

    def _next(self, request: ModelRequest) -> Turn:
        if self._position >= len(self._turns):
            asked = request.messages[-1].text[:80] if request.messages else ""
            raise ProviderError(
                f"the script has {len(self._turns)} turns and was asked for one more, after: "
                f"{asked!r}",
                kind="bad_request",
                hint="Add a turn to the script, or ask less.",
            )
        step = self._turns[self._position]
        self._position += 1
        return _as_turn(step(request) if callable(step) else step)

    def _reply(self, turn: Turn, request: ModelRequest) -> Reply:
        parts: list[Part] = []
        if turn.thinking:
            parts.append(Thinking(text=turn.thinking))
        if turn.text:
            parts.append(Text(text=turn.text))
        parts += [
            call if call.id else replace(call, id=f"call_{self._new_id()}") for call in turn.calls
        ]
        message = Message(
            role="assistant",
            parts=tuple(parts),
            origin=Origin(provider=self.name, model=request.model),
        )
        stop: StopReason = turn.stop or ("tool_use" if turn.calls else "end")
        return Reply(message=message, stop=stop, usage=turn.usage)


def _as_turn(given: Scripted) -> Turn:
    match given:
        case Turn():
            return given
        case str():
            return Turn(text=given)
        case ProviderError():
            return Turn(error=given)
        case Reply(message=message, stop=stop, usage=usage):
            thinking = "".join(p.text for p in message.parts if isinstance(p, Thinking))
            return Turn(
                text=message.text,
                thinking=thinking,
                calls=message.tool_calls,
                stop=stop,
                usage=usage,
            )


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def _played(turns: Sequence[Step], messages: Sequence[Message]) -> int:
    """Where a script stands in a conversation that holds so many of its answers."""
    answers = sum(
        1
        for message in messages
        if message.role == "assistant" and message.origin and message.origin.provider == "scripted"
    )
    position = 0
    while answers and position < len(turns):
        turn = turns[position]
        answers -= 0 if isinstance(turn, Turn) and turn.error else 1
        position += 1
    return position
