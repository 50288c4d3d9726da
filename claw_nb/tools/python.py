"""Running code in the user's kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from claw_nb.core.errors import ToolError
from claw_nb.core.messages import Text
from claw_nb.core.protocols import Execution, Kernel
from claw_nb.core.tools import Review, Tool, ToolOutput, tool
from claw_nb.tools.failures import shortened
from claw_nb.tools.unseen import unseen

_TRACEBACK_LINES = 25
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")

_HINTS = {
    "NameError": "Look with list_variables which names exist, and define what is missing.",
    "ModuleNotFoundError": "The package isn't installed here: use another one or ask the user.",
    "KeyError": "Look with inspect_variable which columns or keys there are.",
    "SyntaxError": "Nothing of this code has run; correct it and run it again.",
    "IndentationError": "Nothing of this code has run; correct it and run it again.",
    "KeyboardInterrupt": "The user stopped the code; do not start it again unasked.",
}
_PARTLY = "What stands before the failing line has run: don't repeat what must not happen twice."


def python_tools(kernel: Kernel) -> tuple[Tool, ...]:
    """``run_python`` over one kernel."""

    def review(arguments: Mapping[str, Any]) -> Review:
        code = str(arguments["code"])
        warning = unseen(code)
        reason = f"It runs code in your kernel. {warning}".strip()
        return Review(verdict="ask", reason=reason, preview=code, risky=bool(warning))

    @tool(effect="execute", sequential=True, review=review)
    async def run_python(
        code: Annotated[str, "Python source; the last expression's value is shown."],
    ) -> ToolOutput:
        """Run Python code in the user's kernel, as a cell would.

        Variables stay and the user sees the output. Returns what is printed, the value of the
        last expression, and pictures. Look at variables with inspect_variable instead.
        """
        if not code.strip():
            raise ToolError("there is no code to run", kind="validation")
        execution = await kernel.execute(code)
        if execution.error is not None:
            raise _failure(execution)
        text = shortened(_plain(execution.text).strip("\n"))
        if not text and not execution.images:
            text = "(the code ran and showed nothing)"
        words = (Text(text=text),) if text else ()
        return ToolOutput(parts=(*words, *execution.images))

    return (run_python,)


def _failure(execution: Execution) -> ToolError:
    lines = _plain(execution.error or "").strip().splitlines() or ["The code failed."]
    left_out = len(lines) - _TRACEBACK_LINES
    if left_out > 0:
        lines = [f"[... {left_out} lines left out ...]", *lines[-_TRACEBACK_LINES:]]
    traceback = shortened("\n".join(lines), 6_000)
    printed = shortened(_plain(execution.text).strip("\n"), 6_000)
    message = f"{traceback}\n\nOutput before the error:\n{printed}" if printed else traceback
    name = _error_name(lines)
    if name == "TimeoutError":
        return ToolError(message, kind="timeout", hints=("Do the work in smaller steps.",))
    hint = _HINTS.get(name)
    return ToolError(message, kind="system", hints=(hint,) if hint else (_PARTLY,))


def _error_name(lines: list[str]) -> str:
    """The name that begins the traceback's last unindented line."""
    for line in reversed(lines):
        match = re.match(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*)(?::|$)", line)
        if match:
            return match[1]
    return ""


def _plain(text: str) -> str:
    return _ANSI.sub("", text)
