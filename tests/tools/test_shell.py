"""The bash tool: real shells, real trees of processes."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from claw_nb.core.errors import ToolError
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.processes import clean
from claw_nb.tools.shell import shell_tools


@pytest.fixture
def root(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def bash(root):
    return shell_tools(Boundary(root))[0]


async def failure(awaitable):
    with pytest.raises(ToolError) as caught:
        await awaitable
    return caught.value


def alive(pid):
    """Whether a process runs; a zombie that waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def pids(folder, count):
    """The numbers that the script's processes have written down, once all have."""
    for _ in range(500):
        found = [path.read_text().strip() for path in folder.glob("*.pid")]
        if len(found) == count and all(found):
            return [int(each) for each in found]
        await asyncio.sleep(0.02)
    raise AssertionError("the processes did not start")


async def test_a_script_runs_in_the_workspace_and_its_output_comes_back(bash, root):
    assert await bash.run(command="pwd; echo out; echo err >&2; cd /; echo a > b 2>/dev/null") == (
        f"{root}\nout\nerr"
    )
    assert await bash.run(command="true") == "(no output)"


async def test_there_is_no_input_to_wait_for(bash):
    assert await bash.run(command="cat; read x; echo done") == "done"


async def test_an_exit_code_is_an_error_with_the_output_and_a_hint(bash):
    error = await failure(bash.run(command="echo before; exit 3"))
    assert (error.kind, error.message) == ("system", "the command ended with exit code 3\nbefore")
    error = await failure(bash.run(command="no-such-program"))
    assert "127" in error.message
    assert error.hints == ("That program isn't installed here, or its name is misspelled.",)
    assert "exit code 137" in (await failure(bash.run(command="kill -KILL $$"))).message


async def test_long_output_keeps_its_beginning_and_its_end(bash):
    text = await bash.run(command="echo first; seq 1 100000; echo last")
    assert text.startswith("first\n1\n2\n")
    assert text.endswith("100000\nlast")
    assert "bytes left out" in text
    assert 29_000 < len(text) < 31_000


async def test_thirty_thousand_bytes_are_shown_whole(bash):
    text = await bash.run(command="head -c 30000 /dev/zero | tr '\\0' x")
    assert text == "x" * 30_000


async def test_colours_and_progress_bars_are_read_as_on_a_screen(bash):
    text = await bash.run(command=r"printf '\033[31mred\033[0m\n 10%%\r 100%%\nend\r\n'")
    assert text == "red\n 100%\nend"


async def test_output_that_is_not_text_does_no_harm(bash):
    assert await bash.run(command=r"printf 'a\377b'") == "a\ufffdb"


async def test_a_command_that_takes_too_long_is_stopped_with_all_it_has_started(bash, root):
    script = """
    echo started
    (echo $BASHPID > child.pid; exec sleep 300) &
    setsid bash -c 'echo $$ > session.pid; exec sleep 300' &
    env -i setsid bash -c 'echo $$ > bare.pid; exec sleep 300' &
    nohup bash -c 'echo $$ > nohup.pid; trap "" TERM; sleep 300; sleep 300' >/dev/null 2>&1 &
    sleep 300
    """
    running = asyncio.create_task(bash.run(command=script, timeout=2))
    found = await pids(root, 4)
    assert all(map(alive, found))
    error = await failure(running)
    assert error.kind == "timeout"
    assert error.message.startswith("the command was stopped after 2 seconds")
    assert error.message.endswith("started")
    assert not any(map(alive, found))


async def test_a_cancelled_command_leaves_nothing_behind(bash, root):
    script = "echo $$ > shell.pid; setsid bash -c 'echo $$ > a.pid; exec sleep 300' & sleep 300"
    running = asyncio.create_task(bash.run(command=script, timeout=600))
    found = await pids(root, 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not any(map(alive, found))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="it finds processes in /proc")
async def test_a_command_ends_when_the_process_that_runs_it_is_killed(root):
    script = "setsid bash -c 'echo $$ > a.pid; exec sleep 300' & echo $$ > b.pid; sleep 300"
    code = (
        "import asyncio, sys; from pathlib import Path; from claw_nb.tools.processes import run\n"
        "asyncio.run(run(sys.argv[1], cwd=Path(sys.argv[2]), timeout=600))"
    )
    runner = await asyncio.create_subprocess_exec(sys.executable, "-c", code, script, str(root))
    found = await pids(root, 2)
    runner.kill()
    await runner.wait()
    for _ in range(500):
        if not any(map(alive, found)):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the command outlived its agent")


