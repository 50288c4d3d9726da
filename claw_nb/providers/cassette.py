"""The file of recorded answers: JSON lines, each request written once and no secret in them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Usage
from claw_nb.core.protocols import ModelRequest, Reply
from claw_nb.core.redact import redact, redact_json
from claw_nb.core.wire import message_from_json, to_json
from claw_nb.providers.normal import Folders, Normal, digest, mapped

VERSION = 1

SUFFIX = ".cassette.jsonl"
"""A notebook's recording is beside it: ``tour.ipynb``, ``tour.cassette.jsonl``."""

Match = Literal["conversation", "request"]
"""What must be as recorded: what was said and done, or the instructions and tools as well."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One recorded request and its answer. ``messages`` is the written conversation."""

    key: str
    take: int
    model: str
    system: str
    tools: str
    hashes: tuple[str, ...]
    messages: tuple[Mapping[str, Any], ...]
    answer: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it is compared."""

    model: str
    system: str
    tools: list[Any]
    messages: list[dict[str, Any]]
    match: Match = "conversation"

    @property
    def hashes(self) -> tuple[str, ...]:
        """A hash for each message."""
        return tuple(map(digest, self.messages))

    @property
    def key(self) -> str:
        """What the answer is found by."""
        more = [digest(self.system), digest(self.tools)] if self.match == "request" else []
        return digest([self.model, *self.hashes, *more])


@dataclass(kw_only=True)
class Cassette:
    """One file. What is recorded later goes before what was recorded earlier."""

    path: Path
    folders: Folders = field(default_factory=Folders)
    _known: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _begun: bool = False

    @property
    def normal(self) -> Normal:
        """How requests are written down."""
        return Normal(folders=self.folders)

    def asked(self, request: ModelRequest, *, match: Match = "conversation") -> Asked:
        """A request in the form in which it is compared."""
        normal = self.normal
        return Asked(
            model=request.model,
            system=normal.text(request.system),
            tools=[normal.value(tool) for tool in request.tools],
            messages=normal.messages(request.messages),
            match=match,
        )

    # -- recording -----------------------------------------------------------------------------

    def record(self, provider: str, asked: Asked, answer: Reply | ProviderError) -> None:
        """Append a request and what came of it; raises ProviderError when the file can't be."""
        with self._lock:
            new: list[dict[str, Any]] = []
            if not self._begun:
                self._known = {value.get("id", "") for value in self._lines(missing="empty")}
                new.append({"type": "take", "version": VERSION, "provider": provider,
                            "model": asked.model})  # fmt: skip
            values: tuple[Any, ...] = (asked.system, asked.tools, *asked.messages)
            ids = [digest(value) for value in values]
            for id_, value in zip(ids, values, strict=True):
                if id_ not in self._known:
                    self._known.add(id_)
                    new.append({"type": "value", "id": id_, "value": value})
            new.append({"type": "call", "provider": provider, "model": asked.model, "system": ids[0], "tools": ids[1],
                        "messages": ids[2:], "answer": self._written(answer)})  # fmt: skip
            self._append(new)
            self._begun = True

    def _written(self, answer: Reply | ProviderError) -> Any:
        """An answer without what fits no other machine: raw blocks, paths, secrets."""
        if isinstance(answer, ProviderError):
            told = {"kind": answer.kind, "message": answer.message, "hint": answer.hint}
            return {"error": {name: redact(str(text)) for name, text in told.items()}}
        origin = answer.message.origin
        message = to_json(answer.message)
        if origin is not None:
            message["origin"] = {"provider": origin.provider, "model": origin.model}
        given = {"message": message, "stop": answer.stop, "usage": to_json(answer.usage)}
        return redact_json(mapped(given, self.folders.hidden))

    def _append(self, new: list[dict[str, Any]]) -> None:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in new)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                rest = memoryview(text.encode())
                while rest:
                    rest = rest[os.write(handle, rest) :]
            finally:
                os.close(handle)
        except OSError as error:
            raise ProviderError(
                f"the answer cannot be recorded in {self.path}: {error.strerror or error}",
                kind="replay",
                hint="Choose another file with CLAW_CASSETTE, or ask without --record.",
            ) from error

    # -- reading -------------------------------------------------------------------------------

    def calls(self, *, match: Match = "conversation") -> tuple[Call, ...]:
        """Every recorded call in order; raises ProviderError when there is no recording."""
        values: dict[str, Any] = {}
        found: list[Call] = []
        take = 0
        for line in self._lines(missing="refuse"):
            match line.get("type"):
                case "take":
                    take += 1
                case "value":
                    values[line["id"]] = line["value"]
                case "call":
                    found.append(_call(line, values, take, match))
        return tuple(found)

    def model(self, provider: str) -> str:
        """The model that answered first, of that provider if it answered; "" without answers."""
        calls = [line for line in self._lines(missing="empty") if line["type"] == "call"]
        ours = [line for line in calls if line["provider"] == provider]
        return next((str(line["model"]) for line in [*ours, *calls]), "")

    def reply(self, answer: Mapping[str, Any]) -> Reply:
        """A recorded answer; it costs nothing. A recorded failure is raised."""
        given = mapped(answer, self.folders.shown)
        if "error" in given:
            raise ProviderError(**given["error"])
        usage = {
            name: given["usage"].get(name, 0)
            for name in ("input", "output", "cache_read", "cache_write")
        }
        return Reply(
            message=message_from_json(given["message"]),
            stop=given["stop"],
            usage=Usage(**usage, cost=0.0),
        )

    def _lines(self, *, missing: Literal["empty", "refuse"]) -> list[dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8")
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except FileNotFoundError as error:
            if missing == "empty":
                return []
            raise ProviderError(
                f"there is no recording at {self.path}",
                kind="replay",
                hint="Record one: run the notebook with CLAW_REPLAY=record, or ask with --record.",
            ) from error
        except (OSError, ValueError) as error:
            raise ProviderError(
                f"the recording {self.path} cannot be read: {error}",
                kind="replay",
                hint="Delete it and record again.",
            ) from error


def _call(line: Mapping[str, Any], values: Mapping[str, Any], take: int, match: Match) -> Call:
    try:
        asked = Asked(
            model=line["model"],
            system=values[line["system"]],
            tools=values[line["tools"]],
            messages=[values[id_] for id_ in line["messages"]],
            match=match,
        )
        return Call(
            key=asked.key,
            take=take,
            model=asked.model,
            system=asked.system,
            tools=json.dumps(asked.tools, ensure_ascii=False, sort_keys=True),
            hashes=asked.hashes,
            messages=tuple(asked.messages),
            answer=line["answer"],
        )
    except KeyError as error:
        raise ProviderError(
            f"the recording is not whole: {error} is missing",
            kind="replay",
            hint="Delete it and record again.",
        ) from error
