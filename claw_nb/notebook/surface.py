"""Behind the magics: which word was meant, and who does it."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from difflib import get_close_matches
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import click
from IPython.display import display
from IPython.utils.text import DollarFormatter

from claw_nb.commands import group
from claw_nb.commands.context import Place
from claw_nb.commands.options import JSON
from claw_nb.commands.output import Note
from claw_nb.core.errors import ClawError, InvalidInput
from claw_nb.core.events import Event
from claw_nb.core.protocols import Approve
from claw_nb.notebook import guide, lookup, running, table
from claw_nb.notebook.asking import Conversation
from claw_nb.notebook.bridge import MainThread
from claw_nb.notebook.failure import CellFailure
from claw_nb.notebook.interrupt import Interrupts
from claw_nb.notebook.kernel import NotebookKernel
from claw_nb.notebook.place import key_of
from claw_nb.notebook.question import Question, query, question
from claw_nb.store.frames import frames
from claw_nb.workspace import Workspace

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from claw_nb.notebook.magics import Claw


class Surface:
    """One shell's way to the agent; the workspace opens at the first word that needs it."""

    def __init__(self, shell: InteractiveShell, options: Claw) -> None:
        self._shell = shell
        self._options = options
        self._interrupts = Interrupts()
        self.kernel = NotebookKernel(shell, self._interrupts)
        self._new = False
        self._session: str | None = None
        self._busy = False
        self._asked = False

    @cached_property
    def workspace(self) -> Workspace:
        """Where the agent works: the kernel's folder, the configured home."""
        return Workspace.open(kernel=self.kernel)

    def close(self) -> None:
        """Let go of the store, if it was used."""
        if "workspace" in self.__dict__:
            self.workspace.close()

    # -- the two ways a magic is run -------------------------------------------------------------

    def run(self, line: str, cell: str | None, local_ns: Mapping[str, Any]) -> object:
        """Do what the line says, where nothing can be awaited."""
        with self._guarded(line):
            word, rest = _split(line)
            if word == "ask":
                asked = self._question(rest, cell, local_ns)
                with self._one_at_a_time():
                    return self._conversation().blocking(partial(self._ask, asked))
            if word == "sql":
                work = self._look_up(rest, cell)
                return running.blocking(work, self._interrupts, MainThread(), lambda: None)
            self._do(word, rest)
            return None

    async def run_awaited(self, line: str, cell: str | None) -> object:
        """Do what the line says, in a cell that awaits it."""
        with self._guarded(line):
            word, rest = _split(line)
            if word == "ask":
                asked = self._question(rest, cell, {})
                with self._one_at_a_time():
                    return await self._conversation().awaited(partial(self._ask, asked))
            if word == "sql":
                return await running.awaited(self._look_up(rest, cell), self._interrupts)
            self._do(word, rest)
            return None

    # -- asking ----------------------------------------------------------------------------------

    def _question(self, line: str, cell: str | None, local_ns: Mapping[str, Any]) -> Question:
        return question(_expanded(line, {**self._shell.user_ns, **local_ns}), cell)

    def _conversation(self) -> Conversation:
        approval: Any = self._options.approval
        return Conversation(
            self._shell,
            self.kernel,
            self._interrupts,
            timeout=self.workspace.settings.approval_timeout,
            approval=None if approval == "auto" else approval,
        )

    async def _ask(self, asked: Question, approve: Approve) -> AsyncGenerator[Event, None]:
        # What is recorded or played back depends on nothing that was said before this kernel began.
        fresh = not self._asked and (asked.record or self.workspace.settings.replay != "off")
        new = asked.new or ((self._new or fresh) and asked.session is None)
        session = None if new else asked.session or self._session
        events = self.workspace.ask(
            asked.prompt,
            key=key_of(self._shell),
            session=session,
            new=new,
            approve=approve,
            provider=asked.provider or self._options.provider or None,
            model=asked.model or self._options.model or None,
            replay="record" if asked.record and not self._plays_back else None,
            grant=asked.allow,
        )
        async with aclosing(events):
            async for event in events:
                # Only a run that began moves the conversation.
                self._new, self._session, self._asked = False, session, True
                yield event

    @property
    def _plays_back(self) -> bool:
        return self.workspace.settings.replay == "strict"

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        if self._busy:
            raise InvalidInput(
                "a question is being answered already.",
                hint="An agent can't ask itself; ask again when it is done.",
            )
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    # -- everything else ------------------------------------------------------------------------

    def _do(self, word: str, rest: str) -> None:
        match word:
            case "help" | "--help" | "-h" | "":
                display(guide.bundle(), raw=True)
            case "new":
                self._begin()
            case _ if word in group.commands:
                self._command([word, *_arguments(rest)])
            case _:
                raise _unknown(word, rest)

    def _begin(self) -> None:
        self._new = True
        self._session = None
        display(table.bundle(Note(text="Your next question begins a new conversation.")), raw=True)

    async def _look_up(self, line: str, cell: str | None) -> lookup.Rows:
        asked = query(line, cell, limit=self._options.rows)
        return await lookup.look_up(self.workspace.store, asked, self.kernel.namespace)

    def _command(self, arguments: list[str]) -> None:
        place = Place(open=lambda: self.workspace, frames=lambda: frames(self.kernel.namespace))
        try:
            with group.make_context("%claw", arguments, obj=place) as context:
                output = group.invoke(context)
                as_json = bool(context.meta.get(JSON))
        except click.exceptions.Exit:
            return
        except click.ClickException as error:
            usage = f"See `%claw {' '.join(arguments[:2])} --help`."
            raise InvalidInput(error.format_message(), hint=usage) from error
        if output is not None:
            show: Callable[[Any], table.Bundle] = table.json_bundle if as_json else table.bundle
            display(show(output), raw=True)

    @contextmanager
    def _guarded(self, line: str) -> Iterator[None]:
        """One short message in place of a traceback."""
        try:
            yield
        except CellFailure:
            raise
        except ClawError as error:
            debug = self._options.debug or "--debug" in line.split()
            raise CellFailure(error, debug=debug) from error


def _split(line: str) -> tuple[str, str]:
    word, _, rest = line.strip().partition(" ")
    return word, rest.strip()


def _arguments(line: str) -> list[str]:
    try:
        return [word for word in shlex.split(line) if word != "--debug"]
    except ValueError as error:
        raise InvalidInput(f"the line can't be read: {error}.", hint="Close the quotes.") from error


def _expanded(line: str, names: Mapping[str, Any]) -> str:
    """``{expression}`` and ``$name`` replaced, as in every line magic; else the line as it is."""
    try:
        return str(DollarFormatter().vformat(line, args=[], kwargs=dict(names)))
    except Exception:  # noqa: BLE001 - braces in a question are often just braces
        return line


def _unknown(word: str, rest: str) -> InvalidInput:
    near = get_close_matches(word, ("ask", "new", "sql", "help", *group.commands), n=2)
    if near:
        hint = f"Did you mean {' or '.join(f'`%claw {match}`' for match in near)}?"
    elif rest:
        hint = f"To ask a question, write `%claw ask {word} {rest}`."
    else:
        hint = "`%claw help` lists what there is."
    return InvalidInput(f"there is no `%claw {word}`.", hint=hint)
