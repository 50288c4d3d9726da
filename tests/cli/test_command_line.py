"""What a person at a terminal sees."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from claw_nb import __version__
from claw_nb.cli import main


def claw(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def script(tmp_path: Path, turns: list[object]) -> str:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return str(path)


def test_help_and_version_say_what_this_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = claw(capsys, "--help")
    assert (code, "sql" in out, "task" in out) == (0, True, True)
    assert claw(capsys, "--version")[1].strip() == f"claw, version {__version__}"


def test_python_m_is_the_same_command() -> None:
    command = [sys.executable, "-m", "claw_nb", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"claw, version {__version__}"


def test_help_makes_no_home(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    claw(capsys, "task", "--help")
    assert not home.exists()


def test_ask_prints_the_answer_alone_on_standard_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", script(tmp_path, [{"text": "forty-two"}]))
    monkeypatch.setattr("sys.stdin", None)
    code, out, err = claw(capsys, "ask", "what", "is", "it?")
    assert (code, out.strip()) == (0, "forty-two")
    assert "1 turn " in err


def test_ask_json_tells_every_event_and_a_failure_in_the_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", script(tmp_path, []))
    monkeypatch.setattr("sys.stdin", None)
    code, out, _ = claw(capsys, "ask", "--json", "hello")
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert (events[0]["event"], events[-1]["event"]) == ("RunStarted", "RunFailed")


def test_ask_json_stays_json_where_a_secret_is_masked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = "send cookie: sid=abcdef1234"
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", script(tmp_path, [{"text": said}]))
    monkeypatch.setattr("sys.stdin", None)
    code, out, _ = claw(capsys, "ask", "--json", said)
    events = [json.loads(line) for line in out.splitlines()]
    assert (code, events[-1]["event"]) == (0, "RunFinished")
    assert "abcdef1234" not in out


def test_what_was_asked_is_listed_and_can_be_queried(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    claw(capsys, "ask", "what can you do?")
    code, out, _ = claw(capsys, "sessions", "list", "--json")
    [session] = json.loads(out)
    assert (code, session["title"], session["messages"]) == (0, "what can you do?", 2)
    code, out, _ = claw(capsys, "sql", "--json", "SELECT role, text FROM messages ORDER BY seq")
    assert [row["role"] for row in json.loads(out)] == ["user", "assistant"]
    code, out, _ = claw(capsys, "sessions", "show", session["id"][:10])
    assert (code, "not a language model" in " ".join(out.split())) == (0, True)


def test_a_session_is_exported_removed_and_imported_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", script(tmp_path, [{"text": "hello"}]))
    monkeypatch.setattr("sys.stdin", None)
    claw(capsys, "ask", "hi")
    (session,) = json.loads(claw(capsys, "sessions", "list", "--json")[1])
    shown = claw(capsys, "sessions", "show", session["id"])
    file = str(tmp_path / "one.jsonl")
    assert claw(capsys, "sessions", "export", session["id"], file)[0] == 0
    assert claw(capsys, "sessions", "rm", session["id"])[0] == 0
    code, out, _ = claw(capsys, "sessions", "import", "--json", file)
    assert (code, json.loads(out)[0]["added"]) == (0, 2)
    assert claw(capsys, "sessions", "show", session["id"]) == shown


def test_each_question_is_a_fresh_session_unless_it_continues(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    for arguments in (["ask", "help"], ["ask", "help"], ["ask", "--continue", "help"]):
        assert claw(capsys, *arguments)[0] == 0
    _, out, _ = claw(capsys, "sessions", "list", "--json")
    assert sorted(session["messages"] for session in json.loads(out)) == [2, 4]


def test_memories_are_added_found_and_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Gentoo penguins are the heaviest"
    code, out, _ = claw(capsys, "memory", "add", text, "--tag", "penguins", "--json")
    kept = json.loads(out)
    assert (code, kept["text"]) == (0, text)
    _, out, _ = claw(capsys, "memory", "search", "heavy penguin", "--json")
    [hit] = json.loads(out)
    assert (hit["id"], hit["source"], hit["tags"]) == (kept["id"], "user", ["penguins"])
    assert claw(capsys, "memory", "rm", kept["id"])[0] == 0
    assert claw(capsys, "memory", "list")[1].strip() == "Nothing is remembered yet."


def test_a_setting_is_kept_beside_the_users_own_lines(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    home.mkdir(parents=True)
    (home / "config.toml").write_text("# mine\n[agent]\nmax_turns = 9 # few\n", encoding="utf-8")
    assert claw(capsys, "config", "set", "provider.name", "anthropic")[0] == 0
    assert (home / "config.toml").read_text(encoding="utf-8") == (
        '# mine\n[agent]\nmax_turns = 9 # few\n\n[provider]\nname = "anthropic"\n'
    )
    assert claw(capsys, "config", "get", "provider.name")[1].strip() == "anthropic"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["aks", "x"], 2, "No such command 'aks'"),
        (["sessions", "show", "nothing"], 1, "nothing"),
        (["memory", "rm", "nothing"], 1, "claw memory list"),
        (["sql", "SELEC 1"], 2, "syntax error"),
        (["sql", "SELECT * FROM evnts"], 2, "events"),
        (["sql", "SELECT knd FROM events"], 2, "kind"),
        (["config", "set", "provider.modle", "x"], 1, "provider.model"),
        (["config", "set", "agent.max_turns", "many"], 1, "whole number"),
        (["task", "add", "x", "--notebook", "missing.ipynb", "--cron", "@daily"], None, "missing"),
        (["task", "add", "x", "--prompt", "hi", "--cron", "99 * * * *"], 2, "99"),
        (["ask", "--provider", "antropic", "hi"], 1, "Did you mean anthropic?"),
        (["ask", "--provider", "anthropic", "hi"], 1, "ANTHROPIC_API_KEY"),
        (["ask", "--workspace", "nowhere", "hi"], 2, "nowhere"),
        (["ask"], 2, "there is no question"),
    ],
)
def test_a_mistake_gets_one_clear_message(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int | None,
    words: str,
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    got, out, err = claw(capsys, *arguments)
    assert got == code if code is not None else got in (1, 2)
    assert words in err
    assert "Traceback" not in err + out


def test_a_broken_config_stops_everything_and_stays(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    home.mkdir(parents=True)
    (home / "config.toml").write_text("[provider\n", encoding="utf-8")
    code, _, err = claw(capsys, "sessions", "list")
    assert (code, "config.toml is not valid TOML" in err) == (1, True)
    assert (home / "config.toml").read_text(encoding="utf-8") == "[provider\n"


def test_a_service_that_is_not_there_is_named_with_the_next_step(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAW_PROVIDER", "openai")
    monkeypatch.setenv("CLAW_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("CLAW_MAX_RETRIES", "1")
    monkeypatch.setattr("sys.stdin", None)
    code, _, err = claw(capsys, "ask", "hello")
    assert code == 1
    assert "127.0.0.1:9" in err
    assert "Traceback" not in err


def test_ctrl_c_ends_a_question_with_a_valid_session(home: Path, tmp_path: Path) -> None:
    turns = [
        {"calls": [{"name": "bash", "arguments": {"command": "sleep 60"}}]},
        {"text": "never"},
    ]
    env = os.environ | {"CLAW_PROVIDER": "scripted", "CLAW_SCRIPT": script(tmp_path, turns)}
    command = [sys.executable, "-m", "claw_nb", "ask", "--allow", "bash", "go"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        while "bash started" not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    query = "SELECT role, text FROM messages ORDER BY seq"
    done = subprocess.run(
        [sys.executable, "-m", "claw_nb", "sql", "--json", query],
        capture_output=True, text=True, check=True, env=env,
    )  # fmt: skip
    rows = json.loads(done.stdout)
    assert [row["role"] for row in rows] == ["user", "assistant", "tool"]
    assert "interrupted" in rows[-1]["text"]
