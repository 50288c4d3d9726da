"""``claw ask``: one question on the command line, answered as it comes."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from claw_nb.cli.approving import at_the_terminal
from claw_nb.cli.lines import is_terminal
from claw_nb.cli.options import asking, work_here
from claw_nb.cli.screen import Screen
from claw_nb.core.errors import InvalidInput
from claw_nb.core.events import Event, RunFailed, RunFinished, TextAdded, ThinkingAdded
from claw_nb.core.invisible import visible_json
from claw_nb.core.redact import redact_json
from claw_nb.core.unfolding import Unfolding
from claw_nb.core.wire import to_json
from claw_nb.workspace import Workspace

EXIT = {"cancelled": 130}


@click.command()
@click.argument("question", nargs=-1)
@asking
@click.option("--session", help="Go on with this session (see `claw sessions list`).")
@click.option("--continue", "resume", is_flag=True, help="Go on with this folder's last session.")
@click.option("--json", "as_json", is_flag=True, help="Show the run's events, one JSON a line.")
@click.pass_context
def ask(
    ctx: click.Context, /, question: tuple[str, ...], folder: Path | None, session: str | None,
    resume: bool, grant: tuple[str, ...], as_json: bool, **chosen: object,
) -> None:  # fmt: skip
    """Ask the agent one QUESTION (or pipe it in).

    A fresh session answers, unless --session or --continue names one. The exit code tells
    success: 0 answered, 1 failed, 130 stopped.
    """
    prompt = _prompt(question)
    work = work_here(ctx, folder, **chosen)
    if resume and session is None:
        session = last_session(work)
    code = asyncio.run(
        _ask(work, prompt, as_json=as_json, session=session, new=not resume, grant=grant)
    )
    ctx.exit(code)


def last_session(work: Workspace) -> str | None:
    """The id of the session that was last used in this folder, by `claw ask` or `claw chat`."""
    keys = (f"cli:{work.root}", f"chat:{work.root}")
    found = [work.store.sessions.latest(key, work.settings.agent) for key in keys]
    latest = max((head for head in found if head), key=lambda head: head.updated, default=None)
    return latest.id if latest else None


def _prompt(question: tuple[str, ...]) -> str:
    words = " ".join(question)
    piped = "" if sys.stdin is None or is_terminal() else sys.stdin.read()
    prompt = "\n\n".join(part for part in (words, piped.strip()) if part)
    if not prompt:
        raise InvalidInput("there is no question", hint='Try: claw ask "what can you do?"')
    return prompt


async def _ask(work: Workspace, prompt: str, *, as_json: bool, **given: Any) -> int:
    screen = _Lines().show if as_json else Screen().show
    code = 1
    asks = not as_json and is_terminal()
    approve = at_the_terminal(work.settings.approval_timeout) if asks else None
    events = work.ask(prompt, key=f"cli:{work.root}", approve=approve, **given)
    try:
        async with aclosing(events):
            async for event in events:
                screen(event)
                match event:
                    case RunFinished():
                        code = 0
                    case RunFailed(kind=kind):
                        code = EXIT.get(kind, 1)
    except asyncio.CancelledError:
        code = EXIT["cancelled"]
    finally:
        work.close()
    return code


class _Lines:
    """The events as JSON lines. Words that come are passed on when no secret can begin in them."""

    def __init__(self) -> None:
        self._kind: type[TextAdded | ThinkingAdded] = TextAdded
        self._coming = Unfolding()

    def show(self, event: Event) -> None:
        """Print an event, after the words that were held back before it."""
        if isinstance(event, (TextAdded, ThinkingAdded)):
            if type(event) is not self._kind:
                self._print_words(self._coming.rest())
            self._kind = type(event)
            self._print_words(self._coming.add(event.text))
            return
        self._print_words(self._coming.rest())
        self._print(event)

    def _print_words(self, text: str) -> None:
        if text:
            self._print(self._kind(text=text))

    @staticmethod
    def _print(event: Event) -> None:
        record = redact_json({"event": type(event).__name__} | to_json(event))
        click.echo(visible_json(json.dumps(record, ensure_ascii=False, default=str)))
