"""A request in a form that is the same on another day, in another folder, on another machine."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claw_nb.core.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from claw_nb.core.redact import redact
from claw_nb.core.wire import to_json

_MASKS = (
    (re.compile(r"\S*ipykernel_\d+[/\\]\d+\.py"), "<cell>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I), "<id>"),
    # Ids of ours, whole and as they are shown: time comes first, so they begin with a zero.
    (re.compile(r"\b0[0-9a-f]{31}\b|\b0[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b", re.I), "<address>"),
    (
        re.compile(
            r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
        ),
        "<time>",
    ),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (
        re.compile(r"\b\d+(?:\.\d+)? ?(?:ns|µs|μs|us|ms)\b|\b\d+\.\d+ ?(?:s|sec|seconds)\b"),
        "<span>",
    ),
    (re.compile(r"\b(pid)([ =:]+)\d+\b"), r"\1\2<n>"),
)
"""What differs between two runs of the same notebook."""


@dataclass(frozen=True, kw_only=True)
class Folders:
    """The folders that have other paths elsewhere, by the names that stand for them."""

    named: Mapping[str, Path] = field(default_factory=dict)

    def hidden(self, text: str) -> str:
        """The text with names in place of paths."""
        for path, name in self._paths():
            if path in text:
                text = text.replace(path, name)
        return text

    def shown(self, text: str) -> str:
        """The text with this machine's paths in place of names."""
        for name, path in self.named.items():
            text = text.replace(f"<claw:{name}>", str(path))
        return text

    def _paths(self) -> list[tuple[str, str]]:
        found = {
            str(form): f"<claw:{name}>"
            for name, path in self.named.items()
            for form in (path, path.resolve())
            if len(form.parts) > 1
        }
        # A folder inside another goes first.
        return sorted(found.items(), key=lambda pair: -len(pair[0]))


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every string changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {str(key): mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mapped(item, change) for item in value]
    return value


@dataclass(frozen=True, kw_only=True)
class Normal:
    """Writes requests down so that ids, times and places do not matter, and no secret is in them."""

    folders: Folders

    def text(self, text: str) -> str:
        """One text."""
        text = redact(self.folders.hidden(text))
        for pattern, name in _MASKS:
            text = pattern.sub(name, text)
        return text

    def value(self, value: Any) -> Any:
        """A JSON value."""
        return mapped(to_json(value), self.text)

    def messages(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """A conversation; calls are counted from 1, for each provider makes up its own ids."""
        numbers: dict[str, int] = {}
        written = []
        for message in messages:
            parts = [self._part(part, numbers) for part in message.parts]
            written.append(
                {"role": message.role, "parts": [part for part in parts if part is not None]}
            )
        return written

    def _part(self, part: Part | Text | Image, numbers: dict[str, int]) -> dict[str, Any] | None:
        match part:
            case Text(text=text):
                return {"text": self.text(text)}
            case Image(media_type=kind):
                # The same plot has other bytes where other fonts are.
                return {"image": kind}
            case ToolCall(id=call_id, name=name, arguments=arguments):
                number = numbers.setdefault(call_id, len(numbers) + 1)
                return {"call": number, "name": name, "arguments": self.value(arguments)}
            case ToolResult(call_id=call_id, name=name, error=error):
                number = numbers.setdefault(call_id, len(numbers) + 1)
                inner = [self._part(piece, numbers) for piece in part.parts]
                head = {"result": number, "name": name}
                return head | ({"error": error} if error else {}) | {"parts": inner}
            case Thinking():
                return None


def digest(value: Any) -> str:
    """A short hash of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def lines(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """A written conversation as lines to compare."""
    shown: list[str] = []
    for message in messages:
        for part in message["parts"]:
            if "text" in part:
                shown += [
                    f"{message['role']}: {line}" for line in part["text"].splitlines() or [""]
                ]
            elif "call" in part:
                given = json.dumps(part["arguments"], ensure_ascii=False, sort_keys=True)
                shown.append(f"call {part['call']}: {part['name']} {given}")
            elif "result" in part:
                head = f"result {part['result']}"
                head += f" ({part['error']})" if part.get("error") else ""
                texts = [p.get("text", f"[{p.get('image')}]") for p in part["parts"]]
                shown += [f"{head}: {line}" for text in texts for line in text.splitlines()]
            elif "image" in part:
                shown.append(f"{message['role']}: [{part['image']}]")
    return shown
