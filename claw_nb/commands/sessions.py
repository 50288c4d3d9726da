"""``claw sessions``: the conversations that are kept."""

from __future__ import annotations

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option, paging
from claw_nb.commands.output import Listing, Note
from claw_nb.commands.words import clipped, iso, moment
from claw_nb.core.messages import Text, ToolCall, ToolResult
from claw_nb.core.records import Session


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(ctx: click.Context) -> Listing | None:
    """Conversations: list, show, remove."""
    return None if ctx.invoked_subcommand else ctx.invoke(list_)


def _record(session: Session) -> dict[str, object]:
    return {
        "id": session.id,
        "title": session.title,
        "key": session.key,
        "agent": session.agent,
        "messages": session.messages,
        "created": iso(session.created),
        "updated": iso(session.updated),
    }


@sessions.command(name="list")
@paging
@json_option
@click.pass_context
def list_(ctx: click.Context, limit: int, offset: int) -> Listing:
    """List sessions, the latest first."""
    rows, total = workspace(ctx).store.sessions.list(limit=limit, offset=offset)
    return Listing(
        title=f"{total} session{'' if total == 1 else 's'}",
        columns=("id", "title", "messages", "updated", "where"),
        rows=[
            (s.id[:13], clipped(s.title, 50), s.messages, moment(s.updated), clipped(s.key, 40))
            for s in rows
        ],
        records=[_record(s) for s in rows],
        empty="No session yet: ask something first.",
    )


@sessions.command()
@click.argument("session_id", metavar="ID")
@json_option
@click.pass_context
def show(ctx: click.Context, session_id: str) -> Listing:
    """Show a session's messages. ID may be cut short while it stays unique."""
    store = workspace(ctx).store
    session = store.sessions.get(session_id)
    rows: list[tuple[str, str]] = []
    for message in store.sessions.messages(session.id):
        for part in message.parts:
            match part:
                case Text(text=text):
                    rows.append((message.role, text))
                case ToolCall(name=name, arguments=arguments):
                    rows.append(("tool call", f"{name} {dict(arguments)}"))
                case ToolResult(name=name) as result:
                    rows.append((f"{name}", clipped(result.text, 400)))
                case _:
                    continue
    return Listing(
        title=session.title or session.id,
        columns=("who", "what"),
        rows=rows,
        records=[{"role": who, "text": what} for who, what in rows],
        empty="The session is empty.",
    )


@sessions.command(name="rm")
@click.argument("session_id", metavar="ID")
@json_option
@click.pass_context
def remove(ctx: click.Context, session_id: str) -> Note:
    """Remove a session from the list; its log rows stay in the log."""
    store = workspace(ctx).store
    session = store.sessions.get(session_id)
    store.sessions.remove(session.id)
    return Note(text=f"Removed session {session.id}.", facts={"id": session.id, "removed": True})
