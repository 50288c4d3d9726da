"""A notebook with an agent is run again in CI: without a model, without a key, the same calls."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from claw_nb.cli import main


def write(path: Path, *cells: str) -> Path:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(made, path)
    return path


SCRIPT = {"turns": [
    {"text": "I count.", "calls": [{"name": "run_python", "arguments": {"code": "total = sum(x); total"}}]},
    {"text": "They sum to **6**."},
    {"text": "Six is even."},
]}  # fmt: skip
CELLS = (
    "%load_ext claw_nb\nx = [1, 2, 3]",
    "answer = %claw ask --allow run_python what do they sum to?\nprint('calls:', [c.name for c in answer.tool_calls])",
    "%claw ask is that even?",
    "print('total is', total)",
)  # fmt: skip


@pytest.fixture
def notebook(tmp_path: Path, home: Path) -> Path:
    """A notebook that was run once, with a model, and recorded."""
    path = write(tmp_path / "count.ipynb", *CELLS)
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    env = {
        **os.environ,
        "CLAW_PROVIDER": "scripted",
        "CLAW_SCRIPT": str(script),
        "CLAW_REPLAY": "record",
        "JPY_SESSION_NAME": str(path),
    }
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "notebook",
        "--execute",
        "--inplace",
        path,
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return path


def claw(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, " ".join(captured.err.split())


def outputs(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "".join(str(out.get("text", "")) for cell in cells for out in cell.get("outputs", ()))


def test_a_notebook_replays_without_a_model_and_fails_where_it_was_changed(
    notebook: Path, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    tape = notebook.with_suffix(".cassette.jsonl")
    assert tape.exists()
    assert str(notebook.parent) not in tape.read_text()
    before = sorted(home.rglob("*"))

    code, out, err = claw(capsys, "replay", notebook, "--output", notebook.parent / "out.ipynb")
    assert (code, err) == (0, "")
    assert "ran as it was recorded" in out
    assert "3 answers" in out
    printed = outputs(notebook.parent / "out.ipynb")
    assert "calls: ['run_python']" in printed
    assert "total is 6" in printed
    # Nothing of it is left in the user's own home.
    assert sorted(home.rglob("*")) == before

    write(notebook, CELLS[0], CELLS[1], "%claw ask is that odd?", CELLS[3])
    code, _, err = claw(capsys, "replay", notebook)
    assert code == 1
    assert "-user: is that even? +user: is that odd?" in err
    assert "(cell 3)" in err

    write(notebook, CELLS[0].replace("[1, 2, 3]", "[1, 2, 4]"), *CELLS[1:])
    code, _, err = claw(capsys, "replay", notebook)
    assert code == 1
    assert "-result 1: " in err
    assert "+result 1: " in err


def test_without_a_recording_it_says_how_to_make_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = claw(capsys, "replay", write(tmp_path / "new.ipynb", "1"))
    assert code == 1
    assert "there is no recording" in err
    assert "CLAW_REPLAY=record" in err
    code, _, err = claw(capsys, "replay", tmp_path / "missing.ipynb")
    assert (code, "There is no notebook" in err) == (1, True)


def test_a_question_on_the_command_line_is_recorded_and_played_back(
    tmp_path: Path,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": ["forty-two"]}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", str(script))
    assert claw(capsys, "ask", "--record", "what is it?")[:2] == (0, "forty-two\n")
    [tape] = (home / "cassettes").iterdir()
    assert tape.name.endswith(".cassette.jsonl")

    # No provider at all from here on: neither its name nor its file.
    monkeypatch.delenv("CLAW_SCRIPT")
    monkeypatch.setenv("CLAW_PROVIDER", "anthropic")
    monkeypatch.setenv("CLAW_REPLAY", "strict")
    assert claw(capsys, "ask", "what is it?")[:2] == (0, "forty-two\n")
    code, _, err = claw(capsys, "ask", "what was it?")
    assert (code, "+user: what was it?" in err) == (1, True)
    # What is played back was not spent.
    [day] = json.loads(claw(capsys, "usage", "--json")[1])
    assert day["calls"] == 1
