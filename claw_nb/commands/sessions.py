"""``claw sessions``: the conversations that are kept."""

from __future__ import annotations

from pathlib import Path

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option, paging
from claw_nb.commands.output import Listing, Note
from claw_nb.commands.words import clipped, iso, moment
from claw_nb.core.errors import InvalidInput
from claw_nb.core.messages import Text, ToolCall, ToolResult
from claw_nb.core.records import Session


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(ctx: click.Context) -> Listing | None:
    """Conversations: list, show, export, import, remove."""
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


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
@click.pass_context
def export(ctx: click.Context, session_id: str, file: Path) -> Note:
    """Write a session to FILE as JSON lines, which `claw sessions import` takes in again."""
    store = workspace(ctx).store
    session = store.sessions.get(session_id)
    try:
        file.write_text("".join(f"{line}\n" for line in store.sessions.export(session.id)), "utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}.", hint="Give another file."
        ) from error
    return Note(
        text=f"Wrote {session.messages} messages to {file}.",
        facts={"id": session.id, "file": str(file), "messages": session.messages},
    )


@sessions.command(name="import")
@click.argument("files", metavar="FILE", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
@click.pass_context
def import_(ctx: click.Context, files: tuple[Path, ...]) -> Listing:
    """Take sessions in from FILEs of JSON lines; what is here already is left alone.

    The files in the home's sessions folder are such files: a damaged database is rebuilt of them.
    """
    store = workspace(ctx).store
    done = [store.sessions.restore(file) for file in files]
    rows = [(one.session.id, one.session.title, one.added, one.broken) for one in done]
    columns = ("id", "title", "new messages", "unreadable lines")
    return Listing(
        title=f"{len(done)} session{'' if len(done) == 1 else 's'}",
        columns=columns,
        rows=rows,
        records=[dict(zip(("id", "title", "added", "broken"), row, strict=True)) for row in rows],
    )


@sessions.command(name="rm")
@click.argument("session_id", metavar="ID")
@json_option
@click.pass_context
def remove(ctx: click.Context, session_id: str) -> Note:
    """Remove a session for good, with all that was said in it."""
    store = workspace(ctx).store
    session = store.sessions.get(session_id)
    store.sessions.remove(session.id)
    return Note(text=f"Removed session {session.id}.", facts={"id": session.id, "removed": True})
