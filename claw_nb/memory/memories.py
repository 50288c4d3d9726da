"""What is remembered: kept with its source, found again by search."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from claw_nb.core.clock import Clock, NewId, new_id, now
from claw_nb.core.errors import ClawError, InvalidInput, NotFound
from claw_nb.core.locks import FileLock
from claw_nb.core.protocols import MemoryHit
from claw_nb.core.records import LogRow, Memory
from claw_nb.core.wire import to_json
from claw_nb.memory import embeddings, guard
from claw_nb.memory.embeddings import Embedder

if TYPE_CHECKING:
    from claw_nb.memory.index import Index
    from claw_nb.memory.shelf import Shelf
    from claw_nb.memory.vectors import Vectors

CATEGORIES = ("fact", "preference", "pattern", "decision", "context")

Log = Callable[[LogRow], None]
"""Keeps a row durably before it returns."""


class Memories:
    """The memories of one agent in ``folder``; every method blocks, and any thread may call it.

    What changes them is logged first and then done, so that the log can always make them anew.
    ``lock`` is the file that keeps writers of all processes apart.
    """

    def __init__(
        self,
        folder: Path,
        lock: Path,
        *,
        embedder: Embedder | str | None = None,
        agent: str = "main",
        clock: Clock = now,
        new_id: NewId = new_id,
        log: Log | None = None,
    ) -> None:
        self.folder = folder
        self.agent = agent
        self._lock = lock
        self._embedder = embedder
        self._clock = clock
        self._new_id = new_id
        self._log: Log = log or (lambda row: None)
        self._worker: threading.Thread | None = None

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors; None means that texts are found by their words and letters alone."""
        chosen = self._embedder
        return embeddings.make(chosen) if isinstance(chosen, str) else chosen

    @cached_property
    def _shelf(self) -> Shelf:
        from claw_nb.memory.shelf import Shelf  # loads LanceDB

        return Shelf(self.folder, agent=self.agent)

    @cached_property
    def _vectors(self) -> Vectors | None:
        from claw_nb.memory.vectors import Vectors

        return Vectors(self.folder, self.embedder) if self.embedder else None

    @cached_property
    def _index(self) -> Index:
        from claw_nb.memory.index import Index

        return Index(self._shelf, self._vectors)

    # -- keeping -------------------------------------------------------------------------------

    def add(
        self,
        text: str,
        *,
        category: str = "fact",
        tags: Sequence[str] = (),
        source: str = "user",
        speaker: str = "",
        session_id: str | None = None,
        position: int | None = None,
        created_at: int | None = None,
    ) -> Memory:
        """Remember a text; when it is known already, the memory that says it comes back.

        Raises InvalidInput for secrets, invisible characters and unknown categories.
        """
        memory = Memory(
            id="",
            text=text,
            category=category,
            tags=tuple(tags),
            source=source,
            speaker=speaker,
            session_id=session_id,
            position=position,
            created=created_at or 0,
        )
        return self.add_many([memory])[0]

    def add_many(self, memories: Iterable[Memory]) -> tuple[Memory, ...]:
        """Remember several at once; those without id or time get them.

        Returns one memory for each given one: it, or the one that said the same before.
        """
        ready = [self._checked(memory) for memory in memories]
        with FileLock(self._lock):
            kept, fresh = self._shelf.sorted_out(ready)
            for memory in fresh:
                self._log(self._row("memory.added", memory))
            if fresh:
                self._shelf.put(fresh)
        return kept

    def remove(self, id_: str) -> Memory:
        """Forget a memory, with its vectors; the log still knows it. Raises NotFound."""
        with FileLock(self._lock):
            memory = self.get(id_)
            self._log(self._row("memory.removed", memory))
            self._shelf.drop([memory.id])
        return memory

    def rebuild(self, rows: Iterable[LogRow]) -> int:
        """Make the memories what the log says, from its ``memory.*`` rows; returns what changed."""
        alive: dict[str, Memory] = {}
        gone: set[str] = set()
        for row in sorted(rows, key=lambda row: (row.ts, row.id)):
            memory = _from_row(row)
            if row.kind == "memory.added":
                alive[memory.id] = memory
                gone.discard(memory.id)
            elif row.kind == "memory.removed":
                alive.pop(memory.id, None)
                gone.add(memory.id)
        with FileLock(self._lock):
            return self._shelf.mend(list(alive.values()), sorted(gone))

    def _checked(self, memory: Memory) -> Memory:
        if memory.category not in CATEGORIES:
            raise InvalidInput(
                f"there is no category named {memory.category}",
                hint=f"Choose one of {', '.join(CATEGORIES)}.",
            )
        if memory.position is not None and memory.session_id is None:
            raise InvalidInput("a position needs a session", hint="Give the session_id as well.")
        stamp = self._clock()
        return replace(
            memory,
            id=memory.id or self._new_id(),
            text=guard.check(memory.text),
            tags=tuple(dict.fromkeys(guard.check(tag) for tag in memory.tags)),
            speaker=guard.check(memory.speaker) if memory.speaker else "",
            agent=self.agent,
            created=memory.created or stamp,
            updated=memory.updated or stamp,
        )

    def _row(self, kind: str, memory: Memory) -> LogRow:
        return LogRow(
            id=self._new_id(),
            ts=self._clock(),
            kind=kind,
            session_id=memory.session_id,
            agent=memory.agent,
            name=memory.category,
            text=memory.text,
            data=to_json(memory),
        )

    # -- looking -------------------------------------------------------------------------------

    def get(self, id_: str) -> Memory:
        """The memory with this id, or with the only id that begins so; raises NotFound."""
        found = self._shelf.beginning_with(id_) if id_ else []
        if len(found) == 1:
            return found[0]
        raise NotFound(
            f"{len(found) or 'no'} memories have an id that begins with {id_!r}",
            hint="`claw memory list` shows the ids.",
        )

    def list(
        self, limit: int = 20, offset: int = 0, *, category: str | None = None
    ) -> tuple[Memory, ...]:
        """A page of the memories, the latest first."""
        return tuple(self._shelf.newest(limit, offset, category=category))

    def count(self, *, category: str | None = None) -> int:
        """How many memories there are."""
        return self._shelf.count(category=category)

    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        category: str | None = None,
        tag: str | None = None,
        session_id: str | None = None,
        as_of: int | None = None,
    ) -> tuple[MemoryHit, ...]:
        """What fits a question, best first; ``weak`` marks what may have nothing to do with it.

        ``as_of`` (UTC microseconds) asks as if it were that moment: what came later isn't there,
        and age counts from then. Memories whose vector is still pending are found by their text.
        """
        if not query.strip():
            raise InvalidInput("nothing was asked", hint="Say what should be recalled.")
        if limit < 1:
            raise InvalidInput(f"the limit must be above 0, not {limit}")

        def fits(memory: Memory) -> bool:
            return (
                category in (None, memory.category)
                and (tag is None or tag in memory.tags)
                and session_id in (None, memory.session_id)
            )

        found = self._index.search(query, limit=limit, fits=fits, now=self._clock(), as_of=as_of)
        return tuple(found)

    # -- vectors -------------------------------------------------------------------------------

    def pending(self) -> int:
        """How many memories wait for their vector; 0 without an embedder."""
        return len(self._vectors.pending(self._shelf.all())) if self._vectors else 0

    def embed_pending(self) -> int:
        """Make the missing vectors now; returns how many."""
        if self._vectors is None:
            return 0
        waiting = self._vectors.pending(self._shelf.all())
        done = 0
        # Python waits for the worker thread when it exits: the rest is then left for the next time.
        while done < len(waiting) and threading.main_thread().is_alive():
            batch = waiting[done : done + _BATCH]
            made = self._vectors.of(batch)
            with FileLock(self._lock):
                self._vectors.put(batch, made)
            done += len(batch)
        return done

    def embed_soon(self) -> None:
        """Make the missing vectors in a thread, and return at once."""
        if self.embedder is None or (self._worker is not None and self._worker.is_alive()):
            return
        self._worker = threading.Thread(target=self._embed_in_peace, name="claw-embed")
        self._worker.start()

    def _embed_in_peace(self) -> None:
        # What fails here stays pending, and is found by its text until the next try.
        with suppress(ClawError):
            self.embed_pending()


_BATCH = 256


def _from_row(row: LogRow) -> Memory:
    known = {name: row.data[name] for name in Memory.__dataclass_fields__ if name in row.data}
    return Memory(**known | {"tags": tuple(known.get("tags", ()))})
