"""Our messages in the words of the chat-completions API, and its stream put together again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from claw_nb.core.clock import NewId
from claw_nb.core.messages import (
    Image,
    Message,
    Part,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from claw_nb.core.protocols import ModelRequest, ToolSpec
from claw_nb.providers.anthropic_wire import reminder

Row = dict[str, Any]

STOPS: Mapping[str, StopReason] = {
    "stop": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refused",
}

#: Abilities that a request may use; ``new_limit`` is max_completion_tokens, which only newer
#: servers know and OpenAI's reasoning models demand.
EVERYTHING = frozenset({"usage", "system_role", "effort", "schema", "reasoning"})

#: The fields in which servers stream their reasoning.
REASONING = ("reasoning_content", "reasoning")


def refused(able: frozenset[str], said: str) -> frozenset[str]:
    """The abilities to change after a "bad request" answer with these words."""
    words = said.lower()
    if "max_completion_tokens" in words:
        return frozenset({"new_limit"})
    for ability, pattern in (
        ("usage", r"stream_options|include_usage"),
        ("schema", r"response_format|json_schema"),
        ("effort", r"reasoning_effort"),
        ("reasoning", r"reasoning"),
        ("system_role", r"\bsystem\b.*\b(?:role|message|beginning|first)|conversation roles"),
    ):
        if ability in able and re.search(pattern, words):
            return frozenset({ability})
    return frozenset()


def parameters(
    request: ModelRequest,
    able: frozenset[str],
    schema: Mapping[str, Any] | None,
    *,
    provider: str = "openai",
) -> dict[str, Any]:
    """The keyword arguments of ``chat.completions.create``; ``provider`` tells whose reasoning fits."""
    limit = "max_completion_tokens" if "new_limit" in able else "max_tokens"
    given: dict[str, Any] = {
        "model": request.model,
        "messages": list(_messages(request, able, provider)),
        "stream": True,
        limit: request.max_tokens,
    }
    if request.tools:
        given["tools"] = [_tool(spec) for spec in request.tools]
    if "usage" in able:
        given["stream_options"] = {"include_usage": True}
    if "effort" in able and request.effort:
        given["reasoning_effort"] = request.effort
    if schema is not None and "schema" in able:
        wanted = {"name": "reply", "schema": dict(schema)}
        given["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return given


def _tool(spec: ToolSpec) -> Row:
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": dict(spec.parameters),
        },
    }


def _messages(request: ModelRequest, able: frozenset[str], provider: str) -> Iterator[Row]:
    if request.system:
        yield {"role": "system", "content": request.system}
    last_user = max(
        (at for at, message in enumerate(request.messages) if message.role == "user"), default=0
    )
    for at, message in enumerate(request.messages):
        match message.role:
            case "assistant":
                # Reasoning belongs to the turn in work: models ask for it between tool calls and
                # are confused by that of earlier turns.
                raw = at > last_user and "reasoning" in able
                row = _assistant(message, (provider, request.model) if raw else None)
                if len(row) > 1:
                    yield row
            case "tool":
                yield from _results(message.parts)
            case "system" if "system_role" in able:
                yield {"role": "system", "content": message.text}
            case "system":
                yield {"role": "user", "content": reminder(message.text)}
            case _:
                yield {"role": "user", "content": _content(message.parts)}


def _assistant(message: Message, raw_of: tuple[str, str] | None) -> Row:
    row: Row = {"role": "assistant"}
    if message.text:
        row["content"] = message.text
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
        }
        for call in message.tool_calls
    ]
    if calls:
        row |= {"content": message.text or None, "tool_calls": calls}
    origin = message.origin
    if origin and (origin.provider, origin.model) == raw_of:
        for block in origin.raw:
            row |= block
    return row


def _results(parts: Iterable[Part]) -> Iterator[Row]:
    """One row a result. Tool rows take words only, so pictures follow in a user's row."""
    pictures: list[Image] = []
    for part in parts:
        if isinstance(part, ToolResult):
            shown = [item for item in part.parts if isinstance(item, Image)]
            words = part.text or ("(a picture, below)" if shown else "(no output)")
            if part.error:
                words = f"[{part.error}] {words}"
            yield {"role": "tool", "tool_call_id": part.call_id, "content": words}
            pictures += shown
    if pictures:
        note = Text(text="The pictures that the tools gave:")
        yield {"role": "user", "content": _content((note, *pictures))}


def _content(parts: Iterable[Part]) -> str | list[Row]:
    rows: list[Row] = []
    for part in parts:
        match part:
            case Text(text=text):
                rows.append({"type": "text", "text": text})
            case Image(data=data, media_type=kind):
                rows.append(
                    {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
                )
            case _:
                pass
    if all(row["type"] == "text" for row in rows):
        return "".join(row["text"] for row in rows)
    return rows


@dataclass(kw_only=True)
class _Call:
    id: str
    name: str
    typed: str = ""


@dataclass(kw_only=True)
class Collected:
    """The pieces of a stream so far."""

    new_id: NewId
    text: str = ""
    thinking: str = ""
    reasoned_in: str = REASONING[0]
    finish: str | None = None
    _calls: list[_Call] = field(default_factory=list)
    _at: dict[int, int] = field(default_factory=dict)

    def reasoned(self, extra: Mapping[str, Any]) -> str:
        """The words of reasoning in a delta's fields that the API itself doesn't know."""
        for name in REASONING:
            piece = extra.get(name)
            if isinstance(piece, str) and piece:
                self.reasoned_in = name
                self.thinking += piece
                return piece
        return ""

    def called(self, index: int | None, call_id: str | None, name: str | None, typed: str) -> None:
        """A piece of a tool call. Some servers give every call of a message the index 0."""
        at = self._at.get(index) if index is not None else len(self._calls) - 1
        known = at is not None and 0 <= at < len(self._calls)
        if not known or (name and call_id and call_id != self._calls[at or 0].id):
            # Each result is matched to its call by the id, so an id that comes twice won't do.
            fresh = call_id and call_id not in [call.id for call in self._calls]
            given = call_id if call_id and fresh else f"call_{self.new_id()}"
            self._calls.append(_Call(id=given, name=name or ""))
            at = len(self._calls) - 1
            if index is not None:
                self._at[index] = at
        elif name and not self._calls[at or 0].name:
            self._calls[at or 0].name = name
        self._calls[at or 0].typed += typed

    def parts(self) -> tuple[Part, ...]:
        """The answer. A call whose arguments broke off at the token limit is left out."""
        parts: list[Part] = []
        if self.thinking:
            parts.append(Thinking(text=self.thinking))
        if self.text:
            parts.append(Text(text=self.text))
        for call in self._calls:
            arguments = _arguments(call.typed)
            if arguments is None and self.finish == "length":
                continue
            if arguments is None:
                # The tool's own check names this parameter as unknown, so the model is told.
                arguments = {"malformed_arguments": call.typed}
            parts.append(ToolCall(id=call.id, name=call.name, arguments=arguments))
        return tuple(parts)


def _arguments(typed: str) -> dict[str, Any] | None:
    if not typed.strip():
        return {}
    try:
        value = json.loads(typed)
        if isinstance(value, str):  # some servers encode the object twice
            value = json.loads(value)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
