"""One message's tool calls: at the same time where they may, one by one where they must."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from claw_nb.agent import approval
from claw_nb.agent.results import Keep, shortened
from claw_nb.core.errors import ToolError
from claw_nb.core.events import (
    ApprovalRequest,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    ToolFinished,
    ToolStarted,
)
from claw_nb.core.messages import Text, ToolCall, ToolResult, interrupted
from claw_nb.core.progress import telling
from claw_nb.core.protocols import Answer, Approve, StandingRules
from claw_nb.core.tools import Tool, ToolOutput, check_arguments


@dataclass
class Batch:
    """The calls of one assistant message; after ``events`` every call has its result."""

    tools: Mapping[str, Tool]
    calls: Sequence[ToolCall]
    approve: Approve
    grant: frozenset[str]
    allowed: set[str]
    rules: StandingRules | None = None
    limit: int = 64_000
    keep: Keep | None = None
    results: dict[str, ToolResult] = field(default_factory=dict)
    _begun: dict[str, float] = field(default_factory=dict)
    _events: asyncio.Queue[Event | None] = field(default_factory=asyncio.Queue)
    _unseen: dict[int, asyncio.Future[None]] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the calls and tell what happens; a cancellation leaves no call running."""
        work = asyncio.create_task(self._work())
        try:
            while (event := await self._events.get()) is not None:
                yield event
                seen = self._unseen.pop(id(event), None)
                if seen is not None and not seen.done():
                    seen.set_result(None)
            await work
        finally:
            if not work.done():
                work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    def left(self) -> list[Event]:
        """What happened that nobody has read yet, for a run that was cancelled."""
        rest: list[Event] = []
        while not self._events.empty():
            event = self._events.get_nowait()
            if event is not None:
                rest.append(event)
        return rest

    def ordered(self) -> tuple[ToolResult, ...]:
        """A result for each call, in the calls' order."""
        return tuple(self.results.get(call.id) or interrupted(call) for call in self.calls)

    async def _work(self) -> None:
        try:
            known = [self.tools.get(call.name) for call in self.calls]
            if len(self.calls) == 1 or any(tool and tool.sequential for tool in known):
                for call in self.calls:
                    await self._one(call)
            else:
                async with asyncio.TaskGroup() as group:
                    for call in self.calls:
                        group.create_task(self._one(call))
        finally:
            self._events.put_nowait(None)

    async def _one(self, call: ToolCall) -> None:
        self._begun[call.id] = time.perf_counter()
        try:
            tool = self._find(call.name)
            arguments = check_arguments(tool, call.arguments)
            if not await self._may(tool, call, arguments):
                return
            resource = tool.resource(arguments) if tool.resource else None
            lock = self._locks.setdefault(resource, asyncio.Lock()) if resource else None
            if lock is None:
                output = await self._run(tool, call, arguments)
            else:
                async with lock:
                    output = await self._run(tool, call, arguments)
            parts = (Text(text=output),) if isinstance(output, str) else output.parts
            parts = await shortened(call.name, parts, limit=self.limit, keep=self.keep)
            result = ToolResult(call_id=call.id, name=call.name, parts=parts)
        except ToolError as error:
            result = failed(call, error)
        except asyncio.CancelledError:
            me = asyncio.current_task()
            if me is None or me.cancelling():
                self._finish(call, interrupted(call))
                raise
            # Nobody stopped the run: the tool waited for something that was cancelled.
            text = f"{call.name} broke: what it waited for was cancelled"
            result = failed(call, ToolError(text, kind="system"))
        except Exception as error:  # noqa: BLE001 - a tool's bug must not end the run
            text = f"{call.name} broke: {type(error).__name__}: {error}"
            result = failed(call, ToolError(text, kind="system"))
        self._finish(call, result)

    async def _run(self, tool: Tool, call: ToolCall, arguments: dict[str, Any]) -> str | ToolOutput:
        # A person's time to think is not the tool's.
        self._begun[call.id] = time.perf_counter()
        await self._told(ToolStarted(call=call, effect=tool.effect))
        with telling(call.id, self._events.put_nowait):
            return await tool.run(**arguments)

    async def _told(self, event: Event) -> None:
        """Tell of something that is about to happen, and wait until everybody has heard it.

        So it is on the disk before a tool or a person can do anything.
        """
        seen = self._unseen[id(event)] = asyncio.get_running_loop().create_future()
        self._events.put_nowait(event)
        await seen

    def _finish(self, call: ToolCall, result: ToolResult) -> None:
        self.results[call.id] = result
        took = (time.perf_counter() - self._begun[call.id]) * 1000
        self._events.put_nowait(ToolFinished(call=call, result=result, ms=took))

    def _find(self, name: str) -> Tool:
        tool = self.tools.get(name)
        if tool is None:
            near = get_close_matches(name, self.tools, n=1)
            raise ToolError(
                f"there is no tool named {name!r}",
                kind="not_found",
                hints=(
                    *(f"Did you mean {match!r}?" for match in near),
                    f"The tools are: {', '.join(sorted(self.tools)) or 'none'}.",
                ),
            )
        return tool

    def _covered(self, tool: Tool, request: ApprovalRequest) -> bool:
        """Whether an earlier yes holds for this call. Nothing but its own yes lets a risky one run."""
        if request.risky:
            return False
        if tool.name in self.grant or tool.name in self.allowed:
            return True
        rule = self.rules.covering(request) if self.rules else None
        if rule is None:
            return False
        reach, words = rule
        self._events.put_nowait(
            ApprovalResolved(request=request, decision=reach, by="a rule", why=words)
        )
        return True

    async def _may(self, tool: Tool, call: ToolCall, arguments: dict[str, Any]) -> bool:
        said = approval.review(tool, arguments)
        if said.verdict == "deny":
            raise approval.refusal(said)
        if said.verdict == "allow":
            return True
        request = approval.request_for(tool, call, arguments, said)
        if self._covered(tool, request):
            return True
        # One question at a time: two open questions in one cell would confuse.
        async with self._asking:
            if self._covered(tool, request):
                return True
            await self._told(ApprovalRequested(request=request))
            answer = await self.approve(request)
            self._events.put_nowait(
                ApprovalResolved(
                    request=request, decision=answer.decision, by=answer.by, why=answer.why
                )
            )
            if answer.decision in ("session", "tool", "path") and not said.risky:
                self._keep(tool, request, answer)
        if answer.decision == "denied":
            self.results[call.id] = denied(call, answer.why)
            self._events.put_nowait(ToolFinished(call=call, result=self.results[call.id], ms=0.0))
            return False
        return True

    def _keep(self, tool: Tool, request: ApprovalRequest, answer: Answer) -> None:
        if self.rules is not None:
            self.rules.keep(request, answer)
        elif answer.decision != "path":
            self.allowed.add(tool.name)


def denied(call: ToolCall, why: str) -> ToolResult:
    """What the model is told when a person says no."""
    text = "The user did not allow this call."
    if why:
        text += f" Reason: {why}"
    text += "\nDo not repeat it; ask the user or go on without it."
    return ToolResult(call_id=call.id, name=call.name, parts=(Text(text=text),), error="denied")


def failed(call: ToolCall, error: ToolError) -> ToolResult:
    """What the model is told of a failure: the error, its kind and how to recover."""
    lines = [f"Error: {error.message}", f"Error kind: {error.kind}"]
    if error.hints:
        lines += ["Recovery hints:", *(f"- {hint}" for hint in error.hints)]
    part = Text(text="\n".join(lines))
    return ToolResult(call_id=call.id, name=call.name, parts=(part,), error=error.kind)
