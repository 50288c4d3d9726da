"""A person at IPython's prompt, through a pseudo-terminal."""

import os
import re
import sys
from pathlib import Path

import pytest
import yaml

pexpect = pytest.importorskip("pexpect", reason="no pseudo-terminals on this system")

ROOT = Path(__file__).resolve().parents[2]
CODE = {"name": "run_python", "arguments": {"code": "value = 6 * 7\nprint('drawing')"}}


@pytest.fixture
def terminal(tmp_path):
    turns = [
        {"text": "I compute.", "calls": [CODE]},
        "Done.",
        {"text": "A long story. " * 300, "pause": 0.05},
        "Hello again.",
    ]
    (tmp_path / "script.yaml").write_text(yaml.safe_dump({"turns": turns}), encoding="utf-8")
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "extension")]),
        "CLAW_HOME": str(tmp_path / "claw"),
        "CLAW_PROVIDER": "scripted",
        "CLAW_SCRIPT": str(tmp_path / "script.yaml"),
        "CLAW_EMBEDDER": "none",
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "TERM": "dumb",
    }
    arguments = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"]
    shell = pexpect.spawn(
        sys.executable, arguments, env=env, cwd=str(tmp_path), encoding="utf-8", timeout=60
    )
    shell.setwinsize(40, 200)
    prompt(shell)
    yield shell
    shell.close(force=True)


def prompt(shell):
    shell.expect(r"In \[\d+\]: ")
    return re.sub(r"\r|\x1b\[[0-9;]*m", "", shell.before)


def type_in(shell, line):
    shell.sendline(line)


def test_asking_approving_and_stopping_in_a_terminal(terminal):
    type_in(terminal, "%load_ext claw_nb")
    prompt(terminal)
    type_in(terminal, "%claw ask what is it?")
    terminal.expect(
        r"Allow run_python\? \[y\]es once, yes for this \[s\]ession, always this \[t\]ool here, \[n\]o: "
    )
    assert "print('drawing')" in terminal.before
    type_in(terminal, "y")
    answered = prompt(terminal)
    assert "drawing" in answered
    assert "✓ run_python" in answered
    assert "2 turns · 1 tool call" in answered
    type_in(terminal, "%claw ask tell me a story")
    terminal.expect("A long story. A long story.")
    terminal.sendintr()
    told = prompt(terminal)
    assert "claw: Stopped." in told
    assert "Traceback" not in told
    type_in(terminal, "%claw ask hello")
    assert "Hello again." in prompt(terminal)
    type_in(terminal, "value")
    assert "42" in prompt(terminal)
