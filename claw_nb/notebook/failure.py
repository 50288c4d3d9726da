"""An error in a cell: what happened and what to do, in red, without a traceback."""

from __future__ import annotations

import traceback

from claw_nb.core.errors import ClawError
from claw_nb.core.invisible import visible
from claw_nb.core.redact import redact

_RED, _BOLD, _END = "\x1b[31m", "\x1b[1m", "\x1b[0m"


class CellFailure(ClawError):
    """Ends a cell with a message; ``error`` is what went wrong, and its traceback is for debugging.

    The cell counts as failed, so "Run all", nbclient and papermill stop here.
    """

    def __init__(self, error: ClawError, *, debug: bool = False) -> None:
        super().__init__(visible(redact(error.message)), hint=visible(redact(error.hint)))
        self.error = error
        self.debug = debug

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a traceback."""
        message = self.message[:1].upper() + self.message[1:]
        lines = [f"{_RED}{_BOLD}claw{_END}{_RED}: {message}{_END}"]
        lines += [self.hint] if self.hint else []
        if self.debug:
            trace = visible(redact("".join(traceback.format_exception(self.error)).rstrip()))
            lines += ["", *trace.splitlines()]
        return lines


class RunFailure(ClawError):
    """The run broke off; ``kind`` says why."""

    def __init__(self, message: str, *, kind: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


def stopped() -> RunFailure:
    """The user pressed Stop."""
    hint = "What was done until then is kept; ask again to go on."
    return RunFailure("stopped.", kind="cancelled", hint=hint)
