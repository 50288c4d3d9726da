"""``claw compact``: a long conversation made shorter for the model, now."""

from __future__ import annotations

import asyncio
import threading

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Note
from claw_nb.core.errors import ClawError, NotFound
from claw_nb.core.events import CompactionFinished
from claw_nb.workspace import Workspace


@click.command()
@click.argument("session", required=False)
@json_option
@click.pass_context
def compact(ctx: click.Context, session: str | None) -> Note:
    """Summarise the older turns of SESSION (default: the last one), keeping its transcript whole.

    It happens by itself when the model's window fills up.
    """
    work = workspace(ctx)
    if session is None:
        latest, _ = work.store.sessions.list(limit=1)
        if not latest:
            raise NotFound("There is no session yet.", hint="Ask something first.")
        session = latest[0].id
    done = _away_from_any_loop(work, session)
    if done is None:
        return Note(text="There is nothing to gain yet.", facts={"compacted": False})
    return Note(
        text=f"The model is now sent about {done.after:,} tokens instead of {done.before:,}. "
        "The transcript stays whole.",
        facts={"compacted": True, "before": done.before, "after": done.after},
    )


def _away_from_any_loop(work: Workspace, session: str) -> CompactionFinished | None:
    """In a thread: a notebook's kernel has a loop already."""
    done: list[CompactionFinished | None] = []
    refused: list[ClawError] = []

    def run() -> None:
        try:
            done.append(asyncio.run(work.compact(session)))
        except ClawError as error:
            refused.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if refused:
        raise refused[0]
    return done[0] if done else None
