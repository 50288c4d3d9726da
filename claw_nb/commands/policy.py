"""``claw policy``: what the shell's rules say of a command, without running it."""

from __future__ import annotations

import shlex

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Record
from claw_nb.tools import shell_policy
from claw_nb.tools.boundary import Boundary

_MEANS = {
    ("allow", False): "It runs unasked.",
    ("ask", False): "You are asked, and may say yes for longer than this once.",
    ("ask", True): "You are asked each time: no earlier yes, rule or grant covers it.",
    ("deny", False): "It never runs, whatever anybody says.",
}


@click.group()
def policy() -> None:
    """The rules for shell commands: explain."""


@policy.command()
@click.argument("command", metavar="-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
@json_option
@click.pass_context
def explain(ctx: click.Context, command: tuple[str, ...]) -> Record:
    """Say whether the agent's shell may run a command in this folder (allow, ask or deny), and why.

    Nothing is run. Quote a whole script, or put the words of one command after `--`.
    """
    work = workspace(ctx)
    text = command[0] if len(command) == 1 else shlex.join(command)
    said = shell_policy.review(text, boundary=Boundary(work.root, forbidden=(work.home,)))
    return Record(
        title=said.verdict,
        fields={
            "command": text,
            "verdict": said.verdict,
            "why": said.reason,
            "risky": said.risky,
            "means": _MEANS[said.verdict, said.risky and said.verdict == "ask"],
            "folder": str(work.root),
        },
    )
