"""Tasks as they are kept: added, changed, claimed once, missed with a reason."""

import json
from pathlib import Path

import pytest

from claw_nb.core.errors import Conflict, InvalidInput, NotFound
from claw_nb.store import Store
from claw_nb.store.runs import Outcome
from claw_nb.tasks import Tasks, due
from claw_nb.tasks.schedule import SECOND

MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND
NINE = 1_796_029_200 * SECOND  # 2026-11-30T09:00Z, a Monday


class Clock:
    """A clock that the test sets."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at


@pytest.fixture
def clock():
    return Clock(NINE - HOUR)


@pytest.fixture
def store(tmp_path, clock):
    store = Store.open(tmp_path / "home", clock=clock)
    yield store
    store.close()


@pytest.fixture
def tasks(store):
    return Tasks(store)


def ask(tasks, name="report", **given):
    schedule = given or {"cron": "0 9 * * *"}
    return tasks.add(name, prompt="What is new?", timezone="UTC", **schedule)


def look(tasks, clock, *, worker="me", limit=100):
    """What a scheduler's look does."""
    now = clock()
    tasks.queue.enqueue([due.plan(task, now) for task in tasks.table.due(now, limit=500)])
    return tasks.occurrences.take(worker, limit=limit)


def statuses(tasks, task):
    return [(run.status, run.due) for run in reversed(tasks.runs(task, limit=100)[0])]


def log(store, kind):
    with store.read() as db:
        rows = db.execute(
            "SELECT status, text, data FROM inbox WHERE kind = ? ORDER BY seq", (kind,)
        )
        return [tuple(row) for row in rows]


# -- keeping ---------------------------------------------------------------------------------------


def test_a_task_is_found_by_name_id_and_the_beginning_of_its_id(tasks):
    task = ask(tasks)
    assert tasks.find("report") == tasks.get(task.id) == tasks.find(task.id[:12]) == task
    assert task.next_run == NINE
    for unknown in ("repor", "%", "*", "x" * 12):
        with pytest.raises(NotFound):
            tasks.find(unknown)


def test_a_name_is_unique_for_its_agent(tasks):
    ask(tasks)
    with pytest.raises(Conflict, match="already a task"):
        ask(tasks)
    tasks.add("report", prompt="?", every="1h", agent_id="other")
    with pytest.raises(Conflict, match="more than one"):
        tasks.find("report")
    assert tasks.find("report", agent_id="other").agent_id == "other"


def test_tasks_are_listed_newest_first_in_pages(tasks, clock):
    for number in range(5):
        clock.at += SECOND
        ask(tasks, f"t{number}")
    rows, total = tasks.list(limit=2, offset=1)
    assert ([task.name for task in rows], total) == (["t3", "t2"], 5)


@pytest.mark.parametrize(
    "given",
    [
        {"prompt": "?", "notebook": "x.ipynb", "every": "1h"},
        {"every": "1h"},
        {"prompt": " ", "every": "1h"},
        {"prompt": "?"},
        {"prompt": "?", "every": "1h", "cron": "@daily"},
        {"prompt": "?", "every": "1h", "parameters": {"a": 1}},
        {"prompt": "?", "every": "1h", "timeout_minutes": -1},
        {"prompt": "?", "every": "1h", "timeout_minutes": float("nan")},
        {"prompt": "?", "at": "2026-11-30T06:00", "timezone": "UTC"},
        {"notebook": "missing.ipynb", "every": "1h"},
    ],
)
def test_what_makes_no_sense_is_refused_with_the_next_step(tasks, given):
    with pytest.raises(InvalidInput) as refused:
        tasks.add("t", **given)
    assert refused.value.hint
    assert tasks.list() == ((), 0)


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 201])
def test_a_bad_name_is_refused(tasks, name):
    with pytest.raises(InvalidInput):
        ask(tasks, name)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"[1]", b'{"worksheets": []}'])
def test_a_file_that_is_no_notebook_is_refused(tasks, tmp_path, content):
    path = tmp_path / "n.ipynb"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="not a notebook"):
        tasks.add("t", notebook=path, every="1h")


def test_parameters_must_be_json(tasks, tmp_path):
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    with pytest.raises(InvalidInput, match="not JSON"):
        tasks.add("t", notebook=path, parameters={"p": Path()}, every="1h")
    kept = tasks.add("t", notebook=path, parameters={"p": [1, {"a": None}]}, every="1h")
    assert tasks.get(kept.id).target["parameters"] == {"p": [1, {"a": None}]}


def test_a_change_of_something_that_has_changed_is_a_conflict(tasks):
    old = ask(tasks)
    new = tasks.update(old, misfire="skip")
    assert (new.misfire, new.rev) == ("skip", old.rev + 1)
    with pytest.raises(Conflict, match="somebody else"):
        tasks.update(old, misfire="all")
    tasks.remove(new)
    with pytest.raises(NotFound):
        tasks.update(new, misfire="all")


