"""Asking the person at the terminal whether a tool may run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

import click

from claw_nb.core.events import ApprovalRequest, Decision
from claw_nb.core.invisible import visible
from claw_nb.core.protocols import Answer, Approve

_WORDS: Mapping[Decision, str] = {
    "once": "[y]es",
    "session": "for this [s]ession",
    "tool": "always this [t]ool",
    "path": "always on this [p]ath",
}
_LETTERS: Mapping[str, Decision] = {"y": "once", "s": "session", "t": "tool", "p": "path"}


def at_the_terminal(seconds: float) -> Approve:
    """Ask on standard error and read a line; no answer in ``seconds`` is a no.

    Anything else than one of the offered letters is a no, and its reason.
    """

    async def approve(request: ApprovalRequest) -> Answer:
        # Nothing is cut or masked: a yes is to this very text.
        head = visible(f"{request.call.name}: {request.reason}")
        click.secho(f"\n{head}", err=True, bold=True)
        click.echo(visible(request.preview or _arguments(request)), err=True)
        if request.risky:
            click.echo("A call of this kind is asked about each time.", err=True)
        offered = _offered(request)
        choices = ", ".join(_WORDS[decision] for decision in offered)
        click.echo(f"Allow? {choices}, [N]o: ", err=True, nl=False)
        try:
            async with asyncio.timeout(seconds):
                said = (await _line()).strip()
        except TimeoutError:
            click.echo(err=True)
            why = f"nobody answered in {seconds:.0f} seconds"
            return Answer(decision="denied", by="the clock", why=why)
        return _answer(said, offered)

    return approve


def _arguments(request: ApprovalRequest) -> str:
    return "\n".join(f"{name}: {value}" for name, value in request.call.arguments.items())


def _offered(request: ApprovalRequest) -> tuple[Decision, ...]:
    """The ways to say yes: a risky call is asked about each time."""
    if request.risky:
        return ("once",)
    return ("once", "session", "tool", "path") if request.resource else ("once", "session", "tool")


def _answer(said: str, offered: tuple[Decision, ...]) -> Answer:
    word = said.lower()
    decision = _LETTERS.get("y" if word == "yes" else word)
    if decision in offered:
        return Answer(decision=decision, by="you")
    return Answer(decision="denied", by="you", why="" if word in ("", "n", "no") else said)


async def _line() -> str:
    """A line from the terminal; being cancelled takes nothing away from who reads next."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    try:
        loop.add_reader(sys.stdin.fileno(), ready.cancel)
    except NotImplementedError:  # Windows
        return await asyncio.to_thread(sys.stdin.readline)
    try:
        await asyncio.wait([ready])
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()
