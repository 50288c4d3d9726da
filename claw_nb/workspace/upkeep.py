"""What keeps a workspace in shape: long sessions summarised, memories made anew from the log."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import TYPE_CHECKING

from claw_nb.core.events import CompactionFinished
from claw_nb.core.records import LogRow

if TYPE_CHECKING:
    from claw_nb.workspace.workspace import Workspace


async def compact(work: Workspace, session: str) -> CompactionFinished | None:
    """Summarise a session's older turns; see ``Workspace.compact``."""
    head = work.store.sessions.living(session)
    done: CompactionFinished | None = None
    with work.store.leases.hold(head.id):
        past = work.store.sessions.past(head.id)
        agent = work.agent(work.settings, session_id=head.id)
        events = agent.compact(past.messages, compaction=past.compaction)
        kept = work.store.record(events, session=head, agent=agent.name)
        async with aclosing(kept):
            async for event in kept:
                if isinstance(event, CompactionFinished) and event.compaction:
                    done = event
    return done


def rebuild_memories(work: Workspace) -> int:
    """Make the memories what the log says; returns how many changed."""
    statement = "SELECT id, epoch_us(ts) AS ts, kind, data FROM events WHERE kind LIKE 'memory.%'"
    found = asyncio.run(work.store.query(statement)).rows()
    rows = [
        LogRow(id=id_, ts=ts, kind=kind, data=json.loads(data)) for id_, ts, kind, data in found
    ]
    return work.memories.rebuild(rows)
