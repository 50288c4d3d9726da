"""Exa's search, by its API with a key and by its public MCP endpoint without one.

API: ``POST /search`` (https://exa.ai/docs/reference/search). MCP: JSON-RPC over Streamable HTTP
(https://modelcontextprotocol.io/specification, 2025-06-18), the tool ``web_search_exa``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claw_nb.core.errors import ToolError

if TYPE_CHECKING:
    import httpx2

API = "https://api.exa.ai"
MCP = "https://mcp.exa.ai/mcp"

_PROTOCOL = "2025-06-18"
_SECONDS = 30.0
_MOST_BYTES = 4_000_000
_CONTENT = 3_000
"""Characters of each page that are asked for with ``include_content``."""

_GET_KEY = "Ask the user to set web_search.exa_api_key in config.toml (or EXA_API_KEY)."
_FIELD = re.compile(r"^(Title|URL|Author|Published(?: Date)?|Text|Highlights|Summary):[ \t]?", re.M)


@dataclass(frozen=True, kw_only=True)
class Page:
    """One result."""

    title: str
    url: str
    published: str = ""
    author: str = ""
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Exa:
    """Where and how it is searched.

    ``key`` is asked for its secret at each search; without one the public endpoint answers.
    """

    key: Callable[[], str | None] = lambda: None
    api: str = API
    mcp: str = MCP

    async def search(self, query: str, *, most: int, content: bool) -> Sequence[Page] | str:
        """The pages found, or the words of an answer in no known form; raises ToolError."""
        # The client is only needed once something is searched.
        import httpx2  # noqa: PLC0415

        key = self.key()
        try:
            async with httpx2.AsyncClient(timeout=_SECONDS) as client:
                if key is None:
                    return _pages(await self._by_mcp(client, query, most=most))
                return await self._by_api(client, key, query, most=most, content=content)
        except httpx2.TimeoutException as error:
            raise ToolError(
                f"Exa did not answer within {_SECONDS:.0f} seconds",
                kind="timeout",
                hints=("Try once more, or go on without the web.",),
            ) from error
        except httpx2.HTTPError as error:
            raise ToolError(
                f"Exa cannot be reached: {str(error) or type(error).__name__}",
                kind="system",
                hints=("There may be no network here; go on without the web.",),
            ) from error

    async def _by_api(
        self, client: httpx2.AsyncClient, key: str, query: str, *, most: int, content: bool
    ) -> Sequence[Page]:
        body: dict[str, Any] = {"query": query, "numResults": most, "type": "auto"}
        if content:
            body["contents"] = {"text": {"maxCharacters": _CONTENT}}
        answer = await _post(client, f"{self.api}/search", body, {"x-api-key": key})
        _check(answer, keyed=True)
        found = _parsed(answer.text)
        if not isinstance(found, Mapping) or not isinstance(found.get("results"), list):
            raise ToolError("Exa answered in a form that is not known", kind="system")
        return [_page(result) for result in found["results"] if isinstance(result, Mapping)]

    async def _by_mcp(self, client: httpx2.AsyncClient, query: str, *, most: int) -> str:
        hello = {
            "protocolVersion": _PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "claw_nb", "version": "1"},
        }
        answer = await self._call(client, 1, "initialize", hello, {})
        headers = {"mcp-protocol-version": str(answer.result.get("protocolVersion", _PROTOCOL))}
        if answer.session:
            headers["mcp-session-id"] = answer.session
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        _check(await _post(client, self.mcp, ready, headers), keyed=False)
        arguments = {"query": query, "numResults": most}
        wanted = {"name": "web_search_exa", "arguments": arguments}
        result = (await self._call(client, 2, "tools/call", wanted, headers)).result
        if answer.session:
            await self._end(client, headers)
        words = "\n\n".join(
            str(part["text"]) for part in result.get("content", ()) if part.get("type") == "text"
        )
        if result.get("isError"):
            raise ToolError(
                f"Exa could not search: {words[:500]}", kind="system", hints=(_GET_KEY,)
            )
        return words

    async def _end(self, client: httpx2.AsyncClient, headers: Mapping[str, str]) -> None:
        import httpx2  # noqa: PLC0415

        with suppress(httpx2.HTTPError):  # we have what we came for, and it ends by itself too
            await client.delete(self.mcp, headers=headers)

    async def _call(
        self,
        client: httpx2.AsyncClient,
        number: int,
        method: str,
        params: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> Answer:
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        answer = await _post(client, self.mcp, body, headers)
        _check(answer, keyed=False)
        for message in _messages(answer):
            if message.get("id") == number and "error" in message:
                error = message["error"]
                said = error.get("message") if isinstance(error, Mapping) else error
                why = str(said or "it gave no reason")[:300]
                raise ToolError(f"Exa refused: {why}", kind="system", hints=(_GET_KEY,))
            if message.get("id") == number and isinstance(message.get("result"), Mapping):
                return Answer(result=message["result"], session=answer.session)
        raise ToolError("Exa's MCP endpoint did not answer the request", kind="system")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The result of one JSON-RPC call, and the session that the server opened."""

    result: Mapping[str, Any]
    session: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Response:
    status: int
    text: str
    kind: str
    session: str | None
    retry_after: str | None


