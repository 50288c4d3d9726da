"""Asking before harm: a button, a typed answer, or nobody, which means no."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal

from IPython.display import display

from claw_nb.agent import ask_nobody
from claw_nb.core.events import ApprovalRequest, Decision
from claw_nb.core.invisible import visible
from claw_nb.core.protocols import Answer, Approve
from claw_nb.notebook import prose
from claw_nb.notebook.bridge import MainThread
from claw_nb.notebook.display import CellView, TerminalView
from claw_nb.notebook.interrupt import Interrupts
from claw_nb.notebook.place import notebook_path
from claw_nb.notebook.style import framed
from claw_nb.notebook.words import given

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from ipywidgets import Widget

World = Literal["buttons", "input", "deny"]
TIME_LIMIT = 300.0
"""Seconds until silence is a no."""

_BUTTONS_SINCE = (7, 4)
"""Older ipykernels deliver no click while a cell runs, even an awaited one."""


def world(shell: InteractiveShell, *, awaited: bool) -> World:
    """How the person in front of this shell can be asked while a cell runs."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return "input" if sys.stdin is not None and sys.stdin.isatty() else "deny"
    if not kernel._allow_stdin:
        return "deny"
    version = getattr(sys.modules.get("ipykernel"), "version_info", (0,))
    # Consoles have stdin but show no widgets; a notebook's front end names its notebook.
    if awaited and tuple(version[:2]) >= _BUTTONS_SINCE and notebook_path(shell):
        return "buttons"
    return "input"


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Asks about one call at a time, in the cell that is running."""

    view: CellView | TerminalView
    interrupts: Interrupts
    bridge: MainThread | None = None
    timeout: float = TIME_LIMIT

    def choose(self, how: World) -> Approve:
        """The function that the agent calls before a tool may run."""
        return {"buttons": self._by_buttons, "input": self._by_input, "deny": ask_nobody}[how]

    async def _by_buttons(self, request: ApprovalRequest) -> Answer:
        assert isinstance(self.view, CellView)
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()

        def settle(answer: Answer) -> None:
            if not answered.done():
                answered.set_result(answer)

        # A click may arrive on another thread than the loop's.
        panel = _panel(request, lambda answer: loop.call_soon_threadsafe(settle, answer))
        place = self.view.hold(request.call.id)
        display(panel, display_id=place)
        try:
            async with asyncio.timeout(self.timeout):
                return await answered
        except TimeoutError:
            return _silence(self.timeout)
        finally:
            panel.close()
            self.view.release()

    async def _by_input(self, request: ApprovalRequest) -> Answer:
        if self.bridge is not None:
            return await self.bridge.call(self._typed, request)
        return self._typed(request)

    def _typed(self, request: ApprovalRequest) -> Answer:
        if isinstance(self.view, CellView):
            place = self.view.hold(request.call.id)
            bundle = {"text/html": question_html(request), "text/plain": question_text(request)}
            display(bundle, raw=True, display_id=place)
        else:
            self.view.divide()
            print(question_text(request))  # noqa: T201 - the terminal is where it is asked
        choices = ", ".join(words for _, words in _offered(request))
        try:
            with self.interrupts.code(timeout=self.timeout):
                return _read(input(f"Allow {request.call.name}? {choices}, [n]o: "), request)
        except KeyboardInterrupt:
            return _silence(self.timeout) if self.interrupts.timed_out else _no("stopped")
        except EOFError:
            return _no("there was no answer")
        finally:
            if isinstance(self.view, CellView):
                self.view.release()


_YES: Mapping[str, Decision] = {
    "y": "once", "yes": "once", "s": "session", "session": "session",
    "t": "tool", "tool": "tool", "always": "tool", "p": "path", "path": "path",
}  # fmt: skip


def _offered(request: ApprovalRequest) -> tuple[tuple[Decision, str], ...]:
    """The ways to say yes to a call: a risky one is asked about each time."""
    offered: list[tuple[Decision, str]] = [("once", "[y]es once")]
    if not request.risky:
        offered.append(("session", "yes for this [s]ession"))
        offered.append(("tool", "always this [t]ool here"))
        if request.resource:
            offered.append(("path", "always on this [p]ath"))
    return tuple(offered)


def _read(typed: str, request: ApprovalRequest) -> Answer:
    """The answer in what was typed; everything but a clear yes is a no, with its reason."""
    word, _, rest = typed.strip().partition(" ")
    decision = _YES.get(word.lower())
    if decision in dict(_offered(request)):
        return Answer(decision=decision, by="you")
    return _no(rest.strip() if word.lower() in ("n", "no") else typed.strip())


def _no(why: str) -> Answer:
    return Answer(decision="denied", by="you", why=why)


def _silence(timeout: float) -> Answer:
    minutes = f"{timeout / 60:g} minutes" if timeout >= 60 else f"{timeout:g} seconds"
    return Answer(decision="denied", by="the clock", why=f"nobody answered within {minutes}")


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."


def _asked_about(request: ApprovalRequest) -> tuple[str, str]:
    """All that is to be decided about, and its language.

    Nothing is cut or masked, and what nobody would see is spelled out: a yes is to this very text.
    """
    code, language = given(request.call, limit=None)
    return visible(request.preview or code), language


def _why(request: ApprovalRequest) -> str:
    each = " A call of this kind is asked about each time." if request.risky else ""
    return visible(f"needs your yes. {_sentence(request.reason)}{each}")


def question_text(request: ApprovalRequest) -> str:
    """What is to be decided, as plain text."""
    shown, _ = _asked_about(request)
    body = "\n".join(f"  {line}" for line in shown.split("\n"))
    return f"{visible(request.call.name)} {_why(request)}\n{body}"


def question_html(request: ApprovalRequest) -> str:
    """What is to be decided, with the code, the command or the change, in a box that scrolls."""
    shown, language = _asked_about(request)
    if shown.lstrip().startswith(("---", "@@")):
        language = "diff"
    return framed(
        f'<div class="claw-question tex2jax_ignore mathjax_ignore">'
        f"<strong>{escape(request.call.name)}</strong> "
        f'<span class="claw-facts">{escape(_why(request))}</span></div>'
        f'<div class="claw-box claw-asked"><pre tabindex="0">{prose.code(shown, language)}</pre></div>',
        label=f"Approval of {escape(request.call.name)}",
    )


def _panel(request: ApprovalRequest, answer: Callable[[Answer], object]) -> Widget:
    # Only where a front end with widgets asks: importing them takes a while.
    import ipywidgets  # noqa: PLC0415

    why = ipywidgets.Text(
        placeholder="Why not? (optional; the agent reads it)",
        layout=ipywidgets.Layout(flex="1 1 12rem", max_width="24rem"),
    )
    allow = [_yes(decision, answer) for decision, _ in _offered(request)]
    deny = _button("Deny", "danger")
    deny.on_click(lambda _: answer(_no(why.value.strip())))
    row = ipywidgets.Layout(flex_flow="row wrap", align_items="center", margin="0 0 4px 0")
    return ipywidgets.VBox(
        [
            ipywidgets.HTML(question_html(request)),
            ipywidgets.Box([*allow, deny, why], layout=row),
        ],
        layout=ipywidgets.Layout(max_width="60rem"),
    )


_BUTTONS: Mapping[Decision, str] = {
    "once": "Allow once",
    "session": "Allow for this session",
    "tool": "Always allow here",
    "path": "Always on this path",
}


def _yes(decision: Decision, answer: Callable[[Answer], object]) -> Widget:
    button = _button(_BUTTONS[decision], "primary" if decision == "once" else "")
    button.on_click(lambda _: answer(Answer(decision=decision, by="you")))
    return button


def _button(words: str, style: str) -> Widget:
    import ipywidgets  # noqa: PLC0415

    return ipywidgets.Button(
        description=words, button_style=style, layout=ipywidgets.Layout(width="auto")
    )
