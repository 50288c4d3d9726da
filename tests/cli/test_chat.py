"""A conversation in a terminal, through a pseudo-terminal and through a pipe."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pexpect = pytest.importorskip("pexpect", reason="no pseudo-terminals on this system")

ROOT = Path(__file__).resolve().parents[2]


def bash(command, text=None):
    call = {"name": "bash", "arguments": {"command": command}}
    return {"calls": [call]} | ({"text": text} if text else {})


class Place:
    """A folder with a scripted agent, and the ways to talk with it."""

    def __init__(self, folder, home):
        self.folder, self.script = folder, folder / "script.json"
        self.env = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "extension")]),
            "CLAW_HOME": str(home),
            "CLAW_PROVIDER": "scripted",
            "CLAW_SCRIPT": str(self.script),
            "CLAW_EMBEDDER": "none",
            "TERM": "dumb",
        }

    def answers(self, *turns):
        self.script.write_text(json.dumps({"turns": list(turns)}), encoding="utf-8")

    def claw(self, *arguments, typed=None):
        command = [sys.executable, "-m", "claw_nb", *arguments]
        given = {"input": typed} if typed is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(
            command, env=self.env, cwd=self.folder, capture_output=True, text=True,
            check=False, **given,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def chat(self, *arguments):
        command = ["-m", "claw_nb", "chat", *arguments]
        shell = pexpect.spawn(
            sys.executable, command, env=self.env, cwd=str(self.folder), encoding="utf-8",
            timeout=60,
        )  # fmt: skip
        shell.setwinsize(40, 200)
        return shell

    def messages(self):
        query = "SELECT session_id, role, text FROM messages ORDER BY ts, seq"
        return json.loads(self.claw("sql", "--json", query).stdout)


@pytest.fixture
def place(tmp_path, home):
    folder = tmp_path / "project"
    folder.mkdir()
    return Place(folder, home)


def prompt(shell):
    shell.expect_exact("claw> ")
    return shell.before.replace("\r", "")


def left(shell):
    shell.expect(pexpect.EOF)
    shell.close()
    return shell.exitstatus


def test_a_conversation_goes_on_after_a_restart_in_the_same_folder(place, tmp_path):
    place.answers("Hello Ada.", "Still here.")
    shell = place.chat()
    assert "A new session" in prompt(shell)
    shell.sendline("I am Ada")
    answered = prompt(shell)
    assert "Hello Ada." in answered
    assert "1 turn · 0 tool calls" in answered
    shell.sendline("/exit")
    assert left(shell) == 0

    shell = place.chat()
    assert re.search(r"Session \w+(-\w+)* goes on: I am Ada \(2 messages\)", prompt(shell))
    shell.sendline("and now?")
    prompt(shell)
    shell.sendeof()
    assert left(shell) == 0
    rows = place.messages()
    assert [row["role"] for row in rows] == ["user", "assistant"] * 2
    assert len({row["session_id"] for row in rows}) == 1

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shell = place.chat("--workspace", str(elsewhere))
    assert "A new session" in prompt(shell)
    shell.sendline("/quit")
    assert left(shell) == 0


def test_ctrl_c_in_the_middle_of_bash_stops_it_and_keeps_the_session(place):
    place.answers(bash("echo $$ > pid; sleep 600", "I wait."), "Fine, we go on.")
    shell = place.chat("--allow", "bash")
    prompt(shell)
    shell.sendline("wait")
    shell.expect_exact("tool> bash started")
    pid = place.folder / "pid"
    while not pid.is_file() or not pid.read_text().strip():
        assert shell.isalive()
    shell.sendintr()
    said = prompt(shell)
    assert "The run was stopped." in said
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    shell.sendline("go on")
    assert "Fine, we go on." in prompt(shell)
    shell.sendline("/exit")
    assert left(shell) == 0
    rows = place.messages()
    assert [row["role"] for row in rows] == ["user", "assistant", "tool", "user", "assistant"]
    assert "interrupted" in rows[2]["text"]
    assert len({row["session_id"] for row in rows}) == 1


def test_ctrl_c_at_the_prompt_drops_the_line_and_stays(place):
    place.answers("Hello.")
    shell = place.chat()
    prompt(shell)
    shell.send("half a thou")
    shell.sendintr()
    assert "/exit or Ctrl-D leaves." in prompt(shell)
    shell.sendline("hello")
    assert "Hello." in prompt(shell)
    shell.sendline("/exit")
    assert left(shell) == 0
    assert place.messages()[0]["text"] == "hello"


def test_a_tool_asks_and_ctrl_c_at_the_question_leaves_the_next_line_alone(place):
    place.answers(bash("touch one"), "Done.", bash("touch two"), "We talk of something else.")
    shell = place.chat()
    prompt(shell)
    shell.sendline("make one")
    shell.expect_exact("Allow? [y]es, for this [s]ession, always this [t]ool")
    shell.sendline("y")
    said = prompt(shell)
    assert "tool> bash started" in said
    assert "tool> bash completed" in said
    assert (place.folder / "one").is_file()
    shell.sendline("make two")
    shell.expect_exact("Allow? [y]es")
    shell.sendintr()
    assert "The run was stopped." in prompt(shell)
    shell.sendline("never mind")
    assert "We talk of something else." in prompt(shell)
    assert not (place.folder / "two").exists()
    assert [row["text"] for row in place.messages() if row["role"] == "user"][-1] == "never mind"
    shell.sendline("/exit")
    assert left(shell) == 0


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (["one \\", "two\\", "three"], "one \ntwo\nthree"),
        (['"""first', "", 'last"""'], "first\n\nlast"),
        (["one\x1b\rtwo"], "one\ntwo"),
        (["/etc/hosts: what is it?"], "/etc/hosts: what is it?"),
    ],
    ids=["backslash", "fence", "alt-enter", "path"],
)
def test_a_question_of_several_lines_is_one_question(place, keys, asked):
    place.answers("Understood.")
    shell = place.chat()
    prompt(shell)
    for line in keys:
        shell.sendline(line)
    assert "Understood." in prompt(shell)
    shell.sendline("/exit")
    assert left(shell) == 0
    assert [row["text"] for row in place.messages() if row["role"] == "user"] == [asked]


def test_tab_completes_commands_and_the_arrow_brings_back_what_was_asked(place):
    pytest.importorskip("readline")
    place.answers("One.", "Two.")
    shell = place.chat()
    prompt(shell)
    shell.sendline("tell me")
    prompt(shell)
    shell.sendline("/exit")
    assert left(shell) == 0
    shell = place.chat()
    prompt(shell)
    shell.send("/he\t")
    shell.expect_exact("/help")
    shell.sendline("")
    assert "/compact" in prompt(shell)
    shell.send("\x1b[A\x1b[A")
    shell.sendline("")
    assert "Two." in prompt(shell)
    assert [row["text"] for row in place.messages() if row["role"] == "user"] == ["tell me"] * 2
    shell.sendline("/exit")
    assert left(shell) == 0


def test_new_begins_a_session_of_its_own_and_a_typo_is_answered(place):
    place.answers("One.", "Two.")
    done = place.claw("chat", typed="hello\n/new\n/hlep\nhello again\n/exit\nnever asked\n")
    assert [line for line in done.stdout.splitlines() if line] == ["One.", "Two."]
    assert "Did you mean /help?" in done.stderr
    assert done.returncode == 1, "an unknown command in a script is a mistake"
    rows = place.messages()
    assert [row["text"] for row in rows if row["role"] == "user"] == ["hello", "hello again"]
    assert len({row["session_id"] for row in rows}) == 2


def test_piped_lines_are_answered_one_after_the_other(place):
    place.answers(bash("echo hi", "I look."), "Done.", "Second.")
    typed = 'first\n\n"""second\nof two lines"""'
    done = place.claw("chat", "--allow", "bash", typed=typed)
    assert done.returncode == 0
    assert "claw> " not in done.stdout
    assert [line for line in done.stdout.splitlines() if line] == ["I look.", "Done.", "Second."]
    assert "tool> bash completed" in done.stderr
    assert [row["text"] for row in place.messages() if row["role"] == "user"] == [
        "first",
        "second\nof two lines",
    ]


def test_a_pipe_can_approve_nothing_and_a_failure_shows_in_the_exit_code(place):
    place.answers(bash("touch made"), "I may not.")
    done = place.claw("chat", typed="make it\nand once more\n")
    assert not (place.folder / "made").exists()
    assert "tool> bash failed (denied)" in done.stderr
    assert done.returncode == 1, "the script has no third answer"


def test_a_session_goes_on_by_its_id_in_chat_and_in_ask(place):
    place.answers("One.", "Two.", "Three.")
    place.claw("ask", "first")
    [session] = json.loads(place.claw("sessions", "list", "--json").stdout)
    done = place.claw("chat", "--session", session["id"], typed="second\n")
    assert "goes on: first (2 messages)" in done.stderr
    assert place.claw("ask", "--session", session["id"][:13], "third").returncode == 0
    rows = place.messages()
    assert [row["text"] for row in rows if row["role"] == "user"] == ["first", "second", "third"]
    assert {row["session_id"] for row in rows} == {session["id"]}


def test_ask_continues_the_last_conversation_of_the_folder_also_a_chat(place):
    place.answers("One.", "Two.", "Three.")
    place.claw("ask", "alone")
    place.claw("chat", typed="in a chat\n")
    place.claw("ask", "--continue", "and on")
    of = {row["text"]: row["session_id"] for row in place.messages()}
    assert of["and on"] == of["in a chat"] != of["alone"]


def test_a_chat_without_a_provider_says_what_is_missing_before_the_first_question(place):
    done = place.claw("chat", "--provider", "anthropic", typed="hello\n")
    assert done.returncode == 1
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_a_session_is_handed_from_a_notebook_to_the_command_line_and_back(place):
    def cell(line):
        code = f"%load_ext claw_nb\n{line}"
        command = [sys.executable, "-m", "IPython", "--colors=nocolor", "-c", code]
        env = place.env | {"IPYTHONDIR": str(place.folder / "ipython")}
        done = subprocess.run(
            command, env=env, cwd=place.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        return done.stdout

    in_kernel = {"calls": [{"name": "run_python", "arguments": {"code": "print(6 * 7)"}}]}
    place.answers(in_kernel, "In the notebook.", "On the command line.", "In a chat.", "And back.")
    assert "In the notebook." in cell("%claw ask --allow run_python begin")
    [session] = json.loads(place.claw("sessions", "list", "--json").stdout)
    asked = place.claw("ask", "--session", session["id"], "go on")
    assert "On the command line." in asked.stdout
    chatted = place.claw("chat", "--session", session["id"], typed="further\n")
    assert "In a chat." in chatted.stdout
    assert "And back." in cell(f"%claw ask --session {session['id']} finish")
    rows = place.messages()
    assert {row["session_id"] for row in rows} == {session["id"]}
    assert [row["text"] for row in rows if row["role"] == "user"] == [
        "begin",
        "go on",
        "further",
        "finish",
    ]


def test_compact_shortens_what_the_model_reads_and_keeps_the_conversation(place):
    long = "It was a dark and stormy night. " * 400
    place.answers(long, long, long, "Short.")
    shell = place.chat()
    prompt(shell)
    shell.sendline("/compact")
    assert "nothing to summarise yet" in prompt(shell)
    for question in ("one", "two", "three"):
        shell.sendline(question)
        prompt(shell)
    shell.sendline("/compact")
    assert re.search(r"compacted> \d+ to about \d+ tokens", prompt(shell))
    shell.sendline("/compact")
    assert "Nothing would be gained" in prompt(shell)
    shell.sendline("four")
    assert "Short." in prompt(shell)
    shell.sendline("/exit")
    assert left(shell) == 0
    asked = [row["text"] for row in place.messages() if row["role"] == "user"]
    assert asked == ["one", "two", "three", "four"]
