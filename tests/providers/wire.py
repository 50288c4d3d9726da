"""A loopback server that answers what a test tells it to, byte by byte, and sees who hangs up."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl


@dataclass(kw_only=True)
class Answer:
    """``chunks`` are sent one after the other; a number waits, None drops the connection."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    chunks: Sequence[bytes | float | None] = ()

    @staticmethod
    def json(status: int, body: Any, **headers: str) -> "Answer":
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return Answer(
            status=status,
            headers={"content-type": "application/json"} | given,
            chunks=[json.dumps(body).encode()],
        )


@dataclass(kw_only=True)
class Wire:
    answers: list[Answer]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = [line.split(": ", 1) for line in head.split("\r\n")[1:] if line]
            headers = {name.lower(): value for name, value in lines}
            self.headers.append(headers)
            self.paths.append(head.split(" ", 2)[1])
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            form = "form" in headers.get("content-type", "")
            self.asked.set()
            self.bodies.append(dict(parse_qsl(body.decode())) if form else json.loads(body))
            await self.send(self.answers.pop(0), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        finally:
            writer.close()

    async def send(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        headers |= answer.headers | {"connection": "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{lines}\r\n".encode())
        for chunk in answer.chunks:
            if chunk is None:
                await writer.drain()
                writer.transport.abort()
                return
            if isinstance(chunk, float):
                # Waiting for bytes that never come: what does come is the client's hanging up.
                try:
                    async with asyncio.timeout(chunk):
                        if await reader.read(1) == b"":
                            self.hung_up.set()
                            return
                except TimeoutError:
                    continue
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()


@asynccontextmanager
async def serve(*answers: Answer) -> AsyncIterator[Wire]:
    wire = Wire(answers=list(answers))
    server = await asyncio.start_server(wire.handle, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield wire
    finally:
        server.close()
        await server.wait_closed()


def claude(*, stop: str | None = "end_turn", blocks: Sequence[dict[str, Any]] = ()) -> list[bytes]:
    """The events of a message of Anthropic's; a block's text comes in one delta."""
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "content": [],
                "model": "claude-sonnet-5-5",
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 1,
                    "cache_read_input_tokens": 1000,
                    "cache_creation_input_tokens": 200,
                },
            },
        }
    ]
    for index, block in enumerate(blocks):
        events += _block(index, dict(block))
    if stop:
        events += [
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": 50},
            },
            {"type": "message_stop"},
        ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


def _block(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": block.pop("text")}]
        block["text"] = ""
    elif block["type"] == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": block.pop("thinking")},
            {"type": "signature_delta", "signature": block.pop("signature")},
        ]
        block |= {"thinking": "", "signature": ""}
    elif block["type"] == "tool_use":
        typed = block.pop("typed")
        half = len(typed) // 2
        deltas = [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in (typed[:half], typed[half:])
        ]
        block["input"] = {}
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def chat(
    *deltas: dict[str, Any], finish: str | None = "stop", usage: dict[str, Any] | None = None
) -> list[bytes]:
    """The chunks of a chat completion."""
    rows: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    if finish:
        rows.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        rows.append({"choices": [], "usage": usage})
    shared = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    sent = [f"data: {json.dumps(shared | row)}\n\n".encode() for row in rows]
    return [*sent, b"data: [DONE]\n\n"] if finish else sent


def respond(
    *items: dict[str, Any],
    end: str | None = "response.completed",
    deltas: Sequence[dict[str, Any]] = (),
    **response: Any,
) -> list[bytes]:
    """The events of the Responses API: deltas, then the finished items, then the response."""
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5.4",
        "output": [],
        "status": (end or "").removeprefix("response."),
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": 110,
        },
    } | response
    events: list[dict[str, Any]] = [{"type": "response.created", "response": whole}, *deltas]
    events += [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in enumerate(items)
    ]
    if end:
        events.append({"type": end, "response": whole})
    return [
        f"event: {event['type']}\ndata: {json.dumps(event | {'sequence_number': at})}\n\n".encode()
        for at, event in enumerate(events)
    ]


def spoken(text: str) -> dict[str, Any]:
    """A finished message of the Responses API."""
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
