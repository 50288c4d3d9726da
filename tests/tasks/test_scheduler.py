"""The scheduler: everything due runs once, whoever dies, and nothing ends the loop."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from claw_nb.core.errors import StoreError
from claw_nb.store import Store
from claw_nb.store.runs import Outcome
from claw_nb.tasks import Tasks
from claw_nb.tasks.schedule import SECOND
from claw_nb.tasks.scheduler import Scheduler, bury_dead, run_here

OLD = 1_700_000_000 * SECOND


@pytest.fixture
def store(home):
    store = Store.open(home)
    yield store
    store.close()


@pytest.fixture
def tasks(store):
    return Tasks(store)


def ask(tasks, name="t", **given):
    """A task that is due at once."""
    task = tasks.add(name, prompt="?", every="1h", **given)
    due = tasks.clock() - SECOND
    return tasks.table.update(task, next_run=due, anchor=due - 3600 * SECOND)


@contextlib.asynccontextmanager
async def serving(scheduler):
    work = asyncio.create_task(scheduler.serve())
    try:
        yield work
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work


async def until(condition):
    while not condition():  # noqa: ASYNC110 - the store is what it waits for
        await asyncio.sleep(0.02)


def statuses(tasks, task):
    return [run.status for run in tasks.runs(task, limit=100)[0]]


async def succeed(task, run, stop):
    return Outcome(status="success", result=task.name)


async def wait_for_stop(task, run, stop):
    await stop.wait()
    return Outcome(status="cancelled", error="It was stopped.")


async def test_what_is_due_runs_and_what_comes_due_runs_too(tasks):
    first = ask(tasks, "first")
    async with serving(Scheduler(tasks=tasks, execute=succeed)):
        await until(lambda: statuses(tasks, first) == ["success"])
        second = ask(tasks, "second")
        await until(lambda: statuses(tasks, second) == ["success"])
    assert tasks.get(second.id).last_result == "second"


async def test_no_more_runs_at_once_than_there_are_slots(tasks):
    going, most = 0, 0

    async def count(task, run, stop):
        nonlocal going, most
        going += 1
        most = max(most, going)
        await asyncio.sleep(0.01)
        going -= 1
        return Outcome(status="success")

    all_of_them = [ask(tasks, f"t{n}") for n in range(12)]
    async with serving(Scheduler(tasks=tasks, execute=count, slots=3)):
        await until(lambda: all(statuses(tasks, task) == ["success"] for task in all_of_them))
    assert most == 3


async def test_a_run_that_breaks_is_recorded_and_the_rest_goes_on(tasks):
    async def break_one(task, run, stop):
        if task.name == "bad":
            raise RuntimeError("surprise")
        return Outcome(status="success")

    bad, good = ask(tasks, "bad"), ask(tasks, "good")
    async with serving(Scheduler(tasks=tasks, execute=break_one, slots=1)):
        await until(lambda: statuses(tasks, good) == ["success"])
    assert tasks.runs(bad)[0][0].error == "RuntimeError: surprise"


async def test_a_task_that_cannot_be_reckoned_is_paused_and_the_rest_goes_on(tasks, store):
    bad, good = ask(tasks, "bad"), ask(tasks, "good")
    with store.tx() as tx:
        tx.execute("UPDATE tasks SET schedule_type = 'cron', timezone = 'Gone/Zone',"
                   " schedule_value = '* * * * *' WHERE id = ?", (bad.id,))  # fmt: skip
    async with serving(Scheduler(tasks=tasks, execute=succeed)):
        await until(lambda: statuses(tasks, good) == ["success"])
        await until(lambda: tasks.get(bad.id).status == "paused")
    assert tasks.get(bad.id).last_result.startswith("Error:")


async def test_trouble_with_the_store_is_shown_and_outlived(tasks, home):
    scheduler = Scheduler(tasks=tasks, execute=succeed)
    async with serving(scheduler) as work:
        await until(lambda: scheduler.pulse.last_tick)
        state = home / "data" / "state.db"
        state.rename(state.with_name("away"))
        await until(lambda: scheduler.pulse.last_error)
        state.with_name("away").rename(state)
        task = ask(tasks)
        await until(lambda: statuses(tasks, task) == ["success"])
        assert not work.done()


async def test_a_run_that_was_taken_in_a_look_that_failed_is_run_after_all(tasks):
    task, get, trouble = ask(tasks), tasks.get, [StoreError("The disk is busy.")]

    def get_later(task_id):
        if trouble:
            raise trouble.pop()
        return get(task_id)

    tasks.get = get_later
    async with serving(Scheduler(tasks=tasks, execute=succeed)):
        await until(lambda: statuses(tasks, task) == ["success"])


async def test_the_end_of_a_run_is_kept_when_the_store_is_back(tasks, home):
    state = home / "data" / "state.db"

    async def lose_the_store(task, run, stop):
        state.rename(state.with_name("away"))
        return Outcome(status="success")

    task = ask(tasks)
    scheduler = Scheduler(tasks=tasks, execute=lose_the_store)
    async with serving(scheduler):
        await until(lambda: scheduler.pulse.last_error)
        await asyncio.sleep(0.1)
        state.with_name("away").rename(state)
        await until(lambda: statuses(tasks, task) == ["success"])


async def test_the_log_is_sealed_while_the_scheduler_serves(tasks, home):
    ask(tasks)
    with tasks.table._store.tx() as tx:
        tx.execute("UPDATE inbox SET ts = ts - 60000000")
    async with serving(Scheduler(tasks=tasks, execute=succeed)):
        await until(lambda: list((home / "data" / "lake").rglob("[!.]*.parquet")))


async def test_stopping_the_scheduler_stops_its_runs_and_says_so(tasks):
    task = ask(tasks)
    async with serving(Scheduler(tasks=tasks, execute=wait_for_stop)):
        await until(lambda: statuses(tasks, task) == ["running"])
    assert statuses(tasks, task) == ["cancelled"]
    assert tasks.working() == ()
    assert list((tasks.home / "data" / "locks").glob("worker-*")) == []


@pytest.mark.parametrize("how", ["cancel", "remove"])
async def test_a_run_ends_when_it_is_cancelled_or_its_task_removed_elsewhere(tasks, how):
    ended = []

    async def note_the_end(task, run, stop):
        await stop.wait()
        ended.append(run.id)
        return Outcome(status="cancelled")

    task = ask(tasks)
    async with serving(Scheduler(tasks=tasks, execute=note_the_end)):
        await until(lambda: statuses(tasks, task) == ["running"])
        (run,), _ = tasks.runs(task)
        tasks.cancel(run) if how == "cancel" else tasks.remove(tasks.get(task.id))
        await until(lambda: ended == [run.id])


async def test_work_is_announced_while_a_run_is_going_only(tasks):
    announced = []
    scheduler = Scheduler(tasks=tasks, execute=succeed, on_active=lambda: announced.append(1))
    async with serving(scheduler):
        await until(lambda: scheduler.pulse.last_tick)
        assert announced == []
        task = ask(tasks)
        await until(lambda: statuses(tasks, task) == ["success"])
    assert announced


async def test_a_queued_run_can_be_seen_through_here(tasks):
    task = ask(tasks)
    run = tasks.run_now(task)
    ended = await run_here(tasks, succeed, run)
    assert (ended.id, ended.status, tasks.working()) == (run.id, "success", ())


# -- several processes on one home -----------------------------------------------------------------

WORKER = """
import asyncio, os, sys
from pathlib import Path
from claw_nb.store import Store
from claw_nb.store.runs import Outcome
from claw_nb.tasks import Tasks
from claw_nb.tasks.scheduler import Scheduler

