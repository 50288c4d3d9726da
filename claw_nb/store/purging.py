"""Taking removed conversations out of what is sealed, and out of the payloads beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

from claw_nb.store import segments as lake
from claw_nb.store.blobs import Blobs
from claw_nb.store.duck import listed, scratch
from claw_nb.store.segments import Segment


def removed(read: sqlite3.Connection, *, before: int | None = None) -> list[str]:
    """The sessions whose rows are still to be taken out, or those removed ``before`` a time."""
    query = "SELECT id FROM removed_sessions WHERE removed < ? OR ? IS NULL ORDER BY id"
    return [row[0] for row in read.execute(query, (before, before))]


def condition(sessions: Sequence[str]) -> str:
    """The SQL condition on rows of these sessions."""
    return f"coalesce(list_contains({listed(sessions)}, session_id), false)"


def holding(root: Path, segments: Sequence[Segment], sessions: Sequence[str]) -> list[Segment]:
    """The segments in which rows of these sessions are."""
    files = {str(root / segment.path): segment for segment in segments}
    if not files or not sessions:
        return []
    with scratch() as duck:
        found = duck.execute(
            f"SELECT DISTINCT filename FROM {lake.reading(list(map(Path, files)), also=', filename = true')} "
            f"WHERE session_id IN (SELECT unnest({listed(sessions)}))"
        ).fetchall()
    return [files[name] for (name,) in found]


def sweep_blobs(
    blobs: Blobs, files: Sequence[Path], hot: Collection[str], *, before: float
) -> None:
    """Delete payloads that no row refers to, last saved ``before`` (in Unix seconds).

    ``hot`` are the digests that rows of the inbox refer to; ``files`` hold the other rows.
    """
    kept = set(hot)
    if files:
        with scratch() as duck:
            kept |= {blob for (blob,) in duck.execute(
                f"SELECT DISTINCT blob FROM {lake.reading(files)} WHERE blob IS NOT NULL"
            ).fetchall()}  # fmt: skip
    keep = {blobs.path(digest) for digest in kept}
    for path in blobs.folder.glob("*/*"):
        if path not in keep and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
