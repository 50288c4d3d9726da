"""``claw config``: the settings, where each comes from, and how to change one."""

from __future__ import annotations

import os
from typing import Any

import click
import tomlkit

from claw_nb import config as settings
from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Listing, Note
from claw_nb.core.errors import ConfigError, StoreError
from claw_nb.core.named import is_named


@click.group(invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> Listing | None:
    """Settings: list, get, set."""
    return None if ctx.invoked_subcommand else ctx.invoke(list_)


def _shown(name: str, value: object) -> object:
    plain = name.endswith("api_key") and isinstance(value, str) and value and not is_named(value)
    return "(set)" if plain else value


@config.command(name="list")
@json_option
@click.pass_context
def list_(ctx: click.Context) -> Listing:
    """List every setting with its value, variable and meaning."""
    now = workspace(ctx).settings
    described = settings.describe()
    values = {name: _shown(name, getattr(now, name)) for name, *_ in described}
    return Listing(
        title=str(settings.settings_file(workspace(ctx).home)),
        columns=("key", "value", "variable", "meaning"),
        rows=[
            (key, "" if values[name] is None else values[name], variable, doc)
            for name, key, variable, _default, doc in described
        ],
        records=[
            {"key": key, "value": values[name], "variable": variable, "meaning": doc}
            for name, key, variable, _default, doc in described
        ],
    )


@config.command()
@click.argument("key")
@json_option
@click.pass_context
def get(ctx: click.Context, key: str) -> Note:
    """Show one setting."""
    name = settings.name_of(key)
    value = _shown(name, getattr(workspace(ctx).settings, name))
    return Note(text="" if value is None else str(value), facts={"key": key, "value": value})


@config.command(name="set")
@click.argument("key")
@click.argument("value")
@json_option
@click.pass_context
def set_(ctx: click.Context, key: str, value: str) -> Note:
    """Set KEY to VALUE in config.toml; comments and order stay."""
    home = workspace(ctx).home
    name = settings.name_of(key)
    dotted = {n: k for n, k, *_ in settings.describe()}[name]
    checked = settings.load(home, env={}, **{name: value})
    path = settings.settings_file(home)
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else None
    except tomlkit.exceptions.ParseError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", hint="Mend that line.") from error
    document = document or tomlkit.document()
    table: Any = document
    *sections, last = dotted.split(".")
    for section in sections:
        table = table.setdefault(section, tomlkit.table())
    table[last] = getattr(checked, name)
    try:
        home.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f".config.{os.getpid()}.toml")
        scratch.touch(mode=0o600)
        scratch.write_text(tomlkit.dumps(document), encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error}", hint="Set CLAW_HOME to a folder that can be."
        ) from error
    shown = _shown(name, getattr(checked, name))
    return Note(text=f"{dotted} = {shown}", facts={"key": dotted, "value": shown})
