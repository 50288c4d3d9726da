"""Any OpenAI-compatible chat-completions endpoint, through the official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal

import openai

from claw_nb.core.clock import NewId, new_id
from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Message, Origin, Text, ToolCall, Usage
from claw_nb.core.protocols import ModelEvent, ModelRequest, Reply, TextPiece, ThinkingPiece
from claw_nb.providers import prompted
from claw_nb.providers.failures import service_words
from claw_nb.providers.openai_failures import FAILURES, NoEnd, failure
from claw_nb.providers.openai_hosts import Host, openai_host
from claw_nb.providers.openai_wire import EVERYTHING, STOPS, Collected, parameters, refused
from claw_nb.providers.pricing import PRICES, Price, priced


class OpenAIProvider:
    """OpenAI itself, Azure OpenAI, Ollama, vLLM, llama.cpp and their like.

    ``tools="prompted"`` is for models that know no tool calls (see ``prompted``). What a server
    turns out not to accept (usage in streams, system messages inside the conversation, effort,
    JSON schemas) is left out from then on.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        host: Host | None = None,
        tools: Literal["native", "prompted"] = "native",
        prices: Mapping[str, Price] = PRICES,
        new_id: NewId = new_id,
    ) -> None:
        self._host = host or openai_host(api_key=api_key, base_url=base_url)
        self.name = self._host.name
        self._prompted = tools == "prompted"
        self._prices = prices
        self._new_id = new_id
        self._refused: dict[str, frozenset[str]] = {}
        self._able = EVERYTHING | ({"new_limit"} if self._host.newest else set())

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; see ``core.protocols.Provider``."""
        model = request.model
        while True:
            able = self._able ^ self._refused.get(model, frozenset())
            shown = False
            try:
                async with aclosing(self._ask(request, able)) as events:
                    async for event in events:
                        shown = True
                        yield event
                return
            except ProviderError as error:
                changed = self._refused.get(model, frozenset())
                change = refused(able, service_words(error))
                if shown or not change or change <= changed:
                    raise
                self._refused[model] = changed | change

    async def _ask(
        self, request: ModelRequest, able: frozenset[str]
    ) -> AsyncGenerator[ModelEvent, None]:
        asked, schema, reading = request, None, None
        if self._prompted and request.tools:
            asked, schema = prompted.plain(request), prompted.schema(request.tools)
            reading = prompted.Reading()
        given = parameters(asked, able, schema, provider=self.name)
        begun = False
        try:
            async with self._host.client() as client:
                answer = await client.chat.completions.create(**given)
                async with answer as chunks:
                    begun = True
                    origin = Origin(provider=self.name, model=request.model)
                    pieces = _pieces(chunks, origin, self._new_id, reading)
                    async with aclosing(pieces) as events:
                        async for event in events:
                            if isinstance(event, Reply):
                                yield self._priced(event, request.model)
                            elif event.text:
                                yield event
        except FAILURES as error:
            raise self._failure(error, request.model, begun=begun) from None

    def _priced(self, reply: Reply, model: str) -> Reply:
        usage = priced(self.name, model, reply.usage, prices=self._prices)
        return replace(reply, usage=usage)

    def _failure(self, error: Exception, model: str, *, begun: bool) -> ProviderError:
        told = failure(self._host.endpoint(model), error, begun=begun)
        if told.kind == "bad_request" and "tool" in told.message.lower():
            told.hint = (
                "This model may know no tool calls: `claw config set provider.tools prompted` "
                "describes the tools in words instead."
            )
        return told


async def _pieces(
    chunks: openai.AsyncStream[Any],
    origin: Origin,
    new_id: NewId,
    reading: prompted.Reading | None,
) -> AsyncGenerator[ModelEvent, None]:
    collected = Collected(new_id=new_id)
    usage = Usage()
    async for chunk in chunks:
        usage = _usage(chunk.usage) if chunk.usage else usage
        if not chunk.choices:
            continue
        choice = chunk.choices[0]
        collected.finish = choice.finish_reason or collected.finish
        delta = choice.delta
        if delta is None:
            continue
        yield ThinkingPiece(text=collected.reasoned(delta.model_extra or {}))
        words = delta.content or getattr(delta, "refusal", None) or ""
        collected.text += words
        yield TextPiece(text=reading.feed(words) if reading else words)
        for call in delta.tool_calls or ():
            function = call.function
            collected.called(
                getattr(call, "index", None),  # some servers leave it out
                call.id,
                function.name if function else None,
                (function.arguments if function else None) or "",
            )
    if collected.finish is None:
        raise NoEnd
    parts = collected.parts()
    if reading:
        spoken = reading.parts(new_id)
        rest = "".join(part.text for part in spoken if isinstance(part, Text))[len(reading.words) :]
        yield TextPiece(text=rest)
        parts = (*(part for part in parts if not isinstance(part, Text | ToolCall)), *spoken)
    yield _reply(parts, collected, usage, origin)


def _reply(parts: Any, collected: Collected, usage: Usage, origin: Origin) -> Reply:
    raw: tuple[Mapping[str, Any], ...] = ()
    if collected.thinking:
        raw = ({collected.reasoned_in: collected.thinking},)
    message = Message(role="assistant", parts=parts, origin=replace(origin, raw=raw))
    stop = STOPS.get(collected.finish or "", "end")
    if message.tool_calls and stop == "end":
        stop = "tool_use"
    return Reply(message=message, stop=stop, usage=usage)


def _usage(counted: Any) -> Usage:
    details = counted.prompt_tokens_details
    read = (details.cached_tokens if details else None) or 0
    write = (details.cache_write_tokens if details else None) or 0
    return Usage(
        input=max(0, (counted.prompt_tokens or 0) - read - write),
        output=counted.completion_tokens or 0,
        cache_read=read,
        cache_write=write,
    )
