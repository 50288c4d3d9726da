"""What a run says while it goes: kept line by line, and summed up as its outcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from claw_nb.core.clock import Clock
from claw_nb.core.redact import redact, redact_json
from claw_nb.store.runs import Outcome

Status = Literal["success", "error", "cancelled"]
Reason = tuple[Status, str]

_LONGEST_RESULT = 20_000


@dataclass(kw_only=True)
class Listener:
    """Keeps what a run says in its log, and remembers what its outcome needs."""

    log: Any
    clock: Clock
    facts: dict[str, Any] = field(default_factory=dict)
    kernels: list[int] = field(default_factory=list)
    answer: str = ""
    errors: str = ""

    def note(self, event: Mapping[str, Any]) -> None:
        """One line of the log; secrets are masked."""
        line = {"ts": self.clock(), **redact_json(event)}
        self.log.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        self.log.flush()

    async def hear(self, stream: asyncio.StreamReader) -> None:
        """Take the run's events as they come."""
        while line := await stream.readline():
            text = line.decode(errors="replace").strip()
            try:
                event = json.loads(text)
            except ValueError:
                event = {"event": "stdout", "text": text}
            if isinstance(event, dict):
                self._remember(event)
                self.note(event)

    async def hear_errors(self, stream: asyncio.StreamReader) -> None:
        """Take what the process itself complains about."""
        while line := await stream.readline():
            text = line.decode(errors="replace").rstrip()
            self.errors = f"{self.errors}\n{text}"[-2000:]
            self.note({"event": "stderr", "text": text})

    def _remember(self, event: dict[str, Any]) -> None:
        match event:
            case {"event": "kernel.started", "pid": int(pid)}:
                self.kernels.append(pid)
            case {"event": "saved", **paths}:
                self.facts |= paths
            case {"event": "finished", **facts}:
                self.facts |= facts
            case {"event": "RunStarted", "session_id": session}:
                self.facts["session_id"] = session
            case {"event": "MessageAdded", "message": {"role": "assistant", "parts": parts}}:
                words = [part["text"] for part in parts if part.get("type") == "text"]
                self.answer = "".join(words) or self.answer
            case {"event": "RunFinished"}:
                self.facts |= {"status": "success", "result": self.answer or "Completed"}
            case {"event": "RunFailed", "error": error}:
                self.facts |= {"status": "error", "error": error}

    def outcome(self, code: int | None, *, reason: Reason | None) -> Outcome:
        """How it ended, from what was said and the exit code; ``reason`` when it was stopped."""
        status: Status = "success"
        error = self.facts.get("error")
        if reason is not None:
            status, error = reason
        elif self.facts.get("status") != "success" or code:
            status, error = "error", error or self._crash(code)
        result = self.facts.get("result")
        return Outcome(
            status=status,
            result=redact(result)[:_LONGEST_RESULT] if result else None,
            error=redact(error)[:_LONGEST_RESULT] if error else None,
            session_id=self.facts.get("session_id"),
            notebook=self.facts.get("notebook"),
            report=self.facts.get("report"),
        )

    def _crash(self, code: int | None) -> str:
        said = self.errors.strip().rpartition("\n")[2]
        how = f"was killed by signal {-code}" if code and code < 0 else f"ended with code {code}"
        return f"The run's process {how} before the run was done.{f' {said}' if said else ''}"