async def test_what_is_left_in_the_background_ends_with_the_command(bash, root):
    script = "setsid bash -c 'echo $$ > a.pid; exec sleep 300' & while [ ! -s a.pid ]; do :; done; echo hi"
    text = await bash.run(command=script)
    assert text == "hi\n[What it left running in the background was ended.]"
    assert not alive(int((root / "a.pid").read_text()))


async def test_a_finished_pipeline_leaves_nothing_to_end(bash):
    assert await bash.run(command="seq 100000 | sort -r | head -n 1") == "99999"


async def test_commands_run_side_by_side(bash):
    script = "touch {0}; for i in $(seq 200); do [ -e {1} ] && exit 0; sleep 0.05; done; exit 1"
    await asyncio.gather(
        bash.run(command=script.format("a", "b")), bash.run(command=script.format("b", "a"))
    )


async def test_secrets_of_the_environment_stay_out(bash, monkeypatch):
    secret = {
        "OPENAI_API_KEY": "abc",
        "MY_KEY": "abc",
        "GITHUB_TOKEN": "abc",
        "DB_PASSWORD": "abc",
        "client_secret": "abc",
        "AWS_SECRET_ACCESS_KEY": "abc",
        "AWS_ACCESS_KEY_ID": "abc",
        "SENTRY_DSN": "abc",
        "DATABASE_URL": "postgres://ann:tiger@db/x",
        "INNOCENT": "ghp_" + "a1B2" * 9,
        "CLAW_RUN_ID": "abc",
        "CLAW_HOME": "/home/x",
        "GLOBIGNORE": "x",
        "CDPATH": "/etc",
        "BASH_ENV": "/nowhere",
        "JPY_API_TOKEN": "abc",
    }
    plain = {
        "KEYBOARD": "de",
        "TOKENIZERS_PARALLELISM": "no",
        "AWS_REGION": "eu",
    }
    for name, value in (secret | plain).items():
        monkeypatch.setenv(name, value)
    seen = dict(
        line.split("=", 1) for line in (await bash.run(command="env")).splitlines() if "=" in line
    )
    assert not set(seen) & set(secret)
    assert {name: seen[name] for name in plain} == plain
    assert seen["CLAW_INSIDE_TOOL"] == "1"
    assert seen["PATH"] == os.environ["PATH"]


def test_a_clean_environment_keeps_what_programs_need():
    env = {"PATH": "/bin", "LANG": "C.UTF-8", "SSH_AUTH_SOCK": "/run/s", "VIRTUAL_ENV": "/v"}
    assert clean(env).items() >= env.items()


@pytest.mark.parametrize(("command", "timeout"), [("", 1), ("  \n", 1), ("ls", 0), ("ls", 601)])
async def test_what_makes_no_sense_is_refused_before_anybody_is_asked(bash, command, timeout):
    assert (await failure(bash.run(command=command, timeout=timeout))).kind == "validation"
    with pytest.raises(ToolError):
        bash.review({"command": command, "timeout": timeout})


async def test_the_policy_holds_even_for_a_call_that_nobody_reviewed(bash):
    assert (await failure(bash.run(command="sudo ls"))).kind == "policy"


def test_the_policy_speaks_before_anybody_is_asked(bash):
    assert bash.review({"command": "ls"}).verdict == "allow"
    assert bash.review({"command": "make"}).verdict == "ask"
    assert bash.review({"command": "rm -rf x"}).risky
    assert bash.review({"command": "rm -rf /"}).verdict == "deny"


async def test_a_missing_workspace_is_told(tmp_path):
    (gone,) = shell_tools(Boundary(tmp_path / "gone"))
    assert "did not start" in (await failure(gone.run(command="ls"))).message


async def test_a_command_longer_than_the_system_takes_is_told(bash):
    assert "did not start" in (await failure(bash.run(command="true " + "x" * 300_000))).message


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_many_calls_leave_no_open_files(bash):
    before = open_files()
    for _ in range(10):
        await bash.run(command="true")
    assert open_files() <= before + 1


def test_it_works_without_a_running_main_thread_loop(bash):
    import threading

    said = []
    thread = threading.Thread(target=lambda: said.append(asyncio.run(bash.run(command="echo hi"))))
    thread.start()
    thread.join(30)
    assert said == ["hi"]
