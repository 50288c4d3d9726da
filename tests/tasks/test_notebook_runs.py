"""A notebook run: a real kernel in a process of its own, and what it leaves whatever happens."""

import asyncio
import json
import os
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import psutil
import pytest

from claw_nb.core.records import Run, Task
from claw_nb.tasks.engine import Progress
from claw_nb.tasks.runner import Runner

WHERE = """
import os
print(os.environ["CLAW_RUN_ID"], os.environ["CLAW_HOME"])
print(os.getcwd())
"""


@pytest.fixture
def runner(home):
    return Runner(home=home)


@pytest.fixture
def notebook(tmp_path):
    """Write a notebook of code cells; a cell that sets ``days`` takes parameters."""

    def write(*sources):
        cells = [nbformat.v4.new_markdown_cell("# A report with $x^2$")]
        for source in sources:
            cell = nbformat.v4.new_code_cell(source)
            cell.metadata["tags"] = ["parameters"] if source.startswith("days") else []
            cells.append(cell)
        nb = nbformat.v4.new_notebook(cells=cells)
        nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        path = tmp_path / "work" / "weekly.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nb, path)
        return path

    return write


def task_of(path, **target):
    return Task(
        id="t1", agent_id="main", name="weekly <report>", schedule_type="interval",
        schedule_value="60", target={"notebook": str(path), "parameters": {}, **target},
    )  # fmt: skip


RUN = Run(id="r1", task_id="t1", due=1_796_029_200_000_000, trigger="schedule", status="running")


