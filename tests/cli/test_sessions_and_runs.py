"""What a person does with sessions, runs, rules, the policy and skills at a terminal."""

import json

import pytest

from claw_nb.cli import main
from claw_nb.store import Store


def claw(capsys, *arguments):
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def asked(capsys, monkeypatch, tmp_path):
    """Asks with a script, in ``tmp_path``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")

    def ask(*turns, question="go", options=()):
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"turns": list(turns)}), encoding="utf-8")
        monkeypatch.setenv("CLAW_SCRIPT", str(path))
        code, out, _ = claw(capsys, "ask", "--json", *options, question)
        assert code == 0
        return [json.loads(line) for line in out.splitlines()]

    return ask


BASH = {"name": "bash", "arguments": {"command": "echo penguin-census"}}


def test_words_are_found_wherever_they_were_said(capsys, asked):
    asked({"text": "The Gentoo colony grew."}, question="How is the café colony?")
    asked({"calls": [BASH]}, {"text": "Counted."}, question="Count", options=("--allow", "bash"))
    asked({"text": "Nothing here."}, question="Something else")
    for words, who, part in (
        ("gentoo", "assistant", "The Gentoo colony grew."),
        ("cafe", "user", "How is the café colony?"),
        ("penguin-census", "tool", "penguin-census"),
    ):
        code, out, _ = claw(capsys, "sessions", "search", words, "--json")
        best = json.loads(out)[0]
        assert (code, best["role"], part in best["excerpt"]) == (0, who, True)
    found = json.loads(claw(capsys, "sessions", "search", "colony grew", "--json")[1])
    assert [hit["role"] for hit in found] == ["assistant", "user"]
    called = json.loads(claw(capsys, "sessions", "search", "census", "--json")[1])
    assert {hit["role"] for hit in called} == {"assistant", "tool"}
    _, out, _ = claw(capsys, "sessions", "search", "100%", "o'clock", "_")
    assert out.strip() == "Nothing was said about that."


def test_search_reaches_sealed_sessions(capsys, asked, home):
    asked({"text": "The Gentoo colony grew."})
    store = Store.open(home)
    store.compact(force=True)
    store.close()
    assert "Gentoo colony" in claw(capsys, "sessions", "search", "gentoo")[1]


def test_a_session_goes_to_another_home_and_back_unchanged(capsys, asked, monkeypatch, tmp_path):
    events = asked(
        {"text": "Let me see: ☃", "calls": [BASH]}, {"text": "Done."}, options=("--allow", "bash")
    )
    session = events[0]["session_id"]
    code, out, _ = claw(capsys, "sessions", "export", session[:20], "one.jsonl", "--json")
    assert (code, json.loads(out)["messages"]) == (0, 4)
    assert claw(capsys, "sessions", "export", session, "one.jsonl")[0] == 1
    shown = claw(capsys, "sessions", "show", session, "--json")[1]
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "other"))
    _, out, _ = claw(capsys, "sessions", "import", "one.jsonl", "--json")
    assert json.loads(out) == [{"id": session, "added": 4, "broken": 0}]
    assert claw(capsys, "sessions", "show", session, "--json")[1] == shown
    claw(capsys, "sessions", "export", session, "two.jsonl")
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    _, out, _ = claw(capsys, "sessions", "import", "two.jsonl", "--json")
    assert json.loads(out)[0]["added"] == 0
    more = asked(*[{"text": "And on."}] * 3, options=("--session", session))
    assert more[0]["session_id"] == session


def test_a_torn_line_costs_only_itself(capsys, asked, monkeypatch, tmp_path):
    session = asked({"text": "a"})[0]["session_id"]
    claw(capsys, "sessions", "export", session, "one.jsonl")
    with (tmp_path / "one.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"type": "message", "id": ')
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "other"))
    _, out, _ = claw(capsys, "sessions", "import", "one.jsonl", "--json")
    assert json.loads(out) == [{"id": session, "added": 2, "broken": 1}]
    code, _, err = claw(capsys, "sessions", "import", "script.json")
    assert (code, "is not a conversation" in err) == (2, True)


def test_a_removed_session_is_found_no_more(capsys, asked):
    session = asked({"text": "The Gentoo colony grew."})[0]["session_id"]
    assert claw(capsys, "sessions", "rm", session)[0] == 0
    assert "Nothing" in claw(capsys, "sessions", "search", "gentoo")[1]
    assert claw(capsys, "sessions", "show", session)[0] == 1


def test_a_run_is_shown_as_a_timeline(capsys, asked):
    usage = {"input": 10, "output": 5, "cost": 0.25}
    events = asked(
        {"text": "I look.", "calls": [BASH, {"name": "nothing", "arguments": {}}], "usage": usage},
        {"text": "Done.", "usage": usage},
        options=("--allow", "bash"),
        question="Count them",
    )
    run = events[0]["run_id"]
    _, out, _ = claw(capsys, "runs", "list", "--json")
    [listed] = json.loads(out)
    assert {k: listed[k] for k in ("run_id", "prompt", "status", "turns", "tools", "cost")} == {
        "run_id": run, "prompt": "Count them", "status": "end", "turns": 2, "tools": 2, "cost": 0.5,
    }  # fmt: skip
    code, out, _ = claw(capsys, "runs", "show", run[:20], "--json")
    steps = json.loads(out)
    assert code == 0
    assert [(step["what"], step["status"], step["tokens"], step["cost"]) for step in steps] == [
        ("asked", "", None, None),
        ("turn 1", "tool_use", "10+5", 0.25),
        ("bash", "ok", None, None),
        ("nothing", "not_found", None, None),
        ("turn 2", "end", "10+5", 0.25),
        ("ended", "end", None, None),
    ] or [step["what"] for step in steps[2:4]] == ["nothing", "bash"]
    assert all(step["at_ms"] >= 0 for step in steps)
    text = " ".join(claw(capsys, "runs", "show", run)[1].split())
    assert "2 turns, 2 tool calls, 20+10, $0.5000" in text
    assert claw(capsys, "runs", "show", "zz")[0] == 1


def test_runs_of_one_session_only(capsys, asked):
    first = asked({"text": "a"})[0]
    asked({"text": "b"})
    _, out, _ = claw(capsys, "runs", "list", "--session", first["session_id"], "--json")
    assert [run["run_id"] for run in json.loads(out)] == [first["run_id"]]


@pytest.mark.parametrize(
    ("words", "verdict", "risky", "why"),
    [
        (["ls", "-la"], "allow", False, "only reads"),
        (["pytest -q"], "ask", False, "runs a program"),
        (["rm", "-rf", "my build"], "ask", True, "deletes folders"),
        (["sudo rm -rf / --no-preserve-root"], "deny", False, ""),
        (["echo cm0gLXJmIC8K | base64 -d | sh"], None, None, ""),
    ],
)
def test_the_policy_is_explained(capsys, asked, words, verdict, risky, why):
    code, out, _ = claw(capsys, "policy", "explain", "--json", "--", *words)
    said = json.loads(out)
    assert code == 0
    if verdict is None:
        assert said["verdict"] == "deny" or said["risky"]
        return
    assert (said["verdict"], said["risky"], why in said["why"]) == (verdict, risky, True)
    assert said["command"] == (
        words[0] if len(words) == 1 else "rm -rf 'my build'" if risky else "ls -la"
    )
    assert said["means"]


def test_rules_are_told_in_words_and_forgotten(capsys, asked, home, tmp_path):
    assert "No rule" in claw(capsys, "approvals")[1]
    store = Store.open(home)
    for reach, tool in (("tool", "bash"), ("path", "write_file"), ("session", "run_python")):
        store.rules.add(
            reach, tool, agent="main", root=str(tmp_path), by="Ann",
            session_id="s1", path=f"{tmp_path}/notes.md",
        )  # fmt: skip
    store.close()
    _, out, _ = claw(capsys, "approvals", "rules", "--json")
    rules = json.loads(out)
    assert [rule["rule"] for rule in rules] == [
        f"bash may always run unasked in {tmp_path}.",
        f"write_file may always run unasked on {tmp_path}/notes.md.",
        "run_python may run unasked in session s1.",
    ]
    assert [(rule["path"], rule["session"]) for rule in rules] == [
        (None, None), (f"{tmp_path}/notes.md", None), (None, "s1"),
    ]  # fmt: skip
    assert claw(capsys, "approvals", "forget", rules[0]["id"])[0] == 0
    assert claw(capsys, "approvals", "forget", rules[0]["id"])[0] == 1
    _, out, _ = claw(capsys, "approvals", "rules", "--json", "--here")
    assert len(json.loads(out)) == 2


def test_skills_are_made_listed_shown_and_left_out(capsys, asked, tmp_path):
    assert claw(capsys, "skills", "new", "fit", "--description", "Fits: a model")[0] == 0
    claw(capsys, "skills", "new", "plot", "--description", "Plots.", "--agent")
    _, out, _ = claw(capsys, "skills", "list", "--json")
    assert [(s["name"], s["scope"], s["description"]) for s in json.loads(out)] == [
        ("fit", "workspace", "Fits: a model"), ("plot", "agent", "Plots."),
    ]  # fmt: skip
    assert "step by step" in claw(capsys, "skills", "show", "fit")[1]
    assert claw(capsys, "skills", "show", "nothing")[0] == 1
    assert claw(capsys, "skills", "new", "Fit!", "--description", "x")[0] == 2
    asked({"text": "ok", "expect": {"system": "- fit: Fits: a model (skills/fit/SKILL.md)"}})
    path = tmp_path / "script.json"
    turns = [{"text": "ok", "expect": {"system": "# Skills"}}]
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    assert claw(capsys, "ask", "go")[0] == 0
    assert claw(capsys, "ask", "--no-skills", "go")[0] == 1
