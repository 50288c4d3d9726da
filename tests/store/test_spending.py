"""The sums of what was spent follow the log, in every process and after a refusal of the disk."""

import pytest

from claw_nb.core.messages import Usage
from claw_nb.store import Store
from claw_nb.store.spending import DAY

TURN = {
    "kind": "turn.finished", "name": "p", "model": "m", "agent": "main", "session_id": "s",
    "tokens_in": 10, "tokens_out": 2, "cost": 0.5,
}  # fmt: skip


def test_sums_are_there_with_the_row(store, row):
    store.append([row(**TURN, data={"cache_read": 3, "task_run": "r1"}), row(**TURN)])
    spent = Usage(input=20, output=4, cache_read=3, cost=1.0)
    assert store.spending.today() == spent
    assert store.spending.of_session("s") == spent
    assert store.spending.of_session("other") == Usage(cost=0.0)
    assert store.spending.of_task_run("r1").input == 10


def test_a_session_pays_for_its_subagents_and_for_what_it_goes_on_as(store, row):
    first = store.sessions.create("nb", "main")
    second = store.sessions.succeed(first, "f" * 32)
    with store.tx() as tx:
        tx.execute("UPDATE sessions SET next = ? WHERE id = ?", (second.id, first.id))
    helper = store.sessions.create(f"subagent:{second.id}", "main")
    stranger = store.sessions.create("nb", "main")
    for session in (first, second, helper, stranger):
        store.append([row(**TURN | {"session_id": session.id})])
    sums = [store.spending.of_session(s.id).input for s in (first, second, helper, stranger)]
    assert sums == [30, 30, 30, 10]


def test_a_call_without_a_price_is_counted_as_such(store, row):
    store.append([row(**TURN | {"cost": None}), row(**TURN)])
    [spent] = store.spending.listing("model")
    assert (spent.name, spent.calls, spent.unpriced, spent.usage.cost) == ("p/m", 2, 1, 0.5)


def test_what_was_played_back_was_not_spent(store, row, rows_of):
    store.append([row(**TURN | {"name": "replay"})])
    assert store.spending.listing("day") == ()
    assert rows_of(store, "SELECT count(*) FROM usage") == [(0,)]
    assert rows_of(store, "SELECT count(*) FROM llm_calls") == [(1,)]


def test_days_are_told_apart(home, row):
    now = [10 * DAY + 5]
    store = Store.open(home, clock=lambda: now[0])
    for day in (8, 9, 10):
        store.append([row(**TURN).__class__(id=f"r{day}", ts=day * DAY, data={}, **TURN)])
    assert [spent.name for spent in store.spending.listing("day", days=2)] == [
        "1970-01-11",
        "1970-01-10",
    ]
    assert store.spending.today().input == 10
    store.close()


def test_the_view_agrees_before_and_after_sealing(store, row, rows_of):
    store.append([row(**TURN, data={"cache_read": 3}), row(**TURN)])
    for _ in range(2):
        assert rows_of(
            store, "SELECT sum(calls), sum(tokens_in), sum(cache_read), sum(cost) FROM usage"
        ) == [(2, 20, 3, 1.0)]
        store.compact(force=True)
    assert store.spending.today().input == 20


def test_a_summary_by_a_model_is_paid_for_too(store, row):
    more = {"status": "ok", "text": "s", "data": {"covers": 1, "at": 2, "after": 3}}
    store.append([row(**TURN | {"kind": "compaction.finished"} | more)])
    assert store.spending.today().cost == 0.5


@pytest.mark.parametrize("handle", ["", "..", "zz", "0" * 16, "*", "../../state"])
def test_a_handle_that_names_nothing_is_refused(store, handle):
    from claw_nb.core.errors import NotFound

    with pytest.raises(NotFound):
        store.read_result(handle)


def test_a_kept_result_goes_with_its_session(store):
    session = store.sessions.create("nb", "main")
    handle = store.keep_result(session.id, "bash", "a long result", agent="main")
    assert store.read_result(handle) == "a long result"
    with store.read() as read:
        [blob] = [row[0] for row in read.execute("SELECT blob FROM inbox WHERE kind='result.kept'")]
    assert blob.startswith(handle)
    store.compact(force=True)
    assert store.read_result(handle) == "a long result"
