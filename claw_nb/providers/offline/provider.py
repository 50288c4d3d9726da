"""The interpreter as a provider: it reads the transcript and emits tool calls or an answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence

from claw_nb.core.clock import Clock, NewId, new_id, now
from claw_nb.core.messages import Message, Origin, Part, Text, ToolCall, ToolResult, Usage
from claw_nb.core.protocols import ModelEvent, ModelRequest, Reply, TextPiece
from claw_nb.providers.offline.recipe import Asked, Results, Step, play
from claw_nb.providers.offline.understanding import understand

_PIECE = re.compile(r"\s*(?:\S+\s*){1,4}|\s+")


class OfflineProvider:
    """Answers a few plain commands (``intents.INTENTS``) without any model, over the same tools
    and approvals as one.
    """

    name = "offline"

    def __init__(self, *, clock: Clock = now, new_id: NewId = new_id) -> None:
        self._clock = clock
        self._new_id = new_id

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Take the next step of the user's command; see ``core.protocols.Provider``."""
        asked, rounds = _read(request.messages)
        tools = frozenset(tool.name for tool in request.tools)
        recipe = understand(Asked(text=asked, tools=tools, clock=self._clock))
        step = play(recipe, rounds)
        words = step.say if isinstance(step, Step) else step
        for piece in _PIECE.findall(words):
            await asyncio.sleep(0)
            yield TextPiece(text=piece)
        parts: list[Part] = [Text(text=words)] if words else []
        if isinstance(step, Step):
            parts += [
                ToolCall(id=f"call_{self._new_id()}", name=call.tool, arguments=call.arguments)
                for call in step.calls
            ]
        origin = Origin(provider=self.name, model=request.model)
        yield Reply(
            message=Message(role="assistant", parts=tuple(parts), origin=origin),
            stop="tool_use" if isinstance(step, Step) else "end",
            usage=Usage(cost=0.0),
        )


def _read(messages: Sequence[Message]) -> tuple[str, list[Results]]:
    """The user's last words, and the rounds of tool results since."""
    last = max((at for at, m in enumerate(messages) if m.role == "user"), default=-1)
    said = messages[last].text if last >= 0 else ""
    rounds = [
        tuple(part for part in message.parts if isinstance(part, ToolResult))
        for message in messages[last + 1 :]
        if message.role == "tool"
    ]
    return said, [results for results in rounds if results]
