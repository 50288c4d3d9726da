"""``claw ask``: one question on the command line, answered as it comes."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from claw_nb.cli.approval import asking
from claw_nb.commands.context import place
from claw_nb.core.errors import InvalidInput
from claw_nb.core.events import (
    Event,
    PartialDiscarded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    TextAdded,
    ToolFinished,
    ToolStarted,
)
from claw_nb.core.redact import redact_json
from claw_nb.core.wire import to_json
from claw_nb.workspace import Workspace

EXIT = {"cancelled": 130}


@click.command()
@click.argument("question", nargs=-1)
@click.option(
    "--workspace",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The folder to work in (default: here).",
)
@click.option("--provider", help="Ask this provider instead of the configured one.")
@click.option("--model", help="Ask this model.")
@click.option("--session", help="Go on with this session (see `claw sessions list`).")
@click.option("--continue", "resume", is_flag=True, help="Go on with this folder's last session.")
@click.option(
    "--allow",
    "grant",
    multiple=True,
    metavar="TOOL",
    help="Let this tool run unasked; may be given more than once.",
)
@click.option("--json", "as_json", is_flag=True, help="Show the run's events, one JSON a line.")
@click.pass_context
def ask(
    ctx: click.Context, question: tuple[str, ...], folder: Path | None, provider: str | None,
    model: str | None, session: str | None, resume: bool, grant: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Ask the agent one QUESTION (or pipe it in).

    A fresh session answers, unless --session or --continue names one. The exit code tells
    success: 0 answered, 1 failed, 130 stopped.
    """
    prompt = _prompt(question)
    opened = place(ctx).workspace
    work = Workspace.open(opened.home, settings=opened.settings, root=folder)
    code = asyncio.run(
        _ask(
            work,
            prompt,
            as_json=as_json,
            session=session,
            new=not resume,
            provider=provider,
            model=model,
            grant=grant,
        )
    )
    ctx.exit(code)


def _prompt(question: tuple[str, ...]) -> str:
    words = " ".join(question)
    piped = "" if sys.stdin is None or _is_terminal() else sys.stdin.read()
    prompt = "\n\n".join(part for part in (words, piped.strip()) if part)
    if not prompt:
        raise InvalidInput("there is no question", hint='Try: claw ask "what can you do?"')
    return prompt


def _is_terminal() -> bool:
    # Python sets stdin to None when the process was started without one.
    return sys.stdin is not None and sys.stdin.isatty()


async def _ask(work: Workspace, prompt: str, *, as_json: bool, **given: Any) -> int:
    screen = _print_json if as_json else Screen().show
    code = 1
    asked = not as_json and _is_terminal()
    approve = asking(timeout=work.settings.approval_timeout) if asked else None
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


def _print_json(event: Event) -> None:
    record = {"event": type(event).__name__} | to_json(event)
    click.echo(json.dumps(redact_json(record), ensure_ascii=False, default=str))


class Screen:
    """A run on a terminal: the answer on standard output, everything else on standard error."""

    def __init__(self) -> None:
        self._column = 0

    def show(self, event: Event) -> None:
        """Print what one event adds."""
        match event:
            case TextAdded(text=text):
                click.echo(text, nl=False)
                self._column = len(text.rpartition("\n")[2]) or (0 if text else self._column)
            case PartialDiscarded():
                self._aside("answer> cut off, asking again")
            case ToolStarted(call=call):
                self._aside(f"tool> {call.name} started")
            case ToolFinished(call=call, result=result, ms=ms):
                how = f"failed ({result.error})" if result.error else "completed"
                self._aside(f"tool> {call.name} {how} in {ms / 1000:.1f} s")
            case RetryScheduled(wait=wait, error=error):
                self._aside(f"retry> in {wait:.0f} s: {error}")
            case RunFinished():
                self._aside("")
                self._aside(footer(event))
            case RunFailed(error=error, hint=hint):
                self._aside(f"claw: {error}")
                if hint:
                    self._aside(hint)
            case _:
                pass

    def _aside(self, line: str) -> None:
        if self._column:
            click.echo()
            self._column = 0
        if line:
            click.secho(line, err=True, dim=True)


def footer(event: RunFinished) -> str:
    """Turns, tools, tokens, money and time in one line."""
    usage = event.usage
    parts = [_counted(event.turns, "turn"), _counted(event.tools, "tool call")]
    if usage.input or usage.output:
        parts.append(f"{usage.input + usage.cache_read + usage.cache_write}+{usage.output} tokens")
    if usage.cost:
        parts.append(f"${usage.cost:.4f}")
    parts.append(f"{event.ms / 1000:.1f} s")
    if event.stop != "end":
        parts.append(f"stopped: {event.stop}")
    return " · ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
