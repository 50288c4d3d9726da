"""``claw vault``: secrets under names; settings say ``claw://NAME`` and hold no secret."""

from __future__ import annotations

import sys

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Listing, Note
from claw_nb.vault import Vault


@click.group(invoke_without_command=True)
@click.pass_context
def vault(ctx: click.Context) -> Listing | None:
    """Secrets under names: list, set, remove."""
    return None if ctx.invoked_subcommand else ctx.invoke(list_)


@vault.command(name="list")
@json_option
@click.pass_context
def list_(ctx: click.Context) -> Listing:
    """List the names; secrets are never shown."""
    names = Vault(workspace(ctx).home).names()
    return Listing(
        title="Vault",
        columns=("name", "kept"),
        rows=[(f"claw://{name}", kept) for name, kept in names.items()],
        records=[{"name": f"claw://{name}", "kept": kept} for name, kept in names.items()],
        empty="The vault is empty: `claw vault set NAME` keeps a secret.",
    )


@vault.command(name="set")
@click.argument("name")
@json_option
@click.pass_context
def set_(ctx: click.Context, name: str) -> Note:
    """Keep a secret under NAME; it is asked for without being shown, or read from a pipe."""
    name = name.removeprefix("claw://")
    # A notebook's stdin is no terminal either, and empty; there the prompt is the front end's.
    piped = sys.stdin is not None and not sys.stdin.isatty() and sys.stdin.read().strip()
    Vault(workspace(ctx).home).keep(name, piped or _asked(name))
    text = f"Kept. Settings take it as claw://{name}."
    return Note(text=text, facts={"name": f"claw://{name}", "kept": True})


def _asked(name: str) -> str:
    try:
        secret: str = click.prompt(f"Secret for {name}", hide_input=True, err=True)
    except click.Abort:
        return ""
    return secret


@vault.command(name="rm")
@click.argument("name")
@json_option
@click.pass_context
def remove(ctx: click.Context, name: str) -> Note:
    """Forget the secret of NAME."""
    name = name.removeprefix("claw://")
    Vault(workspace(ctx).home).drop(name)
    return Note(text=f"Forgot claw://{name}.", facts={"name": f"claw://{name}", "removed": True})