async def _post(
    client: httpx2.AsyncClient, url: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> _Response:
    accept = {"accept": "application/json, text/event-stream"}
    pieces, size = [], 0
    async with client.stream("POST", url, json=body, headers=accept | dict(headers)) as response:
        async for piece in response.aiter_bytes():
            size += len(piece)
            if size > _MOST_BYTES:
                raise ToolError("Exa's answer is too long", kind="system", hints=("Ask for less.",))
            pieces.append(piece)
    return _Response(
        status=response.status_code,
        text=b"".join(pieces).decode("utf-8", "replace"),
        kind=response.headers.get("content-type", ""),
        session=response.headers.get("mcp-session-id"),
        retry_after=response.headers.get("retry-after"),
    )


def _check(answer: _Response, *, keyed: bool) -> None:
    if answer.status < 300:
        return
    if answer.status in (401, 402, 403):
        if keyed:
            message = f"Exa does not accept the API key (status {answer.status})"
            hint = "Ask the user to check web_search.exa_api_key."
        else:
            message = f"Exa's public endpoint wants a login (status {answer.status})"
            hint = _GET_KEY
        raise ToolError(message, kind="policy", hints=(hint, "Go on without the web until then."))
    if answer.status == 429:
        wait = f"in {answer.retry_after} seconds" if answer.retry_after else "later"
        raise ToolError("Exa gets too many requests", kind="system", hints=(f"Try again {wait}.",))
    said = _parsed(answer.text)
    reason = said.get("error", "") if isinstance(said, Mapping) else ""
    raise ToolError(
        f"Exa answered with status {answer.status}" + (f": {str(reason)[:300]}" if reason else ""),
        kind="validation" if answer.status == 400 else "system",
        hints=("Change the query." if answer.status == 400 else "Try once more later.",),
    )


def _messages(answer: _Response) -> list[Mapping[str, Any]]:
    """The JSON-RPC messages of an answer, plain or as server-sent events."""
    texts = [answer.text]
    if answer.kind.startswith("text/event-stream"):
        blocks = re.split(r"\r?\n\r?\n", answer.text)
        texts = [
            "\n".join(re.findall(r"^data: ?(.*?)\r?$", block, re.MULTILINE)) for block in blocks
        ]
    return [found for text in texts if isinstance(found := _parsed(text), Mapping)]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _page(result: Mapping[str, Any]) -> Page:
    return Page(
        title=str(result.get("title") or "").strip(),
        url=str(result.get("url") or ""),
        published=str(result.get("publishedDate") or "")[:10],
        author=str(result.get("author") or "").strip(),
        text=str(result.get("text") or "").strip(),
    )


def _pages(words: str) -> Sequence[Page] | str:
    """The pages in the public endpoint's words: JSON once, lines of ``Title:`` and so on today."""
    found = _parsed(words)
    if isinstance(found, Mapping) and isinstance(found.get("results"), list):
        return [_page(result) for result in found["results"] if isinstance(result, Mapping)]
    pages = []
    for block in re.split(r"^(?=Title:)", words, flags=re.MULTILINE):
        pieces = _FIELD.split(block)
        fields = dict(zip(pieces[1::2], (piece.strip() for piece in pieces[2::2]), strict=False))
        if "URL" in fields:
            pages.append(
                Page(
                    title=fields.get("Title", ""),
                    url=fields["URL"],
                    published=(fields.get("Published Date") or fields.get("Published", ""))[:10],
                    author=fields.get("Author", ""),
                    text=fields.get("Text") or fields.get("Highlights", ""),
                )
            )
    return pages or words
