"""Tools for models that know none: the reply is one JSON object, {"name", "arguments"}.

The tools stand in the system prompt, and the server is asked to keep the reply to a JSON schema.
The name ``answer`` with ``{"text": ...}`` speaks to the user; any other name is a tool call, one
per reply. Earlier calls and their results are told in words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from claw_nb.core.clock import NewId
from claw_nb.core.messages import Image, Message, Part, Text, ToolCall, ToolResult
from claw_nb.core.protocols import ModelRequest, ToolSpec

ANSWER = "answer"

# The wording was chosen with a model of 135 million parameters, which otherwise never calls a tool.
_PROMPT = """\
You answer by calling functions. Reply with one JSON object \
{{"name": ..., "arguments": ...}} and nothing else. The functions:
{tools}
- answer: Tell the user the answer, once you know it. Arguments: {{"text": string}}"""


def plain(request: ModelRequest) -> ModelRequest:
    """The same request without tools: they and their use are told in words."""
    tools = "\n".join(
        f"- {tool.name}: {tool.description} Arguments: {json.dumps(dict(tool.parameters))}"
        for tool in request.tools
    )
    system = f"{request.system}\n\n{_PROMPT.format(tools=tools)}".strip()
    messages = tuple(_in_words(message) for message in request.messages)
    return replace(request, system=system, messages=messages, tools=())


def schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The JSON schema of a reply."""
    text = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    choices = [(tool.name, dict(tool.parameters)) for tool in tools] + [(ANSWER, text)]
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {"name": {"const": name}, "arguments": arguments},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for name, arguments in choices
        ]
    }


def _in_words(message: Message) -> Message:
    match message.role:
        case "assistant":
            calls = [_line(call.name, call.arguments) for call in message.tool_calls]
            said = [_line(ANSWER, {"text": message.text})] if message.text and not calls else []
            parts: tuple[Part, ...] = (Text(text="\n".join(calls or said)),)
            return replace(message, parts=parts, origin=None)
        case "tool":
            results = [part for part in message.parts if isinstance(part, ToolResult)]
            words = "\n\n".join(_told(result) for result in results)
            pictures = [p for result in results for p in result.parts if isinstance(p, Image)]
            return Message(role="user", parts=(Text(text=words), *pictures))
        case _:
            return message


def _line(name: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False)


def _told(result: ToolResult) -> str:
    failed = f" failed ({result.error})" if result.error else ""
    return f"Result of {result.name}{failed}:\n{result.text or '(no output)'}"


_SPEAKING = re.compile(r'\s*\{\s*"name"\s*:\s*"answer"\s*,\s*"arguments"\s*:\s*\{\s*"text"\s*:\s*"')
_WHOLE = re.compile(
    r'(?:[^"\\]|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))*"
)


@dataclass
class Reading:
    """Reads a reply while it streams, so that an answer's words are shown as they come."""

    typed: str = ""
    words: str = ""

    def feed(self, piece: str) -> str:
        """The words of the answer that this piece of JSON brought, if any."""
        self.typed += piece
        begin = _SPEAKING.match(self.typed)
        whole = _WHOLE.match(self.typed, begin.end()) if begin else None
        if whole is None:
            return ""
        known, self.words = self.words, str(json.loads(f'"{whole[0]}"', strict=False))
        return self.words[len(known) :]

    def parts(self, new_id: NewId) -> tuple[Part, ...]:
        """The reply. What is no such JSON object is an answer as it stands."""
        value = _json_object(self.typed) or {}
        name, arguments = value.get("name"), value.get("arguments")
        if isinstance(name, str) and isinstance(arguments, dict) and name != ANSWER:
            return (ToolCall(id=f"call_{new_id()}", name=name, arguments=arguments),)
        if isinstance(arguments, dict) and name == ANSWER:
            words = str(arguments.get("text", ""))
        else:
            words = self.words or self.typed.strip()
        return (Text(text=words),) if words else ()


def _json_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text; servers without schemas wrap it in prose or a fence."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
