"""A person at a terminal is asked before a command runs."""

import json
import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest


def at_a_terminal(tmp_path: Path, typed: bytes, **env: str) -> tuple[int, str]:
    """The exit code and the screen of a question whose approval is answered by ``typed``."""
    turns = [
        {"calls": [{"name": "bash", "arguments": {"command": "touch made"}}]},
        {"text": "done"},
    ]
    (tmp_path / "script.json").write_text(json.dumps({"turns": turns}), encoding="utf-8")
    given = os.environ | env | {
        "CLAW_PROVIDER": "scripted", "CLAW_SCRIPT": str(tmp_path / "script.json"),
        "CLAW_HOME": str(tmp_path / "home"),
    }  # fmt: skip
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-m", "claw_nb", "ask", "go"], given)
    screen, answered, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        try:
            more = os.read(terminal, 4096) if ready else None
        except OSError:  # how Linux says that the other end is closed
            break
        if more == b"":
            break
        screen += more or b""
        if b"Allow?" in screen and not answered:
            os.write(terminal, typed)
            answered = True
    os.close(terminal)
    ended, status = os.waitpid(child, os.WNOHANG if time.monotonic() > deadline else 0)
    if not ended:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail(f"it did not end: {screen.decode()}")
    return os.waitstatus_to_exitcode(status), screen.decode()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(
    ("typed", "code", "made"), [(b"y\n", 0, True), (b"\n", 0, False), (b"\x03", 130, False)]
)
def test_a_typed_answer_decides_and_ctrl_c_stops(
    tmp_path: Path, typed: bytes, code: int, made: bool
) -> None:
    ended, screen = at_a_terminal(tmp_path, typed)
    assert (ended, (tmp_path / "made").exists()) == (code, made)
    assert "touch made" in screen


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_silence_is_a_no(tmp_path: Path) -> None:
    ended, screen = at_a_terminal(tmp_path, b"", CLAW_APPROVAL_TIMEOUT="0.3")
    assert (ended, (tmp_path / "made").exists()) == (0, False)
    assert "denied" in screen
