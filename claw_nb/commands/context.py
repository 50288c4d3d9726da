"""How a command gets at the workspace that it works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import click

from claw_nb.workspace import Workspace


@dataclass(kw_only=True)
class Place:
    """Where a command runs: on the command line, or in a notebook with its own workspace.

    ``frames`` gives the user's data frames by name, which SQL can join.
    """

    open: Callable[[], Workspace]
    frames: Callable[[], dict[str, object]] = dict
    _workspace: Workspace | None = None

    @property
    def workspace(self) -> Workspace:
        """The workspace, opened at first use."""
        if self._workspace is None:
            self._workspace = self.open()
        return self._workspace


def place(ctx: click.Context) -> Place:
    """The place of the running command."""
    found = ctx.find_object(Place)
    if found is None:
        raise RuntimeError("a command needs a Place as its context object")
    return found


def workspace(ctx: click.Context) -> Workspace:
    """The workspace of the running command."""
    return place(ctx).workspace
