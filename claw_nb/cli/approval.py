"""Asking before harm on a terminal: what is to be done, and a typed yes or no."""

from __future__ import annotations

import asyncio
import os
import sys

import click

from claw_nb.core.events import ApprovalRequest
from claw_nb.core.protocols import Answer, Approve

_QUESTION = "Allow? [y]es, for this [s]ession, [n]o [n]: "


def asking(*, timeout: float) -> Approve:
    """The function that the agent calls before a tool may run; ``timeout`` seconds of silence are a no."""

    async def approve(request: ApprovalRequest) -> Answer:
        click.secho(f"\n{request.call.name}: {request.reason}", err=True, bold=True)
        given = [f"{name}: {value}" for name, value in request.call.arguments.items()]
        click.echo(request.preview or "\n".join(given), err=True)
        click.echo(_QUESTION, nl=False, err=True)
        try:
            async with asyncio.timeout(timeout):
                typed = (await _line()).strip().lower()
        except TimeoutError:
            click.echo(err=True)
            why = f"nobody answered within {timeout:g} seconds"
            return Answer(decision="denied", by="the clock", why=why)
        if typed in ("y", "yes"):
            return Answer(decision="once", by="terminal")
        if typed in ("s", "session"):
            return Answer(decision="session", by="terminal")
        return Answer(decision="denied", by="terminal")

    return approve


async def _line() -> str:
    """A line from the terminal. A thread that waits for one would outlive Ctrl-C, until Enter."""
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
    typed: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        loop.remove_reader(terminal)
        typed.set_result(os.read(terminal, 4096))

    try:
        loop.add_reader(terminal, read)
    except NotImplementedError:  # Windows
        return await asyncio.to_thread(sys.stdin.readline)
    try:
        return (await typed).decode(errors="replace")
    finally:
        loop.remove_reader(terminal)
