"""The user's live kernel as the agent's tools see it."""

from __future__ import annotations

import ast
import asyncio
import inspect
import time
import traceback
from collections.abc import Callable, Mapping
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any

from IPython.display import display

from claw_nb.core.protocols import Execution
from claw_nb.core.redact import add_named, redact
from claw_nb.notebook.bridge import MainThread
from claw_nb.notebook.capture import Notes, noting, plain
from claw_nb.notebook.interrupt import Interrupts

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_OWN = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})
_SEEN_FIRST = 0.01
"""Seconds given to the loop before code may block it, so that the tool call is on the screen."""

_LOOK_EVERY = 0.1
"""Seconds between looks at the names of variables for secrets, while code shows something."""

_AWAITS = "This code awaits, which works only while `%claw` stands at the top level of its cell."


class NotebookKernel:
    """``core.protocols.Kernel`` over the running shell.

    ``before_output`` is called before code shows anything. While ``bridge`` is set, the agent runs
    on another thread and code is passed to the main one.
    """

    def __init__(self, shell: InteractiveShell, interrupts: Interrupts | None = None) -> None:
        self._shell = shell
        self._interrupts = interrupts or Interrupts()
        self.bridge: MainThread | None = None
        self.before_output: Callable[[], None] = lambda: None

    @property
    def namespace(self) -> Mapping[str, Any]:
        """The user's variables by name."""
        hidden = self._shell.user_ns_hidden
        missing = object()
        return {
            name: value
            for name, value in list(self._shell.user_ns.items())
            if not name.startswith("_")
            and name not in _OWN
            and hidden.get(name, missing) is not value
        }

    async def execute(self, code: str, *, timeout: float | None = None) -> Execution:
        """Run code as a cell would; top-level await works where the cell itself is awaited."""
        await asyncio.sleep(_SEEN_FIRST)
        if self.bridge is not None:
            return await self.bridge.call(self._run_here, code, timeout)
        return await self._run(code, timeout)

    def _run_here(self, code: str, timeout: float | None) -> Execution:
        """Run code on this thread, where nothing can be awaited: drive the coroutine by hand."""
        try:
            self._run(code, timeout, here=True).send(None)
        except StopIteration as stop:
            found: Execution = stop.value
            return found
        raise RuntimeError("code that runs here never waits")

    async def _run(self, code: str, timeout: float | None, *, here: bool = False) -> Execution:
        shell = self._shell
        shell.events.trigger("pre_execute")
        looked = -_LOOK_EVERY

        def mask(text: str) -> str:
            nonlocal looked
            if time.monotonic() - looked >= _LOOK_EVERY:
                add_named(self.namespace)
                looked = time.monotonic()
            return redact(text)

        try:
            with noting(shell, self.before_output, mask) as notes:
                error = await self._evaluate(code, timeout, here=here)
                # Plots drawn by this code appear now and not at the end of the cell.
                shell.events.trigger("post_execute")
        finally:
            add_named(self.namespace)
        return _execution(notes, error)

    async def _evaluate(self, code: str, timeout: float | None, *, here: bool) -> str | None:
        shell = self._shell
        name = shell.compile.cache(code, shell.execution_count, raw_code=code)
        try:
            steps = _compiled(shell, code, name)
        except (SyntaxError, ValueError, OverflowError) as error:
            return "".join(traceback.format_exception_only(error)).rstrip()
        if here and any(step.co_flags & inspect.CO_COROUTINE for step in steps):
            return _AWAITS
        limit = _Unlimited() if here else asyncio.timeout(timeout)
        try:
            async with limit:
                value = None
                for step in steps:
                    with self._interrupts.code(timeout=timeout):
                        value = eval(step, shell.user_global_ns, shell.user_ns)  # noqa: S307
                    if step.co_flags & inspect.CO_COROUTINE:
                        value = await value
                if value is not None and not code.rstrip().endswith(";"):
                    display(value)
        except TimeoutError as error:
            if timeout is not None and limit.expired():
                return _too_slow(timeout)
            return _traceback(shell, error, name)
        except KeyboardInterrupt as error:
            if self._interrupts.timed_out and timeout is not None:
                return _too_slow(timeout)
            return _traceback(shell, error, name)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises is a result
            return _traceback(shell, error, name)
        return None


class _Unlimited:
    """Stands where no loop can keep the time."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *error: object) -> None: ...

    def expired(self) -> bool:
        return False


def _compiled(shell: InteractiveShell, code: str, name: str) -> list[CodeType]:
    """The statements, and apart the last expression, whose value a cell would show."""
    tree = shell.transform_ast(shell.compile.ast_parse(shell.transform_cell(code), filename=name))
    body = list(tree.body)
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    steps: list[ast.Module | ast.Expression] = []
    if body:
        steps.append(ast.Module(body=body, type_ignores=[]))
    if isinstance(last, ast.Expr):
        steps.append(ast.Expression(body=last.value))
    # It takes trees too, which typeshed doesn't know.
    make: Callable[..., CodeType] = shell.compile
    with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
        return [
            make(step, name, "eval" if isinstance(step, ast.Expression) else "exec")
            for step in steps
        ]


def _traceback(shell: InteractiveShell, error: BaseException, name: str) -> str:
    """The traceback from the code's own first line on."""
    frames: TracebackType | None = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename != name:
        frames = frames.tb_next
    lines = shell.InteractiveTB.structured_traceback(type(error), error, frames)
    return plain(shell.InteractiveTB.stb2text(lines)).strip().lstrip("-\n")


def _too_slow(timeout: float) -> str:
    return f"TimeoutError: the code was stopped after {timeout:g} seconds."


def _execution(notes: Notes, error: str | None) -> Execution:
    return Execution(text=notes.text, images=tuple(notes.images), error=error)
