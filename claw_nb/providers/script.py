"""The file form of a script: turns in YAML or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from claw_nb.core.errors import ConfigError, ProviderError, ProviderErrorKind
from claw_nb.core.messages import Message, StopReason, ToolCall, ToolResult, Usage
from claw_nb.core.protocols import ModelRequest


@dataclass(frozen=True, kw_only=True)
class Expect:
    """What a turn expects of its request; empty fields expect nothing.

    ``user`` and ``tool_result`` are parts of the last such text, ``system`` of the system prompt;
    ``tools`` are names that must be offered.
    """

    user: str = ""
    tool_result: str = ""
    system: str = ""
    tools: tuple[str, ...] = ()

    def check(self, request: ModelRequest, turn: int) -> None:
        """Raise ProviderError when the request isn't as expected."""
        if self == _NOTHING:
            return
        offered = {tool.name for tool in request.tools}
        missing = [name for name in self.tools if name not in offered]
        found = {
            "user": _last(request.messages, "user"),
            "tool_result": _last(request.messages, "tool"),
            "system": request.system,
        }
        wrong = [
            f"{part} holds {text[:200]!r}, not {wanted!r}"
            for part, text in found.items()
            if (wanted := getattr(self, part)) and wanted not in text
        ]
        if missing:
            wrong.append(f"the tools {', '.join(missing)} are not offered")
        if wrong:
            raise ProviderError(
                f"turn {turn} of the script expected another request: {'; '.join(wrong)}",
                kind="bad_request",
                hint="Change the script's `expect`, or what is asked.",
            )


_NOTHING = Expect()


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of the script. ``pause`` is in seconds, before each piece of text.

    A call without an id gets one. ``stop`` is ``tool_use`` with calls and ``end`` without, if it
    isn't given. With ``error`` the rest is not said.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason | None = None
    usage: Usage = field(default_factory=lambda: Usage(cost=0.0))
    error: ProviderError | None = None
    pause: float = 0.0
    expect: Expect = field(default_factory=Expect)


def read_script(path: Path) -> tuple[Turn, ...]:
    """Read a script; raises ConfigError that names the file and the turn.

    The file holds ``turns``, a list of texts or of objects with the fields of Turn::

        turns:
          - thinking: The frame is called df.
            calls:
              - {name: inspect_variable, arguments: {name: df}}
            expect: {user: describe, tools: [inspect_variable]}
          - error: {kind: overloaded, message: busy, retry_after: 0.1}
          - It has **344** rows.
    """
    try:
        text = path.read_text(encoding="utf-8")
        given = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(
            f"the script {path} cannot be read: {error.strerror or error}",
            hint="Set it with CLAW_SCRIPT or `claw config set provider.script PATH`.",
        ) from error
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(
            f"the script {path} is not valid {path.suffix.lstrip('.') or 'YAML'}: {error}",
            hint="Mend that place.",
        ) from error
    turns = given.get("turns") if isinstance(given, Mapping) else None
    if not isinstance(turns, list):
        raise ConfigError(f"the script {path} has no list of `turns`", hint=_FORM)
    return tuple(_turn(turn, f"{path}, turn {n}") for n, turn in enumerate(turns, start=1))


_FORM = "A turn is a text, or an object with " + ", ".join(Turn.__dataclass_fields__) + "."


def _turn(given: object, where: str) -> Turn:
    if isinstance(given, str):
        return Turn(text=given)
    fields = _fields(given, Turn, where)
    try:
        if "calls" in fields:
            fields["calls"] = tuple(_call(call, where) for call in fields["calls"])
        if "usage" in fields:
            fields["usage"] = Usage(**_fields(fields["usage"], Usage, where))
        if "error" in fields:
            fields["error"] = _error(fields["error"], where)
        if "expect" in fields:
            expect = _fields(fields["expect"], Expect, where)
            fields["expect"] = Expect(**expect | {"tools": tuple(expect.get("tools", ()))})
    except TypeError as error:
        raise ConfigError(f"{where}: {error}", hint=_FORM) from error
    if fields.get("stop") not in (None, *get_args(StopReason)):
        raise ConfigError(
            f"{where}: {fields['stop']!r} is no stop",
            hint=f"It is one of {', '.join(get_args(StopReason))}.",
        )
    return Turn(**fields)


def _call(given: object, where: str) -> ToolCall:
    return ToolCall(**{"id": ""} | _fields(given, ToolCall, where))


def _error(given: object, where: str) -> ProviderError:
    if not isinstance(given, Mapping) or given.get("kind") not in get_args(ProviderErrorKind):
        raise ConfigError(
            f"{where}: an error needs a kind",
            hint=f"It is one of {', '.join(get_args(ProviderErrorKind))}.",
        )
    rest = {str(key): value for key, value in given.items()}
    return ProviderError(str(rest.pop("message", rest["kind"])), **rest)


def _fields(given: object, kind: type, where: str) -> dict[str, Any]:
    known = tuple(kind.__dataclass_fields__)  # type: ignore[attr-defined]  # a dataclass
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: {given!r} is no object", hint=_FORM)
    unknown = sorted(str(key) for key in given if key not in known)
    if unknown:
        raise ConfigError(
            f"{where}: nothing is called {', '.join(unknown)} here",
            hint=f"Known are {', '.join(known)}.",
        )
    return {str(key): value for key, value in given.items()}


def _last(messages: Sequence[Message], role: str) -> str:
    """The text of the last message of a role."""
    for message in reversed(messages):
        if message.role == role:
            results = [part.text for part in message.parts if isinstance(part, ToolResult)]
            return "\n".join(results) if results else message.text
    return ""
