"""``claw lab``: JupyterLab from the environment that claw_nb is installed in."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from claw_nb.core.errors import NotFound


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lab(arguments: tuple[str, ...]) -> None:
    """Start JupyterLab; ARGUMENTS go to jupyter lab.

    The server extension was switched on when claw_nb was installed; JupyterLab started any other
    way has it too.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise NotFound("JupyterLab is not installed", hint="pip install 'claw-nb[lab]'")
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *arguments])
