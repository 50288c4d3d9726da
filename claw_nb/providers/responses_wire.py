"""Our messages in the words of the Responses API, and its stream put together again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from claw_nb.core.messages import (
    Image,
    Message,
    Part,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from claw_nb.core.protocols import ModelRequest

Item = dict[str, Any]

#: Abilities that a request may use: summarised reasoning, and that of earlier answers sent back.
EVERYTHING = frozenset({"reasoning", "raw"})

STOPS: Mapping[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refused",
}
"""Why an answer is incomplete."""


def refused(able: frozenset[str], said: str) -> frozenset[str]:
    """The abilities to leave out after a "bad request" answer with these words."""
    words = said.lower()
    for ability, pattern in (
        ("raw", r"encrypted.content|reasoning.? item|item .*of type .?reasoning"),
        ("reasoning", r"reasoning|effort|summary"),
    ):
        if ability in able and re.search(pattern, words):
            return frozenset({ability})
    return frozenset()


def parameters(request: ModelRequest, able: frozenset[str], *, provider: str) -> dict[str, Any]:
    """The keyword arguments of ``responses.create`` for a service that keeps nothing."""
    given: dict[str, Any] = {
        "model": request.model,
        "store": False,
        "stream": True,
        "instructions": request.system or "Answer the user.",  # the service wants some
        "input": list(_items(request, provider if "raw" in able else "")),
        "prompt_cache_key": _cache_key(request),
    }
    if request.tools:
        given["tools"] = [
            {
                "type": "function",
                "name": spec.name,
                "description": spec.description,
                "parameters": dict(spec.parameters),
                "strict": False,
            }
            for spec in request.tools
        ]
        given |= {"tool_choice": "auto", "parallel_tool_calls": True}
    if "reasoning" in able:
        effort = {"effort": request.effort} if request.effort else {}
        given["reasoning"] = {"summary": "auto"} | effort
        given["include"] = ["reasoning.encrypted_content"]
    return given


def _cache_key(request: ModelRequest) -> str:
    """The same for every request of a conversation: its beginning, without its words."""
    begin = request.system + (request.messages[0].text if request.messages else "")
    return hashlib.sha256(begin.encode()).hexdigest()[:32]


def _items(request: ModelRequest, raw_of: str) -> Iterator[Item]:
    for message in request.messages:
        match message.role:
            case "assistant":
                yield from _assistant(message, (raw_of, request.model))
            case "tool":
                for part in message.parts:
                    if isinstance(part, ToolResult):
                        yield _result(part)
            case "system":
                yield _said("developer", [{"type": "input_text", "text": message.text}])
            case _:
                yield _said("user", _content(message.parts))


def _said(role: str, content: list[Item]) -> Item:
    return {"type": "message", "role": role, "content": content}


def _assistant(message: Message, raw_of: tuple[str, str]) -> Iterator[Item]:
    """An answer in the order in which it was given, where its raw blocks tell that."""
    rest: dict[str, Item] = {}
    if message.text:
        rest["message"] = _said("assistant", [{"type": "output_text", "text": message.text}])
    for call in message.tool_calls:
        rest[call.id] = {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(dict(call.arguments)),
        }
    origin = message.origin
    if origin and (origin.provider, origin.model) == raw_of:
        for block in origin.raw:
            if block.get("type") == "reasoning":
                yield dict(block)
                continue
            item = rest.pop(block.get("call_id", "message"), None)
            if item is not None:
                yield item
    yield from rest.values()


def _result(part: ToolResult) -> Item:
    shown = any(isinstance(item, Image) for item in part.parts)
    words = part.text or ("(a picture)" if shown else "(no output)")
    if part.error:
        words = f"[{part.error}] {words}"
    pictures = [item for item in part.parts if isinstance(item, Image)]
    output: str | list[Item] = _content((Text(text=words), *pictures)) if pictures else words
    return {"type": "function_call_output", "call_id": part.call_id, "output": output}


def _content(parts: Iterable[Part]) -> list[Item]:
    rows: list[Item] = []
    for part in parts:
        match part:
            case Text(text=text):
                rows.append({"type": "input_text", "text": text})
            case Image(data=data, media_type=kind):
                url = f"data:{kind};base64,{data}"
                rows.append({"type": "input_image", "image_url": url, "detail": "auto"})
            case _:
                pass
    return rows


@dataclass(kw_only=True)
class Collected:
    """The finished items of a stream so far."""

    items: list[Item] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The words of the answer."""
        return "".join(text for item in self.items for text in _words(item))

    def reply(self, response: Mapping[str, Any]) -> tuple[tuple[Part, ...], StopReason]:
        """The parts of the answer and why it ended, once the response is there.

        Some servers tell the items only there.
        """
        self.items = self.items or list(response.get("output") or ())
        why = (response.get("incomplete_details") or {}).get("reason", "")
        stop = STOPS.get(why, "end")
        thoughts = [text for item in self.items for text in _thoughts(item)]
        words = self.words
        calls = [call for item in self.items if (call := _call(item, stop)) is not None]
        parts: list[Part] = [Thinking(text="\n\n".join(thoughts))] if thoughts else []
        if words:
            parts.append(Text(text=words))
        parts += calls
        if any(_is_refusal(item) for item in self.items):
            stop = "refused"
        return tuple(parts), "tool_use" if calls and stop == "end" else stop

    def raw(self) -> tuple[Mapping[str, Any], ...]:
        """The reasoning as the service wants it back, among marks of where the rest stood."""
        kept: list[Item] = []
        for item in self.items:
            match item.get("type"):
                case "reasoning" if item.get("encrypted_content"):
                    kept.append(
                        {key: item[key] for key in ("type", "summary", "encrypted_content")}
                    )
                case "function_call":
                    kept.append({"type": "function_call", "call_id": item.get("call_id", "")})
                case "message":
                    kept.append({"type": "message"})
        return tuple(kept) if any(row["type"] == "reasoning" for row in kept) else ()


def _thoughts(item: Item) -> Iterator[str]:
    if item.get("type") == "reasoning":
        for part in item.get("summary") or item.get("content") or ():
            if part.get("text"):
                yield part["text"]


def _words(item: Item) -> Iterator[str]:
    if item.get("type") == "message":
        for part in item.get("content") or ():
            yield part.get("text") or part.get("refusal") or ""


def _is_refusal(item: Item) -> bool:
    return item.get("type") == "message" and any(
        part.get("type") == "refusal" for part in item.get("content") or ()
    )


def _call(item: Item, stop: StopReason) -> ToolCall | None:
    """A tool call; one whose arguments broke off at the token limit is left out."""
    if item.get("type") != "function_call":
        return None
    typed = item.get("arguments") or "{}"
    try:
        arguments = json.loads(typed)
    except json.JSONDecodeError:
        arguments = None
    if not isinstance(arguments, dict):
        if stop == "max_tokens":
            return None
        # The tool's own check names this parameter as unknown, so the model is told.
        arguments = {"malformed_arguments": typed}
    return ToolCall(id=item["call_id"], name=item["name"], arguments=arguments)


def usage(response: Mapping[str, Any]) -> Usage:
    """The tokens of a finished response."""
    counted = response.get("usage") or {}
    read = (counted.get("input_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(
        input=max(0, (counted.get("input_tokens") or 0) - read),
        output=counted.get("output_tokens") or 0,
        cache_read=read,
    )