@pytest.mark.parametrize(
    "change",
    [
        {"timeout_minutes": -5.0},
        {"grace_seconds": float("nan")},
        {"target": {"notebook": "gone.ipynb"}},
        {"target": {"prompt": " "}},
        {"target": {"prompt": "?", "cell_timeout": -1}},
    ],
)
def test_a_change_is_looked_at_as_strictly_as_a_new_task(tasks, change):
    task = ask(tasks)
    with pytest.raises(InvalidInput):
        tasks.update(task, **change)
    assert tasks.get(task.id) == task


def test_a_run_in_between_does_not_spoil_a_change(tasks, clock):
    task = ask(tasks)
    clock.at = NINE
    look(tasks, clock)
    changed = tasks.update(task, misfire="skip")
    assert changed.next_run == NINE + DAY


def test_every_change_is_logged_with_it(tasks, store):
    task = ask(tasks)
    tasks.resume(tasks.pause(task))
    tasks.remove(tasks.get(task.id))
    with store.read() as db:
        kinds = [row[0] for row in db.execute("SELECT kind FROM inbox ORDER BY seq")]
    assert kinds == ["task.added", "task.paused", "task.resumed", "task.removed"]


# -- being due -------------------------------------------------------------------------------------


def test_an_occurrence_is_claimed_once_and_the_next_one_reckoned(tasks, clock):
    task = ask(tasks)
    assert look(tasks, clock) == ()
    clock.at = NINE
    plans = [due.plan(task, NINE) for task in tasks.table.due(NINE, limit=9)]
    (run,) = look(tasks, clock)
    assert (run.due, run.trigger, run.status, run.worker) == (NINE, "schedule", "running", "me")
    # A second scheduler that had read the same due task comes too late.
    tasks.queue.enqueue(plans)
    assert tasks.occurrences.take("other", limit=9) == ()
    assert statuses(tasks, task) == [("running", NINE)]
    assert tasks.get(task.id).next_run == NINE + DAY


def test_an_occurrence_never_runs_twice_when_the_clock_or_the_schedule_goes_back(tasks, clock):
    task = ask(tasks)
    clock.at = NINE
    (run,) = look(tasks, clock)
    tasks.occurrences.finish(run, Outcome(status="success"))
    clock.at = NINE - HOUR
    assert look(tasks, clock) == ()
    task = tasks.table.update(tasks.get(task.id), next_run=NINE)
    clock.at = NINE + SECOND
    assert look(tasks, clock) == ()
    assert statuses(tasks, task) == [("success", NINE)]


def test_a_late_run_is_made_up_for_within_its_grace(tasks, clock):
    task = ask(tasks)
    clock.at = NINE + 50 * MINUTE
    assert [run.due for run in look(tasks, clock)] == [NINE]
    assert statuses(tasks, task) == [("running", NINE)]


def test_a_run_past_its_grace_is_recorded_as_missed(tasks, clock, store):
    task = ask(tasks)
    clock.at = NINE + 2 * DAY + 3 * HOUR
    assert look(tasks, clock) == ()
    (run,), _ = tasks.runs(task)
    assert (run.status, run.due) == ("missed", NINE)
    assert run.error is not None
    assert run.error.startswith("3 runs, due from Mon 2026-11-30 09:00 UTC on, did not happen")
    assert [row[0] for row in log(store, "task_run.missed")] == ["missed"]
    assert tasks.get(task.id).next_run == NINE + 3 * DAY


def test_one_run_makes_up_for_all_that_were_missed(tasks, clock):
    task = ask(tasks)
    clock.at = NINE + 2 * DAY + MINUTE
    assert [run.due for run in look(tasks, clock)] == [NINE + 2 * DAY]
    assert statuses(tasks, task) == [("missed", NINE), ("running", NINE + 2 * DAY)]


def test_skip_forgives_only_what_is_nearly_on_time(tasks, clock):
    task = ask(tasks, every="1h", misfire="skip")
    clock.at = task.next_run + MINUTE
    assert len(look(tasks, clock)) == 1
    clock.at = task.next_run + HOUR + 5 * MINUTE
    assert look(tasks, clock) == ()
    assert [status for status, _ in statuses(tasks, task)] == ["running", "missed"]


def test_all_runs_each_occurrence_within_the_grace(tasks, clock):
    task = ask(tasks, every="10m", misfire="all", overlap="queue", grace_seconds=1800.0)
    first = task.next_run
    clock.at = first + 5 * 10 * MINUTE + SECOND
    (running,) = look(tasks, clock)
    assert statuses(tasks, task) == [
        ("missed", first),
        ("running", first + 30 * MINUTE),
        ("queued", first + 40 * MINUTE),
        ("queued", first + 50 * MINUTE),
    ]
    missed = tasks.runs(task)[0][-1]
    assert missed.error is not None
    assert missed.error.startswith("3 runs, due from")
    assert tasks.occurrences.take("me", limit=9) == ()
    tasks.occurrences.finish(running, Outcome(status="success"))
    assert [run.due for run in tasks.occurrences.take("me", limit=9)] == [first + 40 * MINUTE]


