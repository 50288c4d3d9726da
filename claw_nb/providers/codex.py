"""A ChatGPT subscription, through the login of the Codex CLI and the Responses API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import openai

from claw_nb import __version__
from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Message, Origin
from claw_nb.core.protocols import ModelEvent, ModelRequest, Reply, TextPiece, ThinkingPiece
from claw_nb.providers.codex_login import Access, CodexLogin
from claw_nb.providers.failures import Endpoint, service_words
from claw_nb.providers.openai_failures import FAILURES, NoEnd, failure
from claw_nb.providers.pricing import PRICES, Price, priced
from claw_nb.providers.responses_wire import EVERYTHING, Collected, parameters, refused, usage

CODEX_URL = "https://chatgpt.com/backend-api/codex"
ORIGINATOR = "claw_nb"
"""Who asks. We say who we are; the service may turn away clients that it does not know."""


class CodexProvider:
    """Models of a ChatGPT plan, counted against it.

    A token that the service refuses is renewed once; what it does not accept in a request
    (reasoning of an earlier answer, effort) is left out from then on.
    """

    name = "codex-subscription"

    def __init__(
        self,
        login: CodexLogin,
        *,
        base_url: str | None = None,
        originator: str | None = None,
        prices: Mapping[str, Price] = PRICES,
    ) -> None:
        self._login = login
        self._url = base_url or CODEX_URL
        self._originator = originator or ORIGINATOR
        self._prices = prices
        self._refused: dict[str, frozenset[str]] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; see ``core.protocols.Provider``."""
        renewed = False
        access = await self._login.access()
        while True:
            able = EVERYTHING - self._refused.get(request.model, frozenset())
            shown = False
            try:
                async with aclosing(self._ask(request, access, able)) as events:
                    async for event in events:
                        shown = True
                        yield event
                return
            except ProviderError as error:
                change = refused(able, service_words(error))
                if shown or not (change or (error.status == 401 and not renewed)):
                    raise
                if change:
                    known = self._refused.get(request.model, frozenset())
                    self._refused[request.model] = known | change
                    continue
            renewed = True
            access = await self._login.access(instead_of=access.token)

    async def _ask(
        self, request: ModelRequest, access: Access, able: frozenset[str]
    ) -> AsyncGenerator[ModelEvent, None]:
        given = parameters(request, able, provider=self.name)
        service = self._endpoint(request.model, access)
        begun = False
        try:
            async with self._client(access) as client:
                answer: Any = await client.responses.create(**given)
                async with answer as stream:
                    begun = True
                    async with aclosing(_pieces(stream, service)) as events:
                        async for event in events:
                            yield self._whole(event, request.model)
        except FAILURES as error:
            told = failure(service, error, begun=begun)
            raise self._explained(told, error) from None

    def _client(self, access: Access) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            api_key=access.token,
            base_url=self._url,
            max_retries=0,
            default_headers={
                "accept": "text/event-stream",
                "chatgpt-account-id": access.account,
                "OpenAI-Beta": "responses=experimental",
                "originator": self._originator,
                "User-Agent": f"{self._originator}/{__version__}",
            },
        )

    def _whole(self, event: ModelEvent, model: str) -> ModelEvent:
        """The reply with who wrote it and what it cost; other events as they are."""
        if not isinstance(event, Reply):
            return event
        raw = event.message.origin.raw if event.message.origin else ()
        origin = Origin(provider=self.name, model=model, raw=raw)
        counted = priced(self.name, model, event.usage, prices=self._prices)
        return replace(event, message=replace(event.message, origin=origin), usage=counted)

    def _endpoint(self, model: str, access: Access) -> Endpoint:
        return Endpoint(
            label="the Codex service" if self._url == CODEX_URL else f"the service at {self._url}",
            model=model,
            url=self._url,
            variable="the Codex login",
            secret=access.token,
        )

    def _explained(self, told: ProviderError, error: Exception) -> ProviderError:
        """The error with what helps here: there is no key, and a plan has limits of its own."""
        body = getattr(error, "body", None)
        facts = body if isinstance(body, Mapping) else {}
        if told.kind == "auth" and told.status == 403:
            told.hint = (
                f"The service may not know the client {self._originator!r} or its network. Another "
                "name is set with provider.codex_originator."
            )
        elif told.kind == "auth":
            told.message = told.message.replace("accept the key", "accept the login", 1)
            told.hint = "Run `codex login` and ask again."
        elif told.kind == "rate_limit":
            wait = facts.get("resets_in_seconds")
            if told.retry_after is None and isinstance(wait, int | float):
                told.retry_after = float(wait)
            told.hint = "The plan's limit is reached for now; it is not a matter of the login."
        return told


async def _pieces(stream: Any, service: Endpoint) -> AsyncGenerator[ModelEvent, None]:
    collected = Collected()
    shown = ""
    async for event in stream:
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                if event.delta:
                    shown += event.delta
                    yield TextPiece(text=event.delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                if event.delta:
                    yield ThinkingPiece(text=event.delta)
            case "response.reasoning_summary_part.added" if event.summary_index:
                yield ThinkingPiece(text="\n\n")
            case "response.output_item.done":
                collected.items.append(event.item.model_dump(mode="json", exclude_none=True))
            case "response.completed" | "response.incomplete":
                response = event.response.model_dump(mode="json", exclude_none=True)
                reply = _reply(collected, response)
                if len(collected.words) > len(shown):  # some servers stream no words
                    yield TextPiece(text=collected.words[len(shown) :])
                yield reply
                return
            case "response.failed":
                response = event.response.model_dump(mode="json", exclude_none=True)
                raise service.answered(200, response, {}, fallback="the answer failed")
            case "error":
                raise service.answered(200, event.model_dump(mode="json"), {})
            case _:
                pass
    raise NoEnd


def _reply(collected: Collected, response: Mapping[str, Any]) -> Reply:
    parts, stop = collected.reply(response)
    origin = Origin(provider="", model="", raw=collected.raw())
    message = Message(role="assistant", parts=parts, origin=origin)
    return Reply(message=message, stop=stop, usage=usage(response))
