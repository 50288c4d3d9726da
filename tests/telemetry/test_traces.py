"""Runs as OpenTelemetry traces, seen by a loopback collector that takes OTLP over HTTP."""

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from claw_nb import config
from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import ToolCall, Usage
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider
from claw_nb.workspace import Workspace

LOOK = ToolCall(id="c1", name="todo", arguments={"action": "list"})
USAGE = Usage(input=10, output=5, cache_read=3, cache_write=2, cost=0.25)


@contextmanager
def collector():
    """Collects the spans that are posted to it."""
    spans, paths = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            paths.append(self.path)
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", spans, paths
    finally:
        server.shutdown()
        server.server_close()


def values(attributes):
    def value(any_value):
        kind = any_value.WhichOneof("value")
        if kind == "array_value":
            return [value(item) for item in any_value.array_value.values]
        return getattr(any_value, kind)

    return {item.key: value(item.value) for item in attributes}


async def traced(home, tmp_path, *turns, **settings):
    """The spans of one run, by their names."""
    with collector() as (url, spans, paths):
        given = {"telemetry": "otlp", "telemetry_endpoint": url} | settings
        work = Workspace.open(home, settings=config.load(home, env={}, **given), root=tmp_path)
        work.provider = lambda _: ScriptedProvider(turns)
        events = [event async for event in work.ask("What is to do?", key="k")]
        work.close()
    assert set(paths) <= {"/v1/traces"}
    return events, spans


async def test_nothing_is_sent_unless_asked_for(home, tmp_path):
    _, spans = await traced(home, tmp_path, "hello", telemetry="off")
    assert spans == []


async def test_a_run_is_an_agent_span_with_its_turns_and_tools(home, tmp_path):
    events, spans = await traced(
        home,
        tmp_path,
        Turn(text="I look.", calls=(LOOK,), usage=USAGE),
        Turn(text="ok", usage=USAGE),
    )
    started = events[0]
    assert sorted(span.name for span in spans) == [
        f"chat {started.model}", f"chat {started.model}", "execute_tool todo", "invoke_agent main",
    ]  # fmt: skip
    by_name = {span.name: span for span in spans}
    agent, tool = by_name["invoke_agent main"], by_name["execute_tool todo"]
    assert {span.parent_span_id for span in spans} == {b"", agent.span_id}
    assert len({span.trace_id for span in spans}) == 1
    about = {
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": started.model,
        "gen_ai.agent.name": "main",
        "gen_ai.conversation.id": started.session_id,
    }
    assert values(agent.attributes) == about | {
        "gen_ai.operation.name": "invoke_agent",
        "claw.run.id": started.run_id,
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 6,
        "gen_ai.usage.cache_creation.input_tokens": 4,
        "claw.cost.usd": 0.5,
        "claw.stop": "end",
    }
    assert values(tool.attributes) == about | {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "todo",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "claw.tool.effect": "write",
    }
    chat = next(span for span in spans if values(span.attributes).get("claw.turn") == 1)
    assert chat.kind == chat.SPAN_KIND_CLIENT
    assert values(chat.attributes)["gen_ai.response.finish_reasons"] == ["tool_use"]
    assert values(chat.attributes)["gen_ai.usage.input_tokens"] == 15
    assert agent.start_time_unix_nano <= chat.start_time_unix_nano <= tool.start_time_unix_nano
    assert tool.end_time_unix_nano <= agent.end_time_unix_nano
    assert "I look." not in str(spans)


async def test_words_are_sent_only_when_asked_for_and_without_secrets(home, tmp_path):
    secret = "sk-ant-api03-" + "a1B2" * 10
    _, spans = await traced(
        home, tmp_path, Turn(text=f"I look with {secret}.", calls=(LOOK,)), "ok",
        telemetry_content=True,
    )  # fmt: skip
    told = str(spans)
    assert "I look with [REDACTED" in told
    assert secret not in told
    [tool] = [span for span in spans if span.name == "execute_tool todo"]
    assert values(tool.attributes)["gen_ai.tool.call.arguments"] == '{"action": "list"}'


async def test_failures_are_errors(home, tmp_path):
    wrong = ToolCall(id="c2", name="todo", arguments={"action": "complete", "id": 9})
    refused = ProviderError("the key is wrong", kind="auth")
    _, spans = await traced(home, tmp_path, Turn(calls=(wrong,)), refused)
    errors = {span.name: values(span.attributes).get("error.type") for span in spans}
    assert errors["execute_tool todo"] == "not_found"
    assert errors["invoke_agent main"] == "auth"
    [agent] = [span for span in spans if span.name == "invoke_agent main"]
    assert (agent.status.code, agent.status.message) == (2, "the key is wrong")


async def test_a_subagents_run_stands_inside_its_call(home, tmp_path):
    call = ToolCall(id="s1", name="subagent", arguments={"task": "Count."})
    _, spans = await traced(home, tmp_path, Turn(calls=(call,)), "3", "ok")
    tool = next(span for span in spans if span.name == "execute_tool subagent")
    inner = [span for span in spans if span.parent_span_id == tool.span_id]
    assert [span.name for span in inner] == ["invoke_agent main"]
    assert len({span.trace_id for span in spans}) == 1


async def test_an_approval_is_marked(home, tmp_path):
    write = ToolCall(id="c1", name="write_file", arguments={"path": "a", "content": "x"})
    _, spans = await traced(home, tmp_path, Turn(calls=(write,)), "ok")
    [agent] = [span for span in spans if span.name == "invoke_agent main"]
    assert [(event.name, values(event.attributes)) for event in agent.events] == [
        ("claw.approval",
         {"claw.tool": "write_file", "claw.decision": "denied", "claw.by": "headless"}),
        ("claw.tool.refused", {"claw.tool": "write_file", "claw.error": "denied"}),
    ]  # fmt: skip


async def test_a_collector_that_is_away_does_no_harm(home, tmp_path):
    settings = config.load(home, env={}, telemetry="otlp", telemetry_endpoint="http://127.0.0.1:9")
    work = Workspace.open(home, settings=settings, root=tmp_path)
    work.provider = lambda _: ScriptedProvider(["hello"])
    events = [event async for event in work.ask("hi", key="k")]
    work.close()
    assert type(events[-1]).__name__ == "RunFinished"


def test_the_standard_variable_names_the_collector(home, tmp_path, monkeypatch):
    pytest.importorskip("opentelemetry.sdk")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    from claw_nb.telemetry import over_otlp

    traces = over_otlp(None)
    traces.close()
