"""Any OpenAI-compatible chat-completions endpoint, through the official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
import openai

from claw_nb.core.clock import NewId, new_id
from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Message, Origin, Text, ToolCall, Usage
from claw_nb.core.protocols import ModelEvent, ModelRequest, Reply, TextPiece, ThinkingPiece
from claw_nb.providers import prompted
from claw_nb.providers.failures import MALFORMED, Endpoint, service_words
from claw_nb.providers.openai_wire import EVERYTHING, STOPS, Collected, parameters, refused
from claw_nb.providers.pricing import PRICES, Price, priced

_URL = "https://api.openai.com/v1"


class OpenAIProvider:
    """OpenAI itself, Ollama, vLLM, llama.cpp and their like.

    ``tools="prompted"`` is for models that know no tool calls (see ``prompted``). What a server
    turns out not to accept (usage in streams, system messages inside the conversation, effort,
    JSON schemas) is left out from then on.
    """

    name = "openai"

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        tools: Literal["native", "prompted"] = "native",
        prices: Mapping[str, Price] = PRICES,
        new_id: NewId = new_id,
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._prompted = tools == "prompted"
        self._prices = prices
        self._new_id = new_id
        self._refused: dict[str, frozenset[str]] = {}
        host = urlsplit(base_url or _URL).hostname or ""
        self._able = EVERYTHING | ({"new_limit"} if host.endswith("openai.com") else set())

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
        given = parameters(asked, able, schema)
        service = self._service(request.model)
        begun = False
        try:
            async with openai.AsyncOpenAI(
                api_key=self._api_key or "not-needed", base_url=self._base_url, max_retries=0
            ) as client:
                answer = await client.chat.completions.create(**given)
                async with answer as chunks:
                    begun = True
                    pieces = _pieces(chunks, request.model, self._new_id, reading)
                    async with aclosing(pieces) as events:
                        async for event in events:
                            if isinstance(event, Reply):
                                yield self._priced(event, request.model)
                            elif event.text:
                                yield event
        # The SDK's own error may quote the key, so no traceback shows it.
        except _NoEnd:
            raise service.failed("cut") from None
        except openai.APIStatusError as error:
            raise self._answered(service, error) from None
        except (openai.APITimeoutError, httpx2.TimeoutException):
            raise service.failed("timeout") from None
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            cause = str(error.__cause__ or error)
            raise service.failed("cut" if begun else "connection", cause) from None
        except openai.APIError as error:
            raise service.answered(200, error.body, {}, fallback=error.message) from None
        except (openai.OpenAIError, *MALFORMED) as error:
            raise service.failed("cut" if begun else "server", str(error)) from None

    def _priced(self, reply: Reply, model: str) -> Reply:
        usage = priced(self.name, model, reply.usage, prices=self._prices)
        return replace(reply, usage=usage)

    def _service(self, model: str) -> Endpoint:
        return Endpoint(
            label="OpenAI" if self._base_url is None else f"the service at {self._base_url}",
            model=model,
            url=self._base_url or _URL,
            variable="OPENAI_API_KEY",
            secret=self._api_key or "",
        )

    def _answered(self, service: Endpoint, error: openai.APIStatusError) -> ProviderError:
        failure = service.answered(
            error.status_code,
            error.body,
            error.response.headers,
            request_id=error.request_id,
            fallback=error.message,
        )
        if failure.kind == "bad_request" and "tool" in failure.message.lower():
            failure.hint = (
                "This model may know no tool calls: `claw config set provider.tools prompted` "
                "describes the tools in words instead."
            )
        return failure


class _NoEnd(Exception):
    """The stream stopped before the model did."""


async def _pieces(
    chunks: openai.AsyncStream[Any], model: str, new_id: NewId, reading: prompted.Reading | None
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
        raise _NoEnd
    parts = collected.parts()
    if reading:
        spoken = reading.parts(new_id)
        rest = "".join(part.text for part in spoken if isinstance(part, Text))[len(reading.words) :]
        yield TextPiece(text=rest)
        parts = (*(part for part in parts if not isinstance(part, Text | ToolCall)), *spoken)
    yield _reply(parts, collected, usage, model)


def _reply(parts: Any, collected: Collected, usage: Usage, model: str) -> Reply:
    raw: tuple[Mapping[str, Any], ...] = ()
    if collected.thinking:
        raw = ({collected.reasoned_in: collected.thinking},)
    message = Message(
        role="assistant", parts=parts, origin=Origin(provider="openai", model=model, raw=raw)
    )
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
