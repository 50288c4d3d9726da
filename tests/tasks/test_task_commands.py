"""``claw task``: what a user types and reads."""

import json
import signal
import subprocess
import sys
import time

import nbformat
import pytest

from claw_nb.cli import main
from claw_nb.store import Store
from claw_nb.tasks import Tasks


@pytest.fixture
def claw(capfd):
    """Run ``claw …``; gives the exit code, the output and the errors."""

    def claw(*arguments):
        code = main(arguments)
        out, err = capfd.readouterr()
        return code, out, err

    return claw


@pytest.fixture
def notebook(tmp_path):
    cells = [nbformat.v4.new_code_cell("days = 1", metadata={"tags": ["parameters"]}),
             nbformat.v4.new_code_cell("print(days, type(days).__name__)")]  # fmt: skip
    path = tmp_path / "weekly.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def added(claw, *more):
    schedule = ("--cron", "0 9 * * mon-fri", "--tz", "Europe/Berlin")
    return claw("task", "add", "news", "--prompt", "What is new?", *schedule, *more)


def test_adding_a_task_echoes_the_schedule_as_it_was_understood(claw):
    code, out, _ = added(claw, "--allow", "bash", "--timeout", "1h30m", "--grace", "2h")
    assert code == 0
    first = "Scheduled news: at 09:00, Monday to Friday (Europe/Berlin). First run "
    assert out.startswith(first)
    assert "Nothing runs tasks on this home now." in out
    _, out, _ = claw("task", "show", "news", "--json")
    shown = json.loads(out)
    assert (shown["grant"], shown["timeout_minutes"]) == (["bash"], 90.0)
    assert (shown["grace_seconds"], shown["schedule_value"]) == (7200.0, "0 9 * * 1-5")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--prompt", "?", "--cron", "bad"), "1 fields instead of five"),
        (("--prompt", "?", "--cron", "@daily", "--tz", "Mars"), "no time zone named 'Mars'"),
        (("--prompt", "?", "--every", "90"), "not a span of time"),
        (("--prompt", "?"), "exactly one schedule"),
        (("--every", "1h"), "something to do"),
        (("--notebook", "gone.ipynb", "--every", "1h"), "cannot be read"),
        (("--prompt", "?", "--every", "1h", "-p", "days"), "not a parameter"),
        (("--prompt", "?", "--at", "2020-01-01T00:00"), "gone by"),
    ],
)
def test_what_is_wrong_is_said_in_two_lines_and_nothing_is_kept(claw, arguments, says):
    code, out, err = claw("task", "add", "t", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.startswith("claw: ")
    assert len(err.strip().splitlines()) == 2
    assert claw("task", "list", "--json")[1].strip() == "[]"


def test_a_notebook_runs_here_when_no_scheduler_does(claw, notebook):
    claw("task", "add", "weekly", "--notebook", str(notebook), "--every", "1w",
         "-p", "days=7", "--hide-code")  # fmt: skip
    code, out, _ = claw("task", "run", "weekly")
    assert code == 0
    assert out.startswith("weekly: success. The notebook ran in ")
    _, out, _ = claw("task", "logs", "weekly", "--json")
    (run,) = json.loads(out)
    assert (run["status"], run["trigger"]) == ("success", "manual")
    nb = nbformat.read(run["notebook"], as_version=4)
    assert nb.cells[-1].outputs[0].text == "7 int\n"


def test_ctrl_c_stops_a_run_that_goes_on_here(claw, tmp_path):
    path = tmp_path / "long.ipynb"
    cells = [nbformat.v4.new_code_cell("import time\ntime.sleep(600)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    claw("task", "add", "long", "--notebook", str(path), "--every", "1w")
    with subprocess.Popen([sys.executable, "-m", "claw_nb", "task", "run", "long"]) as process:
        while "running" not in claw("task", "logs", "long")[1]:
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(40) == 130
        finally:
            process.kill()
    assert json.loads(claw("task", "logs", "long", "--json")[1])[0]["status"] == "cancelled"


def test_a_failing_run_is_a_failing_command(claw, tmp_path):
    path = tmp_path / "bad.ipynb"
    cells = [nbformat.v4.new_code_cell("1 / 0")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    claw("task", "add", "bad", "--notebook", str(path), "--every", "1w")
    code, _, err = claw("task", "run", "bad")
    assert code == 1
    assert "ZeroDivisionError: division by zero (cell 1)" in err
    assert "report.html" in err


def test_a_prompt_is_answered_by_the_agent_with_the_tasks_grant(claw):
    claw("task", "add", "allowed", "--prompt", "remember that the sky is blue", "--every", "1w",
         "--allow", "remember")  # fmt: skip
    code, out, _ = claw("task", "run", "allowed")
    assert code == 0
    assert out.startswith("allowed: success. ")
    (run,) = json.loads(claw("task", "logs", "allowed", "--json")[1])
    session = json.loads(claw("sessions", "list", "--json")[1])[0]
    assert run["session_id"] == session["id"]


def test_run_leaves_it_to_the_scheduler_that_is_there(claw, home):
    added(claw)
    store = Store.open(home)
    tasks = Tasks(store)
    worker = tasks.workers.join(slots=1)
    code, out, _ = claw("task", "run", "news")
    assert (code, "will start in a moment" in out) == (0, True)
    assert [run.status for run in tasks.runs(tasks.find("news"))[0]] == ["queued"]
    code, _, err = claw("task", "run", "news")
    assert (code, "already running" in err) == (1, True)
    tasks.workers.leave(worker)
    store.close()


def test_a_task_is_paused_resumed_and_removed(claw):
    added(claw)
    assert claw("task", "pause", "news")[1] == "news is paused.\n"
    assert json.loads(claw("task", "show", "news", "--json")[1])["status"] == "paused"
    assert claw("task", "resume", "news")[1].startswith("news is active again. Next run ")
    assert claw("task", "rm", "news")[1] == "Removed news.\n"
    code, _, err = claw("task", "show", "news")
    assert code == 1
    assert "There is no task 'news'." in err


def test_next_shows_moments_through_a_change_of_the_clocks(claw, home):
    code, out, _ = claw("task", "next", "--cron", "30 1 * * *", "--tz", "America/New_York",
                        "--from", "2026-10-31T12:00", "-n", "2", "--json")  # fmt: skip
    assert code == 0
    assert [moment["local"] for moment in json.loads(out)] == [
        "Sun 2026-11-01 01:30 EDT",
        "Mon 2026-11-02 01:30 EST",
    ]
    assert not home.exists()


def test_a_run_whose_process_was_killed_does_not_block_the_task(claw, tmp_path):
    cells = [nbformat.v4.new_code_cell("import time; print('up', flush=True); time.sleep(60)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "slow.ipynb")
    path = str(tmp_path / "slow.ipynb")
    assert claw("task", "add", "slow", "--notebook", path, "--every", "1d")[0] == 0
    with subprocess.Popen([sys.executable, "-m", "claw_nb", "task", "run", "slow"]) as process:
        deadline = time.monotonic() + 60
        while '"running"' not in claw("task", "logs", "slow", "--json")[1]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.kill()
    _, out, _ = claw("task", "logs", "slow", "--json")
    assert [run["status"] for run in json.loads(out)] == ["error"]
