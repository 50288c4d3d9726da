"""The ``claw`` command."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from claw_nb import __version__
from claw_nb.cli.ask import ask
from claw_nb.cli.chat import chat
from claw_nb.cli.demo import demo
from claw_nb.cli.lab import lab
from claw_nb.cli.show import show
from claw_nb.commands import SHARED
from claw_nb.commands.context import Place
from claw_nb.commands.options import JSON
from claw_nb.core.errors import ClawError, InvalidInput
from claw_nb.core.invisible import visible
from claw_nb.core.redact import redact
from claw_nb.workspace import Workspace

_ONLY_TELL = frozenset(
    {
        "sessions", "sessions list", "sessions show", "task", "task list", "task show", "task logs",
        "task next", "memory", "memory list", "memory search", "config", "config list", "config get",
        "store", "store path", "vault list",
    }
)  # fmt: skip
"""Commands that change nothing, by their first two words."""
_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Claw(click.Group):
    """An agent's shell may look, but not change the rules, tasks and memories of its agent."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        helps = args[1:2] in (["--help"], ["-h"]) or (
            args[2:] in (["--help"], ["-h"]) and not args[1].startswith("-")
        )
        only_tells = helps or " ".join(args[:2]) in _ONLY_TELL
        if "CLAW_INSIDE_TOOL" in os.environ and not only_tells:
            raise ClawError(
                f"`claw {args[0]}` may change things, and an agent's shell may not use it for that",
                hint="Use the tools remember, recall, sql and schedule_task, or ask the user.",
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Claw, context_settings=_HELP)
@click.version_option(__version__, prog_name="claw")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def claw(ctx: click.Context, debug: bool) -> None:
    """An agent for notebooks: ask it, schedule it, query all that it did.

    Settings and data live in CLAW_HOME (~/.claw).
    """
    ctx.obj = Place(open=Workspace.open)
    ctx.meta["claw_nb.debug"] = debug


for _command in (ask, chat, demo, lab, *SHARED):
    claw.add_command(_command)


@claw.result_callback()
def _print(output: Any, **_options: Any) -> None:
    if output is not None:
        show(output, as_json=bool(click.get_current_context().meta.get(JSON)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 when it did what was asked, 2 when asked wrongly."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = claw.main(given, prog_name="claw", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        click.echo("Stopped.", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ClawError as error:
        if "--debug" in given:
            traceback.print_exc()
        click.echo(visible(redact(f"claw: {error.message}")), err=True)
        if error.hint:
            click.echo(visible(redact(error.hint)), err=True)
        return 2 if isinstance(error, InvalidInput) else 1
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
        return 130
