"""Our messages in the words of Anthropic's Messages API, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
)
from claw_nb.core.protocols import ModelRequest, ToolSpec

Block = dict[str, Any]

STOPS: Mapping[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refused",
    "pause_turn": "paused",
}

#: Abilities that a request may use. What a model refuses is left out when it is asked again.
EVERYTHING = frozenset({"thinking", "effort", "cache", "system_role", "raw"})

# Adaptive thinking came with Claude 4.6; system messages inside a conversation with Opus 4.8.
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?=-|$)")
_NO_SYSTEM_ROLE = re.compile(r"claude-(?:sonnet-5(?!-5)|haiku-4|sonnet-4|mythos-preview)")
_CACHED = {"type": "ephemeral"}


def abilities(model: str) -> frozenset[str]:
    """What a model is known to accept; a server with models of another make gets plain requests."""
    if not model.startswith("claude"):
        return frozenset({"raw"})
    able = EVERYTHING
    version = _VERSION.match(model)
    if version:
        number = (int(version[1]), int(version[2] or 0))
        if number < (4, 6):
            able -= {"thinking", "effort"}
        if number < (4, 8):
            able -= {"system_role"}
    if _NO_SYSTEM_ROLE.match(model):
        able -= {"system_role"}
    return able


def refused(able: frozenset[str], said: str) -> frozenset[str]:
    """The abilities that a "bad request" answer complains of, of those that were used."""
    words = said.lower()
    for ability, pattern in (
        ("raw", r"signature|thinking.? blocks?|redacted_thinking"),
        ("system_role", r"\brole\b.*\bsystem\b|\bsystem\b.*\brole\b"),
        ("thinking", r"thinking|adaptive"),
        ("effort", r"effort|output_config"),
        ("cache", r"cache_control"),
    ):
        if ability in able and re.search(pattern, words):
            return frozenset({ability})
    return frozenset()


def parameters(request: ModelRequest, able: frozenset[str]) -> dict[str, Any]:
    """The keyword arguments of ``messages.stream``."""
    given: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": list(_merged(_messages(request, able))),
    }
    if request.system:
        block: Block = {"type": "text", "text": request.system}
        given["system"] = [block | ({"cache_control": _CACHED} if "cache" in able else {})]
    if request.tools:
        given["tools"] = [_tool(spec) for spec in request.tools]
    if "cache" in able:
        given["cache_control"] = _CACHED
    if "thinking" in able:
        # Without "summarized" newer models keep silent between tool calls.
        given["thinking"] = {"type": "adaptive", "display": "summarized"}
    if "effort" in able and request.effort:
        given["output_config"] = {"effort": request.effort}
    return given


def _tool(spec: ToolSpec) -> Block:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": dict(spec.parameters),
    }


def _messages(request: ModelRequest, able: frozenset[str]) -> Iterator[Block]:
    messages = request.messages
    for at, message in enumerate(messages):
        match message.role:
            case "assistant":
                content = _assistant(message, request.model, keep_raw="raw" in able)
            case "system":
                if "system_role" in able and _may_be_system(messages, at):
                    yield {"role": "system", "content": message.text}
                    continue
                content = [{"type": "text", "text": reminder(message.text)}]
            case _:
                content = list(_user(message.parts))
        if content:
            role = "assistant" if message.role == "assistant" else "user"
            yield {"role": role, "content": content}


def reminder(text: str) -> str:
    """A host's message for a model that takes no system messages inside the conversation."""
    return f"<system-reminder>\n{text}\n</system-reminder>"


def _may_be_system(messages: Sequence[Message], at: int) -> bool:
    """The API takes a system message right after a user's, and last or before the model's."""
    before = messages[at - 1].role if at else None
    after = messages[at + 1].role if at + 1 < len(messages) else "assistant"
    return before in ("user", "tool") and after == "assistant" and bool(messages[at].text)


def _assistant(message: Message, model: str, *, keep_raw: bool) -> list[Block]:
    origin = message.origin
    ours = origin is not None and (origin.provider, origin.model) == ("anthropic", model)
    if origin and origin.raw and ours and keep_raw:
        return [dict(block) for block in origin.raw]
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case Text(text=text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ToolCall():
                blocks.append(
                    {
                        "type": "tool_use",
                        "id": _id(part.id),
                        "name": part.name,
                        "input": dict(part.arguments),
                    }
                )
            case _:
                pass  # thinking only fits the model that thought it, as a raw block
    return blocks


def _user(parts: Iterable[Part]) -> Iterator[Block]:
    for part in parts:
        match part:
            case Text(text=text) if text.strip():
                yield {"type": "text", "text": text}
            case Image():
                yield _image(part)
            case ToolResult():
                result: Block = {"type": "tool_result", "tool_use_id": _id(part.call_id)}
                content = list(_user(part.parts))
                result |= {"content": content} if content else {}
                yield result | ({"is_error": True} if part.error else {})
            case _:
                pass


def _image(image: Image) -> Block:
    source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source}


def _id(given: str) -> str:
    """Ids of other services may hold characters that this API does not take."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", given) or "call"


def _merged(blocks: Iterable[Block]) -> Iterator[Block]:
    """Neighbours of one role become one message."""
    last: Block | None = None
    for block in blocks:
        if last is None or last["role"] != block["role"]:
            if last is not None:
                yield last
            last = block
        elif block["role"] == "system":
            last = {"role": "system", "content": f"{last['content']}\n\n{block['content']}"}
        else:
            last = {"role": block["role"], "content": [*last["content"], *block["content"]]}
    if last is not None:
        yield last


def parts_of(blocks: Sequence[Mapping[str, Any]], typed: Mapping[int, str]) -> tuple[Part, ...]:
    """The answer's blocks as parts. ``typed`` holds each call's arguments as they were streamed.

    A call whose arguments broke off is left out: it must not run.
    """
    parts: list[Part] = []
    for index, block in enumerate(blocks):
        match block["type"]:
            case "text" if block["text"]:
                parts.append(Text(text=block["text"]))
            case "thinking" if block["thinking"]:
                parts.append(Thinking(text=block["thinking"]))
            case "tool_use":
                arguments = _arguments(typed.get(index, ""), block["input"])
                if arguments is not None:
                    parts.append(ToolCall(id=block["id"], name=block["name"], arguments=arguments))
            case _:
                pass
    return tuple(parts)


def _arguments(typed: str, whole: object) -> Mapping[str, Any] | None:
    if not typed:
        return whole if isinstance(whole, Mapping) else {}
    try:
        value = json.loads(typed)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def raw_of(blocks: Sequence[Mapping[str, Any]], parts: Sequence[Part]) -> tuple[Block, ...]:
    """The blocks to send back as they came, when the parts alone would lose something."""
    calls = sum(block["type"] == "tool_use" for block in blocks)
    whole = calls == sum(isinstance(part, ToolCall) for part in parts)
    plain = all(block["type"] in ("text", "tool_use") for block in blocks)
    return () if plain or not whole else tuple(dict(block) for block in blocks)
