"""A run as spans, named by OpenTelemetry's conventions for generative AI.

``invoke_agent`` holds a ``chat`` for each turn and an ``execute_tool`` for each tool call
(https://github.com/open-telemetry/semantic-conventions-genai). What is ours starts with ``claw.``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from claw_nb.core.events import (
    ApprovalResolved,
    Event,
    MessageAdded,
    ReminderAdded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    RunStarted,
    SubagentStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from claw_nb.core.messages import Message, Text, ToolCall, ToolResult, Usage
from claw_nb.core.redact import redact

Content = Literal["none", "full"]
"""Whether what was said and done stands in the spans: it may be private."""

_PROVIDERS = {"azure-openai": "azure.ai.openai", "codex-subscription": "openai"}
"""Our names for services that the conventions name otherwise."""


class RunSpans:
    """The spans of one run; ``calls`` holds the open ones of tool calls, for runs inside them."""

    def __init__(
        self, tracer: Tracer, *, calls: dict[str, Span], parent: Span | None, content: Content
    ) -> None:
        self._tracer = tracer
        self._calls = calls
        self._parent = parent
        self._content = content
        self._run: Span | None = None
        self._chat: Span | None = None
        self._mine: set[str] = set()
        self._about: dict[str, Any] = {}
        self._model = ""

    def feed(self, event: Event) -> None:
        """Begin, mark or end the span that an event belongs to."""
        match event:
            case RunStarted():
                self._begin(event)
            case TurnStarted():
                self._chat = self._child(
                    f"chat {self._model}", SpanKind.CLIENT, {"gen_ai.operation.name": "chat"}
                )
            case RetryScheduled(attempt=attempt, kind=kind, wait=wait):
                self._mark(self._chat, "claw.retry", attempt=attempt, kind=kind, wait=wait)
            case TurnFinished():
                self._answered(event)
            case MessageAdded(message=message):
                self._said(message)
            case ToolStarted(call=call, effect=effect):
                self._tool(call, effect)
            case ToolFinished(call=call, result=result):
                self._tool_done(call, result)
            case ApprovalResolved(request=request, decision=decision, by=by):
                tool = request.call.name
                self._mark(self._run, "claw.approval", tool=tool, decision=decision, by=by)
            case ReminderAdded(reason=reason):
                self._mark(self._run, "claw.reminder", reason=reason)
            case SubagentStarted(call_id=call_id, run_id=run_id):
                span = self._calls.get(call_id)
                if span is not None:
                    span.set_attribute("claw.subagent.run_id", run_id)
            case RunFinished(stop=stop, usage=usage):
                self._end(usage, **{"claw.stop": stop})
            case RunFailed(kind=kind, error=error, usage=usage):
                self._failed(self._run, kind, error)
                self._end(usage, **{"claw.stop": kind})
            case _:
                pass

    def close(self) -> None:
        """End what was left open: nobody reads the stream any more."""
        for call_id in list(self._mine):
            self._close_call(call_id)
        for span in (self._chat, self._run):
            if span is not None:
                span.end()
        self._chat = self._run = None

    def _begin(self, event: RunStarted) -> None:
        self._model = event.model
        self._about = {
            "gen_ai.provider.name": _PROVIDERS.get(event.provider, event.provider),
            "gen_ai.request.model": event.model,
            "gen_ai.agent.name": event.agent,
            "gen_ai.conversation.id": event.session_id,
        }
        context = set_span_in_context(self._parent) if self._parent is not None else None
        self._run = self._tracer.start_span(
            f"invoke_agent {event.agent}",
            context=context,
            kind=SpanKind.INTERNAL,
            attributes=self._about
            | {"gen_ai.operation.name": "invoke_agent", "claw.run.id": event.run_id},
        )

    def _child(self, name: str, kind: SpanKind, attributes: Mapping[str, Any]) -> Span:
        context = set_span_in_context(self._run) if self._run is not None else None
        return self._tracer.start_span(
            name, context=context, kind=kind, attributes={**self._about, **attributes}
        )

    def _answered(self, event: TurnFinished) -> None:
        span = self._chat
        if span is not None:
            span.set_attribute("gen_ai.response.finish_reasons", [event.stop])
            span.set_attribute("gen_ai.response.model", self._model)
            span.set_attribute("claw.turn", event.turn)
            span.set_attributes(_tokens(event.usage))
            if self._content == "none":
                self._close_chat()

    def _said(self, message: Message) -> None:
        """The message comes right after its turn: with content, the turn's span waits for it."""
        if self._chat is not None and message.role == "assistant":
            if self._content == "full":
                self._chat.set_attribute("gen_ai.output.messages", _content(message))
            self._close_chat()

    def _close_chat(self) -> None:
        if self._chat is not None:
            self._chat.end()
            self._chat = None

    def _tool(self, call: ToolCall, effect: str) -> None:
        self._close_chat()
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "claw.tool.effect": effect,
        }
        if self._content == "full":
            attributes["gen_ai.tool.call.arguments"] = _json(dict(call.arguments))
        self._calls[call.id] = self._child(
            f"execute_tool {call.name}", SpanKind.INTERNAL, attributes
        )
        self._mine.add(call.id)

    def _tool_done(self, call: ToolCall, result: ToolResult) -> None:
        span = self._calls.get(call.id)
        if span is None:
            # It was refused or denied, and so never began.
            self._mark(self._run, "claw.tool.refused", tool=call.name, error=str(result.error))
            return
        if self._content == "full":
            span.set_attribute("gen_ai.tool.call.result", redact(result.text))
        if result.error is not None:
            self._failed(span, result.error, "")
        self._close_call(call.id)

    def _close_call(self, call_id: str) -> None:
        self._mine.discard(call_id)
        span = self._calls.pop(call_id, None)
        if span is not None:
            span.end()

    def _failed(self, span: Span | None, kind: str, error: str) -> None:
        if span is not None:
            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR, redact(error) or kind))

    def _end(self, usage: Usage, **more: str) -> None:
        if self._run is not None:
            self._run.set_attributes(_tokens(usage) | more)
        self.close()

    def _mark(self, span: Span | None, name: str, **facts: Any) -> None:
        if span is not None:
            span.add_event(name, {f"claw.{key}": value for key, value in facts.items()})


def _tokens(usage: Usage) -> dict[str, Any]:
    # The conventions count cached tokens among those that were read.
    counts: dict[str, Any] = {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }
    if usage.cost is not None:
        counts["claw.cost.usd"] = usage.cost
    return counts


def _content(message: Message) -> str:
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case Text(text=text):
                parts.append({"type": "text", "content": text})
            case ToolCall(id=id_, name=name, arguments=arguments):
                parts.append(
                    {"type": "tool_call", "id": id_, "name": name, "arguments": dict(arguments)}
                )
            case _:
                continue
    return _json([{"role": message.role, "parts": parts}])


def _json(value: Any) -> str:
    return redact(json.dumps(value, ensure_ascii=False, default=str))
