"""Real stores in a temporary home."""

from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

import pytest

from claw_nb.core.clock import new_id, now
from claw_nb.core.events import Event
from claw_nb.core.records import LogRow
from claw_nb.store import Store


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    store = Store.open(home)
    yield store
    store.close()


@pytest.fixture
def row():
    """Makes a log row."""

    def make(kind: str = "note", **columns) -> LogRow:
        return LogRow(id=new_id(), ts=now(), kind=kind, **columns)

    return make


@pytest.fixture
def stream():
    """Makes a stream of events."""

    async def make(events: Iterable[Event]) -> AsyncIterator[Event]:
        for event in events:
            yield event

    return make


@pytest.fixture
def rows_of():
    """The rows of a query over the store's views."""

    def rows(store: Store, sql: str) -> list[tuple]:
        duck = store.connect()
        try:
            return duck.execute(sql).fetchall()
        finally:
            duck.close()

    return rows
