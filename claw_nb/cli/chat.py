"""``claw chat``: a conversation in a terminal, which goes on where it was left."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import click

from claw_nb.cli.approving import at_the_terminal
from claw_nb.cli.lines import Read, entry, from_pipe, from_terminal, is_terminal
from claw_nb.cli.options import asking, work_here
from claw_nb.cli.screen import Screen
from claw_nb.core.counted import counted
from claw_nb.core.errors import ClawError
from claw_nb.core.events import RunFinished, RunStarted, SessionRotated
from claw_nb.core.invisible import visible
from claw_nb.core.protocols import Approve
from claw_nb.core.records import Session
from claw_nb.core.redact import redact
from claw_nb.workspace import Workspace

COMMANDS = {
    "/new": "begin a fresh session; the old one is kept",
    "/compact": "replace older turns by a summary in what the model reads",
    "/help": "list these commands",
    "/exit": "leave; so do /quit and Ctrl-D",
    "/quit": "leave",
}
Heard = Literal["done", "failed", "stopped", "leave"]
"""What came of an entry."""

_MORE = (
    "Ctrl-C stops an answer and keeps the session. A line that ends in \\ goes on, and so does "
    'text between """ and """.'
)


@click.command()
@asking
@click.option("--session", help="Go on with this session (see `claw sessions list`).")
@click.option("--new", is_flag=True, help="Begin a fresh session.")
@click.pass_context
def chat(
    ctx: click.Context, /, folder: Path | None, session: str | None, new: bool,
    grant: tuple[str, ...], **chosen: object,
) -> None:  # fmt: skip
    """Talk with the agent; this folder's last chat goes on.

    /new begins a fresh session, /compact summarises what is long ago, /help lists the commands,
    /exit leaves. Ctrl-C stops an answer and keeps the session. Lines that are piped in are
    answered one after the other; the exit code is then 1 when one of them failed.
    """
    work = work_here(ctx, folder, **chosen)
    work.provider(work.settings)  # what is missing is told before the first question
    person = is_terminal()
    with asyncio.Runner() as runner:
        talk = Chat(
            work=work,
            runner=runner,
            grant=grant,
            approve=at_the_terminal(work.settings.approval_timeout) if person else None,
        )
        try:
            talk.resume(session, fresh=new)
            ctx.exit(talk.with_a_person() if person else talk.with_a_pipe())
        finally:
            work.close()


@dataclass(kw_only=True)
class Chat:
    """A conversation in one folder. ``session`` is None until the first question of a fresh one."""

    work: Workspace
    runner: asyncio.Runner
    grant: tuple[str, ...] = ()
    approve: Approve | None = None
    session: Session | None = None
    _screen: Screen = field(default_factory=Screen)

    @property
    def key(self) -> str:
        """The place of this folder's chats."""
        return f"chat:{self.work.root}"

    def resume(self, wanted: str | None, *, fresh: bool) -> None:
        """Find the session to go on with, and say which it is."""
        sessions = self.work.store.sessions
        if wanted is not None:
            self.session = sessions.living(wanted)
        elif not fresh:
            self.session = sessions.latest(self.key, self.work.settings.agent)
        if self.session is None:
            say("A new session. /help lists the commands.")
            return
        head = self.session
        say(
            f"Session {head.id[:13]} goes on: {head.title} ({counted(head.messages, 'message')}). "
            "/new begins another, /help lists the commands."
        )

    def with_a_person(self) -> int:
        """Answer until the person leaves; returns the exit code."""
        read = from_terminal(tuple(COMMANDS), self._earlier())
        while True:
            try:
                text = entry(read, prompt="claw> ", more="....> ")
            except EOFError:
                click.echo(err=True)
                return 0
            except KeyboardInterrupt:
                click.echo("\n/exit or Ctrl-D leaves.", err=True)
                continue
            if self.hear(text) == "leave":
                return 0

    def with_a_pipe(self, read: Read = from_pipe) -> int:
        """Answer every entry that is piped in; returns the exit code."""
        code = 0
        while True:
            try:
                heard = self.hear(entry(read, prompt="", more=""))
            except EOFError:
                return code
            if heard == "leave":
                return code
            if heard == "stopped":
                return 130
            code = code or (1 if heard == "failed" else 0)

    def hear(self, text: str) -> Heard:
        """Do what an entry says: a command, or a question to the agent."""
        words = text.split()
        # A path is no command.
        if words and words[0].startswith("/") and "/" not in words[0][1:]:
            return self._command(words[0])
        return self._run(self._turn(text)) if words else "done"

    def _command(self, name: str) -> Heard:
        match name:
            case "/exit" | "/quit":
                return "leave"
            case "/new":
                self.session = None
                say("A new session.")
            case "/compact":
                return self._run(self._compact())
            case "/help":
                for command, does in COMMANDS.items():
                    say(f"  {command:<10}{does}")
                say(_MORE)
            case _:
                near = get_close_matches(name, COMMANDS, n=1)
                guess = f" Did you mean {near[0]}?" if near else ""
                say(f"There is no command {name}.{guess} /help lists them.")
                return "failed"
        return "done"

    def _run(self, doing: Coroutine[None, None, Heard]) -> Heard:
        """Do it until it is done or Ctrl-C stops it; what is refused is told."""
        try:
            return self.runner.run(doing)
        except KeyboardInterrupt:
            return "stopped"
        except ClawError as error:
            say(f"claw: {error.message}")
            if error.hint:
                say(error.hint)
            return "failed"

    async def _turn(self, text: str) -> Heard:
        heard: Heard = "failed"
        events = self.work.ask(
            text,
            key=self.key,
            session=self.session.id if self.session else None,
            new=True,
            approve=self.approve,
            grant=self.grant,
        )
        async with aclosing(events):
            async for event in events:
                self._screen.show(event)
                match event:
                    case RunStarted(session_id=id_) | SessionRotated(session_id=id_):
                        self.session = self.work.store.sessions.get(id_)
                    case RunFinished():
                        heard = "done"
                    case _:
                        pass
        return heard

    async def _compact(self) -> Heard:
        if self.session is None:
            say("There is nothing to summarise yet.")
            return "done"
        done = await self.work.compact(self.session.id)
        if done is None:
            say("Nothing would be gained, so all stays as it is.")
        else:
            self._screen.show(done)
        return "done"

    def _earlier(self) -> list[str]:
        """What was asked in this session, for the arrow keys."""
        if self.session is None:
            return []
        messages = self.work.store.sessions.messages(self.session.id)
        return [m.text for m in messages if m.role == "user" and m.text]


def say(line: str) -> None:
    """Tell the person something that is no answer."""
    click.secho(visible(redact(line)), err=True, dim=True)
