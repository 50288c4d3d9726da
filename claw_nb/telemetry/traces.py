"""The stage that lets a run's events pass and makes spans of them, and where the spans go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span

from claw_nb.core.events import Event
from claw_nb.telemetry.spans import Content, RunSpans

_SECONDS = 5
"""How long one export may take: nobody waits longer for a collector that is away."""


class Traces:
    """One tracer of our own: what else in the process is traced, and where to, is not touched."""

    def __init__(self, processor: SpanProcessor, *, content: Content = "none") -> None:
        resource = Resource.create({"service.name": "claw_nb"})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("claw_nb")
        self._content = content
        self._calls: dict[str, Span] = {}

    @classmethod
    def over_otlp(cls, endpoint: str | None, *, content: Content = "none") -> Traces:
        """Traces for a collector, such as ``http://localhost:4318``."""
        url = f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None
        exporter = OTLPSpanExporter(endpoint=url, timeout=_SECONDS)
        return cls(BatchSpanProcessor(exporter), content=content)

    async def watch(
        self, events: AsyncIterator[Event], *, inside: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """Pass a run's events on unchanged; ``inside`` is the tool call that the run is part of."""
        parent = await self._open_call(inside) if inside else None
        spans = RunSpans(self._tracer, calls=self._calls, parent=parent, content=self._content)
        try:
            async for event in events:
                spans.feed(event)
                yield event
        finally:
            spans.close()
            # Closing this stage closes the one before it, at once and not when memory is freed.
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def _open_call(self, call_id: str) -> Span | None:
        """The span of a call that has just begun: the news of it may still be on its way here."""
        for _ in range(100):
            if call_id in self._calls:
                break
            await asyncio.sleep(0)
        return self._calls.get(call_id)

    def close(self) -> None:
        """Send what has not been sent yet."""
        self._provider.shutdown()
