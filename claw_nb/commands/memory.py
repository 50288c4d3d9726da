"""``claw memory``: what is remembered, and from where."""

from __future__ import annotations

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option, paging
from claw_nb.commands.output import Listing, Note
from claw_nb.commands.words import clipped, iso, moment

CATEGORIES = ("fact", "preference", "pattern", "decision", "context")


@click.group(invoke_without_command=True)
@click.pass_context
def memory(ctx: click.Context) -> Listing | None:
    """What the agent remembers: add, search, list, remove."""
    return None if ctx.invoked_subcommand else ctx.invoke(list_)


@memory.command()
@click.argument("text")
@click.option("--category", type=click.Choice(CATEGORIES), default="fact", show_default=True)
@click.option("--tag", "tags", multiple=True, help="A tag; may be given more than once.")
@json_option
@click.pass_context
def add(ctx: click.Context, text: str, category: str, tags: tuple[str, ...]) -> Note:
    """Remember TEXT."""
    kept = workspace(ctx).memories.add(text, category=category, tags=tags, source="user")
    return Note(text=f"Remembered as {kept.id[:13]}.", facts={"id": kept.id, "text": kept.text})


@memory.command()
@click.argument("query")
@click.option("--limit", "-n", type=click.IntRange(1, 100), default=5, show_default=True)
@json_option
@click.pass_context
def search(ctx: click.Context, query: str, limit: int) -> Listing:
    """Find what fits QUERY, best first."""
    hits = workspace(ctx).memories.search(query, limit=limit)
    return Listing(
        title=f"Memories for: {query}",
        columns=("score", "text", "category", "source", "created"),
        rows=[
            (
                f"{h.score:.2f}{' weak' if h.weak else ''}",
                clipped(h.text, 90),
                h.category,
                h.source,
                h.created[:16].replace("T", " "),
            )
            for h in hits
        ],
        records=[
            {
                "id": h.id,
                "text": h.text,
                "score": h.score,
                "weak": h.weak,
                "category": h.category,
                "tags": list(h.tags),
                "source": h.source,
                "session_id": h.session_id,
                "created": h.created,
                "why": dict(h.why),
            }
            for h in hits
        ],
        empty="Nothing remembered fits.",
    )


@memory.command(name="list")
@paging
@json_option
@click.pass_context
def list_(ctx: click.Context, limit: int, offset: int) -> Listing:
    """List memories, the latest first."""
    rows = workspace(ctx).memories.list(limit=limit, offset=offset)
    return Listing(
        title="Memories",
        columns=("id", "text", "category", "tags", "source", "created"),
        rows=[
            (
                m.id[:13],
                clipped(m.text, 90),
                m.category,
                ", ".join(m.tags),
                m.source,
                moment(m.created),
            )
            for m in rows
        ],
        records=[
            {
                "id": m.id,
                "text": m.text,
                "category": m.category,
                "tags": list(m.tags),
                "source": m.source,
                "session_id": m.session_id,
                "created": iso(m.created),
            }
            for m in rows
        ],
        empty="Nothing is remembered yet.",
    )


@memory.command(name="rm")
@click.argument("memory_id", metavar="ID")
@json_option
@click.pass_context
def remove(ctx: click.Context, memory_id: str) -> Note:
    """Forget a memory. ID may be cut short while it stays unique."""
    memories = workspace(ctx).memories
    gone = memories.get(memory_id)
    memories.remove(gone.id)
    return Note(text=f"Forgot {gone.id[:13]}: {clipped(gone.text)}", facts={"id": gone.id})


@memory.command()
@json_option
@click.pass_context
def rebuild(ctx: click.Context) -> Note:
    """Make the memories anew from the log, for example when their files are broken."""
    changed = workspace(ctx).rebuild_memories()
    return Note(text=f"Mended: {changed}.", facts={"changed": changed})
