"""From a question in a cell to its answer: the run is watched, shown, stopped and ended here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from claw_nb.core.events import Event, RunFailed
from claw_nb.core.messages import Usage
from claw_nb.core.protocols import Approve
from claw_nb.notebook import running
from claw_nb.notebook.answer import Answer
from claw_nb.notebook.approval import TIME_LIMIT, Asker, World, world
from claw_nb.notebook.bridge import MainThread
from claw_nb.notebook.display import CellView, TerminalView, view_for
from claw_nb.notebook.failure import RunFailure, stopped
from claw_nb.notebook.interrupt import Interrupts
from claw_nb.notebook.kernel import NotebookKernel

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

Ask = Callable[[Approve], AsyncGenerator[Event, None]]
"""Starts the run, given the function that asks the user."""


class Conversation:
    """Asks in one shell, one question at a time."""

    def __init__(
        self,
        shell: InteractiveShell,
        kernel: NotebookKernel,
        interrupts: Interrupts,
        *,
        timeout: float = TIME_LIMIT,
        approval: World | None = None,
    ) -> None:
        self._shell = shell
        self._kernel = kernel
        self._interrupts = interrupts
        self._timeout = timeout
        self._approval = approval

    async def awaited(self, ask: Ask) -> Answer:
        """The answer, in a cell that awaits it; the kernel stays free to hear clicks meanwhile."""
        view = self._view()
        asker = Asker(view=view, interrupts=self._interrupts, timeout=self._timeout)
        events = ask(asker.choose(self._world(awaited=True)))
        try:
            await running.awaited(_watch(events, view), self._interrupts)
        finally:
            self._let_go(view)
        return _result(view)

    def blocking(self, ask: Ask) -> Answer:
        """The answer, where nothing can be awaited: the agent runs on a thread of its own.

        This thread shows what comes, runs the user's code and asks with ``input()``.
        """
        view = self._view()
        bridge = self._kernel.bridge = MainThread()
        asker = Asker(view=view, interrupts=self._interrupts, bridge=bridge, timeout=self._timeout)
        events = ask(asker.choose(self._world(awaited=False)))

        async def pass_on() -> None:
            async with aclosing(events):
                async for event in events:
                    bridge.post(view.feed, event)

        try:
            running.blocking(pass_on(), self._interrupts, bridge, lambda: _render_if_due(view))
        finally:
            self._kernel.bridge = None
            self._let_go(view)
        return _result(view)

    def _view(self) -> CellView | TerminalView:
        view = view_for(self._shell)
        self._kernel.before_output = view.divide
        return view

    def _world(self, *, awaited: bool) -> World:
        possible = world(self._shell, awaited=awaited)
        if self._approval is None or possible == "deny":
            return possible
        # Buttons can't be had by wishing for them in a blocked cell.
        return "input" if self._approval == "buttons" and not awaited else self._approval

    def _let_go(self, view: CellView | TerminalView) -> None:
        self._kernel.before_output = lambda: None
        story = view.story
        if story.started is not None and story.ending is None:
            view.feed(_broken_off())
        if story.started is not None:
            view.render()


async def _watch(events: AsyncGenerator[Event, None], view: CellView | TerminalView) -> None:
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None
    try:
        async with aclosing(events):
            async for event in events:
                view.feed(event)
                if timer is not None:
                    timer.cancel()
                due = view.due()
                timer = loop.call_later(due, view.render) if due is not None else None
    finally:
        if timer is not None:
            timer.cancel()


def _render_if_due(view: CellView | TerminalView) -> None:
    due = view.due()
    if due is not None and due <= 0:
        view.render()


def _broken_off() -> RunFailed:
    return RunFailed(kind="cancelled", error="", hint="", turns=0, tools=0, usage=Usage(), ms=0.0)


def _result(view: CellView | TerminalView) -> Answer:
    ending = view.story.ending
    if ending is not None and ending.kind == "cancelled":
        raise stopped()
    if ending is not None and ending.problem:
        raise RunFailure(ending.problem, kind=ending.kind, hint=ending.hint)
    return Answer(view)
