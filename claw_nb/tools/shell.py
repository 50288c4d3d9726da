"""Running shell commands in the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from claw_nb.core.errors import ToolError
from claw_nb.core.tools import Review, Tool, tool
from claw_nb.tools import shell_policy
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.processes import Finished, run

_LONGEST_TIMEOUT = 600

_EXIT_HINTS = {
    1: "Some programs, such as grep and diff, say 1 when they find nothing or a difference.",
    2: "Check the command's syntax and its options.",
    126: "The file isn't executable, or it is a folder.",
    127: "That program isn't installed here, or its name is misspelled.",
    137: "It was killed from outside, often because memory ran out.",
    139: "The program crashed.",
}


def shell_tools(boundary: Boundary) -> tuple[Tool, ...]:
    """``bash`` in one boundary."""

    def review(arguments: Mapping[str, Any]) -> Review:
        _check(str(arguments["command"]), int(arguments.get("timeout", 120)))
        return shell_policy.review(arguments["command"], boundary=boundary)

    @tool(effect="execute", review=review)
    async def bash(
        command: Annotated[str, "A bash script."],
        timeout: Annotated[int, "Seconds until it is stopped, at most 600."] = 120,
    ) -> str:
        """Run a bash script in the workspace folder and return what it prints.

        There is no input, each call starts a new shell, and what it leaves running in the
        background ends with it. Long output is shortened in the middle.
        """
        _check(command, timeout)
        if shell_policy.review(command, boundary=boundary).verdict == "deny":
            raise ToolError("this command is not allowed", kind="policy")
        return _told(await run(command, cwd=boundary.root, timeout=timeout), timeout)

    return (bash,)


def _check(command: str, timeout: int) -> None:
    if not command.strip() or "\0" in command:
        raise ToolError("there is no command to run", kind="validation")
    if not 1 <= timeout <= _LONGEST_TIMEOUT:
        raise ToolError(
            f"timeout must be between 1 and {_LONGEST_TIMEOUT} seconds, not {timeout}",
            kind="validation",
            hints=("Schedule what takes longer with schedule_task, or do it in smaller steps.",),
        )


def _told(done: Finished, timeout: int) -> str:
    output = done.output or "(no output)"
    if done.timed_out:
        raise ToolError(
            f"the command was stopped after {timeout} seconds, with all that it had started\n{output}",
            kind="timeout",
            hints=("Give a longer timeout (600 at most), or do less at a time.",),
        )
    if done.code:
        hint = _EXIT_HINTS.get(done.code, "Read what it printed before you try again.")
        raise ToolError(f"the command ended with exit code {done.code}\n{output}", hints=(hint,))
    note = "\n[What it left running in the background was ended.]" if done.left_running else ""
    return output + note
