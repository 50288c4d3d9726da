"""``claw lab``: JupyterLab with claw_nb switched on."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from claw_nb.core.errors import NotFound


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lab(arguments: tuple[str, ...]) -> None:
    """Start JupyterLab with claw_nb's server extension; ARGUMENTS go to jupyter lab."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise NotFound("JupyterLab is not installed", hint="pip install 'claw-nb[lab]'")
    enabled = '--ServerApp.jpserver_extensions={"claw_nb_server": true}'
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", enabled, *arguments])
