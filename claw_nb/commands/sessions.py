"""``claw sessions``: the conversations that are kept."""

from __future__ import annotations

from pathlib import Path

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option, paging
from claw_nb.commands.output import Listing, Note
from claw_nb.commands.search import search as search_messages
from claw_nb.commands.words import clipped, iso, moment
from claw_nb.core.atomic import write_whole
from claw_nb.core.counted import counted
from claw_nb.core.errors import Conflict
from claw_nb.core.messages import Text, ToolCall, ToolResult
from claw_nb.core.records import Session


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(ctx: click.Context) -> Listing | None:
    """Conversations: list, show, search, export, import, remove."""
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
@click.argument("words", nargs=-1, required=True)
@paging
@json_option
@click.pass_context
def search(ctx: click.Context, words: tuple[str, ...], limit: int, offset: int) -> Listing:
    """Find messages of any session by WORDS, best first, with what stands around them.

    Questions, answers, results of tools and what tools were called with are searched.
    """
    question = " ".join(words)
    found = search_messages(workspace(ctx), question, limit=limit, offset=offset)
    return Listing(
        title=f"Messages for: {question}",
        columns=("session", "when", "who", "excerpt"),
        rows=[
            (hit.session_id[:13], f"{hit.ts:%Y-%m-%d %H:%M}", hit.role, hit.excerpt)
            for hit in found
        ],
        records=[
            {
                "session": hit.session_id,
                "title": hit.title,
                "role": hit.role,
                "ts": f"{hit.ts.isoformat()}Z",
                "score": round(hit.score, 3),
                "excerpt": hit.excerpt,
            }
            for hit in found
        ],
        empty="Nothing was said about that.",
    )


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--force", is_flag=True, help="Write over FILE if it exists.")
@json_option
@click.pass_context
def export(ctx: click.Context, session_id: str, file: Path | None, force: bool) -> Note:
    """Write a session as JSON lines to FILE (default: ID.jsonl here).

    `claw sessions import` takes it in again, in this home or in another.
    """
    store = workspace(ctx).store
    session = store.sessions.get(session_id)
    lines = list(store.sessions.export(session.id))
    file = file or Path(f"{session.id}.jsonl")
    if file.exists() and not force:
        raise Conflict(f"{file} exists already.", hint="Name another file, or use --force.")
    write_whole(file, "\n".join(lines) + "\n")
    return Note(
        text=f"Wrote {counted(len(lines) - 1, 'message')} to {file}.",
        facts={"id": session.id, "file": str(file), "messages": len(lines) - 1},
    )


@sessions.command(name="import")
@click.argument(
    "files",
    metavar="FILE",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
)
@json_option
@click.pass_context
def import_(ctx: click.Context, files: tuple[Path, ...]) -> Listing:
    """Take sessions in from FILEs of JSON lines; what is here already stays as it is.

    The files in the home's sessions folder are such files: a damaged database is rebuilt of them.
    """
    store = workspace(ctx).store
    taken = [store.sessions.restore(file) for file in files]
    return Listing(
        title=f"{len(taken)} session{'' if len(taken) == 1 else 's'}",
        columns=("id", "title", "new messages", "unreadable lines"),
        rows=[(one.session.id[:13], one.session.title, one.added, one.broken) for one in taken],
        records=[{"id": one.session.id, "added": one.added, "broken": one.broken} for one in taken],
    )


@sessions.command(name="rm")
@click.argument("session_id", metavar="ID")
@json_option
@click.pass_context
def remove(ctx: click.Context, session_id: str) -> Note:
    """Remove a session and all that was said in it, here and in the log.

    Refused while it is being answered.
    """
    store = workspace(ctx).store
    session = store.sessions.get(session_id)
    with store.leases.hold(session.id):
        store.sessions.remove(session.id)
    store.leases.forget(session.id)
    return Note(text=f"Removed session {session.id}.", facts={"id": session.id, "removed": True})