home, log, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])

async def note(task, run, stop):
    sink = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(sink, f"{task.id} {run.due} {os.getpid()}\\n".encode())
    os.close(sink)
    await asyncio.sleep(seconds)
    return Outcome(status="success")

tasks = Tasks(Store.open(home))
print("up", flush=True)
asyncio.run(Scheduler(tasks=tasks, execute=note, slots=4).serve())
"""


@pytest.fixture
def start(home, tmp_path):
    """Start a scheduler in a process of its own; all end with the test."""
    started = []

    def start(seconds):
        command = [sys.executable, "-c", WORKER, str(home), str(tmp_path / "ran"), str(seconds)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        started.append(process)
        assert process.stdout.readline() == b"up\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def ran(tmp_path):
    path = tmp_path / "ran"
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(line.split()) for line in lines]


def wait_until(condition):
    while not condition():
        time.sleep(0.05)


def open_runs(tasks):
    return tasks.occurrences.open("queued") + tasks.occurrences.open("running")


def test_three_schedulers_run_300_due_tasks_once_each_though_one_is_killed(tasks, start, tmp_path):
    everything = [ask(tasks, f"t{n}") for n in range(300)]
    due = {task.id: str(task.next_run) for task in everything}
    workers = [start(0.02) for _ in range(2)]
    wait_until(lambda: len(ran(tmp_path)) > 60)
    workers[0].kill()
    start(0.02)
    wait_until(lambda: len({line[0] for line in ran(tmp_path)}) == 300 and not open_runs(tasks))

    begun = [(task, when) for task, when, _ in ran(tmp_path)]
    assert len(begun) == len(set(begun)) == 300
    assert dict(begun) == due
    assert len({pid for _, _, pid in ran(tmp_path)}) == 3
    ends = [statuses(tasks, task) for task in everything]
    lost = sum(end == ["error"] for end in ends)
    assert all(end in (["success"], ["error"]) for end in ends)
    assert lost <= 4


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_scheduler_that_was_only_stopped_keeps_its_run(tasks, start, tmp_path):
    task = ask(tasks)
    worker = start(0.5)
    wait_until(lambda: ran(tmp_path))
    os.kill(worker.pid, signal.SIGSTOP)
    start(0.0)
    assert bury_dead(tasks) == 0
    assert statuses(tasks, task) == ["running"]
    os.kill(worker.pid, signal.SIGCONT)
    wait_until(lambda: statuses(tasks, task) == ["success"])
    assert len(ran(tmp_path)) == 1


def test_a_run_whose_process_was_killed_is_found_by_the_next_one(tasks, start, tmp_path):
    task = ask(tasks)
    worker = start(60)
    wait_until(lambda: ran(tmp_path))
    worker.kill()
    worker.wait()
    start(0.0)
    wait_until(lambda: statuses(tasks, task) == ["error"])
    (run,), _ = tasks.runs(task)
    assert run.error == "The process that ran it ended before the run did."
    assert tasks.get(task.id).failures == 0
    assert len(ran(tmp_path)) == 1


def test_a_worker_elsewhere_is_given_up_only_after_its_silence(home):
    now = [OLD]
    store = Store.open(home, clock=lambda: now[0])
    tasks = Tasks(store)
    worker = tasks.workers.join(slots=1)
    with store.tx() as tx:
        tx.execute("UPDATE workers SET id = 'far', host = 'elsewhere'")
    (far,) = tasks.workers.list()
    now[0] += 200 * SECOND
    assert tasks.workers.alive(far)
    now[0] += 200 * SECOND
    assert not tasks.workers.alive(far)
    tasks.workers.leave(worker)
    store.close()
    assert Path(home).exists()