def test_a_run_is_skipped_while_the_one_before_is_going(tasks, clock):
    task = ask(tasks, every="10m")
    clock.at = task.next_run
    look(tasks, clock)
    clock.at += 10 * MINUTE
    assert look(tasks, clock) == ()
    assert [status for status, _ in statuses(tasks, task)] == ["running", "skipped"]


def test_runs_may_overlap_when_the_task_allows_it(tasks, clock):
    task = ask(tasks, every="10m", overlap="allow")
    clock.at = task.next_run
    assert len(look(tasks, clock)) == 1
    clock.at += 10 * MINUTE
    assert len(look(tasks, clock)) == 1


def test_a_pause_lasts_until_it_is_ended_and_makes_up_for_nothing(tasks, clock):
    task = tasks.pause(ask(tasks))
    clock.at = NINE + MINUTE
    assert look(tasks, clock) == ()
    task = tasks.resume(task)
    assert (task.status, task.next_run) == ("active", NINE + DAY)
    assert statuses(tasks, task) == []


def test_pausing_gives_up_what_was_waiting(tasks, clock):
    task = ask(tasks)
    clock.at = NINE
    look(tasks, clock, limit=0)
    tasks.pause(tasks.get(task.id))
    assert look(tasks, clock) == ()
    assert statuses(tasks, task) == [("skipped", NINE)]


def test_a_moment_is_completed_after_its_run_and_missed_when_nobody_was_there(tasks, clock):
    once = ask(tasks, "once", at="2026-11-30T09:00")
    clock.at = NINE
    (run,) = look(tasks, clock)
    assert tasks.get(once.id).status == "active"
    tasks.occurrences.finish(run, Outcome(status="error", error="no"))
    assert tasks.get(once.id).status == "completed"
    clock.at = NINE - HOUR
    late = ask(tasks, "late", at="2026-11-30T09:00")
    clock.at = NINE + DAY
    assert look(tasks, clock) == ()
    assert tasks.get(late.id).status == "missed"
    with pytest.raises(InvalidInput, match="gone by"):
        tasks.resume(tasks.get(late.id))


# -- by hand ---------------------------------------------------------------------------------------


def test_running_by_hand_leaves_the_schedule_alone(tasks, clock):
    task = tasks.pause(ask(tasks))
    queued = tasks.run_now(task)
    with pytest.raises(Conflict, match="already running"):
        tasks.run_now(task)
    (run,) = look(tasks, clock)
    assert (run.id, run.trigger) == (queued.id, "manual")
    tasks.occurrences.finish(run, Outcome(status="success", result="fine"))
    after = tasks.get(task.id)
    assert (after.status, after.next_run, after.last_result) == ("paused", task.next_run, "fine")


def test_a_cancelled_run_is_not_ended_a_second_time(tasks, clock):
    task = ask(tasks)
    clock.at = NINE
    (run,) = look(tasks, clock)
    tasks.cancel(run)
    assert not tasks.occurrences.finish(run, Outcome(status="success", notebook="/n.ipynb"))
    after = tasks.run(run.id)
    assert (after.status, after.notebook) == ("cancelled", "/n.ipynb")
    assert tasks.get(task.id).last_result is None


def test_a_moment_whose_run_was_cancelled_is_over(tasks, clock):
    once = ask(tasks, "once", at="2026-11-30T09:00")
    clock.at = NINE
    (run,) = look(tasks, clock)
    tasks.cancel(run)
    assert tasks.get(once.id).status == "completed"


# -- failing ---------------------------------------------------------------------------------------


def test_three_failures_in_a_row_pause_a_task(tasks, clock, store):
    task = ask(tasks, every="10m")
    for number, status in enumerate(["error", "error", "success", "error", "error", "error"]):
        clock.at = task.next_run + number * 10 * MINUTE
        (run,) = look(tasks, clock)
        assert tasks.occurrences.finish(run, Outcome(status=status, error="Boom", result="Fine"))
    paused = tasks.get(task.id)
    assert (paused.status, paused.failures, paused.last_result) == ("paused", 3, "Error: Boom")
    assert [row[1] for row in log(store, "task.paused")] == ["3 runs in a row have failed."]
    assert tasks.resume(paused).failures == 0


def test_a_result_is_kept_whole_and_shown_short(tasks, clock):
    task = ask(tasks)
    clock.at = NINE
    (run,) = look(tasks, clock)
    tasks.occurrences.finish(run, Outcome(status="success", result="x" * 5000))
    assert tasks.get(task.id).last_result == "x" * 200
    assert tasks.run(run.id).result == "x" * 5000


def test_removing_a_task_removes_its_runs(tasks, clock):
    task = ask(tasks)
    clock.at = NINE
    (run,) = look(tasks, clock)
    tasks.remove(tasks.get(task.id))
    with pytest.raises(NotFound):
        tasks.run(run.id)
    assert not tasks.occurrences.finish(run, Outcome(status="success"))


def test_a_run_knows_its_task_and_grant(tasks, clock):
    tasks.add("t", prompt="?", every="1h", grant=("bash", "write_file"))
    clock.at += HOUR
    (run,) = look(tasks, clock)
    assert tasks.of_run(run.id).grant == ("bash", "write_file")