def events(home, kind=None):
    lines = (home / "runs" / "r1" / "log.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return [event for event in found if kind is None or event["event"] == kind]


def cell_statuses(path):
    nb = nbformat.read(path, as_version=4)
    nbformat.validate(nb)
    return [c.metadata.papermill.status for c in nb.cells if c.cell_type == "code"]


def text_of(path):
    return Path(path).read_text(encoding="utf-8")


async def until(condition):
    while not condition():  # noqa: ASYNC110 - what it waits for happens in another process
        await asyncio.sleep(0.02)


def has_output(home, text):
    path = home / "runs" / "r1" / "log.jsonl"
    return path.exists() and any(text in e["text"] for e in events(home, "output"))


def kernel_of(home):
    """The processes below the run's own."""
    child = psutil.Process(events(home, "started")[0]["pid"])
    return child, child.children(recursive=True)


def alive(processes):
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


async def test_a_notebook_runs_with_its_parameters_and_leaves_a_report(runner, home, notebook):
    path = notebook("days = 1", WHERE, "days * 6", "from IPython.display import HTML, Markdown\n"
                    "display(Markdown('**bold**'), HTML('<b id=shown>html</b>'))")  # fmt: skip
    before = path.read_bytes()
    task = task_of(path, parameters={"days": 7, "who": "<script>alert(1)</script>\n\n# no"})
    outcome = await runner(task, RUN, asyncio.Event())

    assert (outcome.status, outcome.error) == ("success", None)
    folder = home / "runs" / "r1"
    assert outcome.notebook == str(folder / "notebook.ipynb")
    assert outcome.report == str(folder / "report.html")
    assert path.read_bytes() == before
    nb = nbformat.read(outcome.notebook, as_version=4)
    assert nb.cells[3].outputs[0].text == f"r1 {home}\n{path.parent}\n"
    assert nb.cells[4].outputs[0].data["text/plain"] == "42"
    assert cell_statuses(outcome.notebook) == ["completed"] * 5
    assert nb.metadata.papermill.parameters == task.target["parameters"]
    assert [event["status"] for event in events(home, "cell.finished")] == ["completed"] * 5
    assert has_output(home, "42")

    report = text_of(outcome.report)
    assert "All cells ran." in report
    assert "<script>alert(1)" not in report
    assert "weekly &lt;report&gt;" in report
    assert str(path) in report
    assert "days" in report
    fetched = re.findall(r"""(?:src|href)=["'](?!data:|#)([^"']*)""", report)
    assert fetched == []
    assert not re.search(r"@import|url\(\s*['\"]?https?:", report)
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []


async def test_code_can_be_left_out_of_the_report(runner, notebook):
    path = notebook("secret_name = 41\nsecret_name + 1")
    outcome = await runner(task_of(path, hide_code=True), RUN, asyncio.Event())
    report = text_of(outcome.report)
    assert "secret_name" not in report
    assert "<pre>42</pre>" in report


async def test_a_failing_cell_ends_the_run_and_says_which_it_was(runner, home, notebook):
    path = notebook("'first'", "1 / 0", "'never'")
    outcome = await runner(task_of(path), RUN, asyncio.Event())
    assert outcome.status == "error"
    assert outcome.error == "ZeroDivisionError: division by zero (cell 3)."
    assert cell_statuses(outcome.notebook) == ["completed", "failed", "pending"]
    assert "ZeroDivisionError" in text_of(outcome.report)


async def test_the_kernels_death_is_seen_and_told_from_what_never_ran(runner, notebook):
    path = notebook("'first'", "import os; os._exit(3)", "'never'")
    outcome = await runner(task_of(path), RUN, asyncio.Event())
    assert (outcome.status, outcome.error) == ("error", "The kernel died (cell 3).")
    assert cell_statuses(outcome.notebook) == ["completed", "failed", "pending"]


async def test_a_cell_may_have_a_limit_of_its_own(runner, notebook):
    path = notebook("import time; time.sleep(600)", "'never'")
    outcome = await runner(task_of(path, cell_timeout=1), RUN, asyncio.Event())
    assert outcome.error == "A cell ran longer than the task allows (cell 2)."
    assert cell_statuses(outcome.notebook) == ["failed", "pending"]


BUSY = "import subprocess; print('busy', flush=True); subprocess.run(['sleep', '987'])"


async def test_stopping_a_run_saves_it_and_kills_everything_it_started(runner, home, notebook):
    path = notebook("'first'", BUSY, "'never'")
    stop = asyncio.Event()
    work = asyncio.create_task(runner(task_of(path), RUN, stop))
    await until(lambda: has_output(home, "busy"))
    child, below = kernel_of(home)
    assert any("987" in process.cmdline() for process in below)
    stop.set()
    outcome = await work
    assert (outcome.status, outcome.error) == ("cancelled", "It was stopped.")
    assert cell_statuses(outcome.notebook) == ["completed", "failed", "pending"]
    assert "The run was stopped." in text_of(outcome.report)
    await until(lambda: not alive([child, *below]))  # a kill takes a moment to be done


async def test_a_run_is_stopped_at_the_limit_of_its_task(runner, home, notebook):
    path = notebook("import time; time.sleep(600)")
    outcome = await runner(replace(task_of(path), timeout_minutes=0.03), RUN, asyncio.Event())
    assert outcome.status == "error"
    assert outcome.error == "It was stopped after 0.03 minutes, the limit of its task."


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
async def test_a_killed_run_leaves_a_valid_notebook_with_all_that_had_ended(runner, home, notebook):
    path = notebook("'first'", BUSY, "'never'")
    work = asyncio.create_task(runner(task_of(path), RUN, asyncio.Event()))
    await until(lambda: has_output(home, "busy"))
    child, below = kernel_of(home)
    child.kill()
    outcome = await work
    assert outcome.status == "error"
    assert "was killed by signal 9" in outcome.error
    assert cell_statuses(outcome.notebook) == ["completed", "running", "pending"]
    nb = nbformat.read(outcome.notebook, as_version=4)
    assert nb.cells[1].outputs[0].data["text/plain"] == "'first'"
    await until(lambda: not alive([child, *below]))  # a kill takes a moment to be done


SERVER = """
import asyncio, sys
from claw_nb.core.records import Run, Task
from claw_nb.tasks.engine import Progress
from claw_nb.tasks.runner import Runner
from pathlib import Path
task = Task(id="t1", agent_id="main", name="t", schedule_type="interval", schedule_value="60",
            target={"notebook": sys.argv[2], "parameters": {}})
run = Run(id="r1", task_id="t1", due=0, trigger="schedule", status="running")
asyncio.run(Runner(home=Path(sys.argv[1]))(task, run, asyncio.Event()))
"""


async def test_a_run_ends_when_the_server_that_started_it_is_killed(home, notebook):
    path = notebook("'first'", "print('busy', flush=True)\nimport time; time.sleep(600)")
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", SERVER, home, path)
    await until(lambda: has_output(home, "busy"))
    child, below = kernel_of(home)
    server.kill()
    await server.wait()
    await until(lambda: not alive([child, *below]))
    assert cell_statuses(home / "runs" / "r1" / "notebook.ipynb") == ["completed", "failed"]


async def test_an_unknown_kernel_is_named(runner, notebook):
    outcome = await runner(task_of(notebook("1"), kernel="nope"), RUN, asyncio.Event())
    assert outcome.error == "There is no kernel named 'nope' on this machine"


async def test_a_notebook_that_has_gone_is_an_error_with_its_path(runner, tmp_path):
    gone = tmp_path / "gone.ipynb"
    outcome = await runner(task_of(gone), RUN, asyncio.Event())
    assert outcome.error == f"The notebook {gone} cannot be read: No such file or directory"


async def test_secrets_that_a_cell_prints_stay_out_of_the_log(runner, home, notebook):
    key = "sk-ant-" + "api03-" + "Ab3" * 30
    path = notebook(f"key = {key[:20]!r} + {key[20:]!r}\nprint(key)")
    await runner(task_of(path), RUN, asyncio.Event())
    assert key not in (home / "runs" / "r1" / "log.jsonl").read_text()


# -- prompts ---------------------------------------------------------------------------------------

ANSWER = """
import json, os, sys
say = lambda **event: print(json.dumps(event), flush=True)
say(event="RunStarted", session_id="s1")
env = [os.environ[name] for name in ("CLAW_RUN_ID", "CLAW_AGENT")]
text = f"{sys.argv[1:]} {env} {sys.stdin.read()!r}"
say(event="MessageAdded", message={"role": "assistant", "parts": [{"type": "text", "text": text}]})
say(event=sys.argv[1], error="no key", kind="auth")
sys.exit(sys.argv[1] != "RunFinished")
"""


def prompt_task(text, folder):
    return replace(task_of(""), target={"prompt": text, "folder": str(folder)})


@pytest.fixture
def answering(home, tmp_path, monkeypatch):
    """A module in the place of ``claw ask``, which says what it was asked."""
    (tmp_path / "answering.py").write_text(ANSWER)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    return lambda end: Runner(home=home, ask=("answering", end), env=env)


async def test_a_prompt_is_asked_without_a_terminal_and_its_answer_kept(answering, tmp_path):
    task = prompt_task("--help me", tmp_path)
    outcome = await answering("RunFinished")(task, RUN, asyncio.Event())
    assert outcome.status == "success"
    assert outcome.session_id == "s1"
    expected = ["RunFinished", "--workspace", str(tmp_path), "--", "--help me"]
    assert outcome.result == f"{expected} ['r1', 'main'] ''"


async def test_a_failed_answer_is_a_failed_run(answering, tmp_path):
    outcome = await answering("RunFailed")(prompt_task("?", tmp_path), RUN, asyncio.Event())
    assert (outcome.status, outcome.error) == ("error", "no key")


async def test_a_child_that_breaks_says_its_last_words(home, notebook):
    broken = Runner(home=home, child=(sys.executable, "-c", "raise SystemExit('out of order')"))
    outcome = await broken(task_of(notebook("1")), RUN, asyncio.Event())
    assert outcome.error == (
        "The run's process ended with code 1 before the run was done. out of order"
    )


async def test_a_run_leaves_no_secret_of_its_environment(runner, home, notebook, monkeypatch):
    key = "sk-" + "proj-" + "a1B2c3D4" * 8
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("MY_DB_PASSWORD", "correcthorsebattery")
    path = notebook(
        "import os, sys\nfrom IPython.display import HTML, Markdown\nkey = os.environ['OPENAI_API_KEY']\n"
        "word = os.environ['MY_DB_PASSWORD']\nprint(key, word); print(word, file=sys.stderr)",
        "display(HTML(f'<b>{key}</b>'), Markdown(f'*{word}*'))\nword",
        "shown = display('wait', display_id=True)",
        "shown.update(Markdown(word))",
        "import time\nfor part in (key[:30], key[30:]):\n"
        "    sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.3)",
        "raise ValueError('api_key=' + os.environ['OPENAI_API_KEY'])",
    )
    outcome = await runner(task_of(path), RUN, asyncio.Event())
    assert outcome.status == "error"
    nb = nbformat.read(outcome.notebook, as_version=4)
    assert nb.cells[1].outputs[0].text == "[REDACTED:secret] [REDACTED:secret]\n"
    assert nb.cells[6].outputs[0].evalue.startswith("api_key=[REDACTED")
    left = [each for each in (home / "runs" / "r1").rglob("*") if each.is_file()]
    assert {each.name for each in left} >= {"notebook.ipynb", "report.html", "log.jsonl"}
    for each in left:
        text = each.read_text(encoding="utf-8")
        assert "correcthorsebattery" not in text, each
        assert "c3D4a1B2c3D4" not in text, each
    assert "correcthorse" not in str(outcome)


def test_a_cell_that_still_runs_is_masked_on_the_disk_only(tmp_path):
    key = "sk-" + "proj-" + "a1B2c3D4" * 8
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(key)")])
    nb.metadata["papermill"] = {}
    progress = Progress(nb, path=tmp_path / "notebook.ipynb", emit=lambda event, **facts: None)
    progress.notebook_start()
    nb.cells[0].outputs = [nbformat.v4.new_output("stream", text=key[:40])]
    progress.save()
    assert "[REDACTED:openai]" in text_of(tmp_path / "notebook.ipynb")
    assert nb.cells[0].outputs[0].text == key[:40]
