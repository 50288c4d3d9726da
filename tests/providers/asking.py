"""Asking a provider in a test."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Message, Text, ToolResult, user
from claw_nb.core.protocols import (
    ModelEvent,
    ModelRequest,
    Provider,
    Reply,
    TextPiece,
    ThinkingPiece,
    ToolSpec,
)
from tests.providers.wire import Answer, Wire, serve

WEATHER = ToolSpec(
    name="get_weather",
    description="The weather in a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


def request(*messages: Message | str, model: str = "claude-sonnet-5-5", **given) -> ModelRequest:
    return ModelRequest(
        model=model,
        system=given.pop("system", "You are a test."),
        messages=tuple(user(m) if isinstance(m, str) else m for m in messages),
        tools=given.pop("tools", (WEATHER,)),
        max_tokens=given.pop("max_tokens", 1000),
        **given,
    )


async def events_of(provider: Provider, asked: ModelRequest) -> list[ModelEvent]:
    async with aclosing(provider.stream(asked)) as stream:
        return [event async for event in stream]


def ask(provider: Provider, asked: ModelRequest) -> tuple[str, str, Reply]:
    """The words and the thinking that were streamed, and the reply."""
    events = asyncio.run(events_of(provider, asked))
    assert [isinstance(event, Reply) for event in events] == [False] * (len(events) - 1) + [True]
    words = "".join(event.text for event in events if isinstance(event, TextPiece))
    thoughts = "".join(event.text for event in events if isinstance(event, ThinkingPiece))
    reply = events[-1]
    assert isinstance(reply, Reply)
    return words, thoughts, reply


def ask_wire(
    make: Callable[[str], Provider], asked: ModelRequest, *answers: Answer
) -> tuple[list[ModelEvent] | ProviderError, Wire]:
    """What a provider gives when the service answers so, and what the service was sent."""

    async def go() -> tuple[list[ModelEvent] | ProviderError, Wire]:
        async with serve(*answers) as wire:
            provider = make(wire.url)
            try:
                return await events_of(provider, asked), wire
            except ProviderError as error:
                return error, wire

    return asyncio.run(go())


def results(message: Message, *texts: str, error=None) -> Message:
    """The tool message that answers a message's calls."""
    return Message(
        role="tool",
        parts=tuple(
            ToolResult(call_id=call.id, name=call.name, parts=(Text(text=text),), error=error)
            for call, text in zip(message.tool_calls, texts, strict=True)
        ),
    )
