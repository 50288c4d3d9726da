"""Claude, and whatever else speaks Anthropic's Messages API, through the official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import anthropic
import httpx2

from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Message, Origin, StopReason, Usage
from claw_nb.core.protocols import ModelEvent, ModelRequest, Reply, TextPiece, ThinkingPiece
from claw_nb.providers.anthropic_wire import (
    STOPS,
    abilities,
    parameters,
    parts_of,
    raw_of,
    refused,
)
from claw_nb.providers.failures import MALFORMED, Endpoint, service_words
from claw_nb.providers.pricing import PRICES, Price, priced

_URL = "https://api.anthropic.com"


class AnthropicProvider:
    """Streams answers of ``client.messages.stream``.

    What a model turns out not to accept (adaptive thinking, system messages inside the
    conversation, effort, caching, foreign thinking blocks) is left out from then on.
    """

    name = "anthropic"

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        prices: Mapping[str, Price] = PRICES,
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._prices = prices
        self._refused: dict[str, frozenset[str]] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; see ``core.protocols.Provider``."""
        model = request.model
        while True:
            able = abilities(model) - self._refused.get(model, frozenset())
            shown = False
            try:
                async with aclosing(self._ask(request, able)) as events:
                    async for event in events:
                        shown = True
                        yield event
                return
            except ProviderError as error:
                without = refused(able, service_words(error))
                if shown or not without:
                    raise
                self._refused[model] = self._refused.get(model, frozenset()) | without

    async def _ask(
        self, request: ModelRequest, able: frozenset[str]
    ) -> AsyncGenerator[ModelEvent, None]:
        service = Endpoint(
            label="Anthropic" if self._base_url is None else f"the service at {self._base_url}",
            model=request.model,
            url=self._base_url or _URL,
            variable="ANTHROPIC_API_KEY",
            secret=self._api_key,
        )
        given = parameters(request, able)
        begun = False
        try:
            # A client belongs to one event loop, so it lives as long as the call. The loop
            # retries, where it can be seen; the SDK doesn't.
            async with (
                anthropic.AsyncAnthropic(
                    api_key=self._api_key, base_url=self._base_url, max_retries=0
                ) as client,
                client.messages.stream(**given) as stream,
            ):
                begun = True
                typed: dict[int, str] = {}
                async for event in stream:
                    match event.type:
                        case "text":
                            yield TextPiece(text=event.text)
                        case "thinking":
                            yield ThinkingPiece(text=event.thinking)
                        case "content_block_delta" if event.delta.type == "input_json_delta":
                            piece = event.delta.partial_json
                            typed[event.index] = typed.get(event.index, "") + piece
                        case _:
                            pass
                yield self._reply(stream.current_message_snapshot, typed, request.model, service)
        # The SDK's own error may quote the key, so no traceback shows it.
        except anthropic.APIStatusError as error:
            raise service.answered(
                error.status_code,
                error.body,
                error.response.headers,
                request_id=error.request_id,
                fallback=error.message,
            ) from None
        except (anthropic.APITimeoutError, httpx2.TimeoutException):
            raise service.failed("timeout") from None
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            cause = str(error.__cause__ or error)
            raise service.failed("cut" if begun else "connection", cause) from None
        except (anthropic.AnthropicError, *MALFORMED) as error:
            # Not a stream of this API: events that are no JSON, or that come in a wrong order.
            raise service.failed("cut" if begun else "server", str(error)) from None

    def _reply(self, snapshot: Any, typed: dict[int, str], model: str, service: Endpoint) -> Reply:
        if snapshot.stop_reason is None:
            raise service.failed("cut")
        blocks = [_plain(block) for block in snapshot.content]
        parts = parts_of(blocks, typed)
        stop: StopReason = STOPS.get(snapshot.stop_reason, "end")
        origin = Origin(provider=self.name, model=model, raw=raw_of(blocks, parts))
        return Reply(
            message=Message(role="assistant", parts=parts, origin=origin),
            stop=stop,
            usage=priced(self.name, model, _usage(snapshot.usage), prices=self._prices),
        )


def _plain(block: Any) -> dict[str, Any]:
    """A block as the API sends and takes it, without the SDK's own fields and without nulls."""
    given: dict[str, Any] = block.to_dict()
    return {
        key: value for key, value in given.items() if value is not None and key != "parsed_output"
    }


def _usage(counted: Any) -> Usage:
    return Usage(
        input=counted.input_tokens or 0,
        output=counted.output_tokens or 0,
        cache_read=counted.cache_read_input_tokens or 0,
        cache_write=counted.cache_creation_input_tokens or 0,
    )
