"""The options that ``claw ask`` and ``claw chat`` share: where to work, and whom to ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from claw_nb import config
from claw_nb.commands.context import place
from claw_nb.workspace import Workspace

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--workspace",
        "folder",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="The folder to work in (default: here).",
    ),
    click.option("--provider", help="Ask this provider instead of the configured one."),
    click.option("--model", help="Ask this model; for azure-openai, this deployment."),
    click.option("--base-url", help="Where the model's service listens."),
    click.option("--api-key", help="The service's key: env:NAME or keyring:NAME, or the key."),
    click.option("--api-version", help="The version of Azure's API."),
    click.option("--codex-auth-file", help="Where the Codex CLI keeps its login."),
    click.option(
        "--record",
        "replay",
        flag_value="record",
        default=None,
        help="Record the model's answers, to be played back with CLAW_REPLAY=strict.",
    ),
    click.option(
        "--no-skills",
        "skills",
        is_flag=True,
        flag_value=False,
        default=None,
        help="Tell the agent of no skills.",
    ),
    click.option(
        "--allow",
        "grant",
        multiple=True,
        metavar="TOOL",
        help="Let this tool run unasked; may be given more than once.",
    ),
)


def asking(command: F) -> F:
    """Add the options, as ``folder``, ``grant`` and the names that ``work_here`` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def work_here(ctx: click.Context, folder: Path | None, **chosen: object) -> Workspace:
    """The workspace of a folder; what was chosen goes before the settings."""
    opened = place(ctx).workspace
    return Workspace.open(
        opened.home, settings=config.chosen(opened.settings, **chosen), root=folder
    )
