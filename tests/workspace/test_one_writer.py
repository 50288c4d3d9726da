"""One process at a time answers in a session, and one that was killed holds nothing back."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from claw_nb import config
from claw_nb.core.errors import Conflict
from claw_nb.core.messages import Text, ToolResult
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider
from claw_nb.workspace import Workspace


@pytest.fixture
def work(home, tmp_path):
    opened = Workspace.open(home, settings=config.load(home, env={}), root=tmp_path)
    yield opened
    opened.close()


SLOW = {"turns": [
    {"text": "I wait.", "calls": [{"name": "bash", "arguments": {"command": "sleep 60"}}]},
    {"text": "I go on."},
]}  # fmt: skip


class Elsewhere:
    """`claw ask` in a process of its own, in the middle of a tool call."""

    def __init__(self, tmp_path):
        import json

        script = tmp_path / "script.json"
        script.write_text(json.dumps(SLOW), encoding="utf-8")
        self.env = os.environ | {"CLAW_PROVIDER": "scripted", "CLAW_SCRIPT": str(script)}
        self.cwd = tmp_path
        self.process = subprocess.Popen(
            [sys.executable, "-m", "claw_nb", "ask", "--allow", "bash", "go"],
            env=self.env, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        while "bash started" not in (line := self.process.stderr.readline()):
            assert self.process.poll() is None, line

    def claw(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "claw_nb", *arguments], env=self.env, cwd=self.cwd,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def elsewhere(tmp_path):
    made = Elsewhere(tmp_path)
    yield made
    if made.process.poll() is None:
        made.kill()


async def ask(work, session, *turns):
    work.provider = lambda _: ScriptedProvider(turns)
    return [event async for event in work.ask("next", key="k", session=session)]


async def test_a_second_writer_is_refused_and_told_who_is_at_it(elsewhere, work):
    [session], _ = work.store.sessions.list()
    with pytest.raises(Conflict, match=rf"elsewhere \(process {elsewhere.process.pid}, since"):
        await ask(work, session.id, "no")
    assert len(work.store.sessions.messages(session.id)) == 3  # the open call counts as interrupted
    assert work.store.leases.held(session.id)
    refused = elsewhere.claw("sessions", "rm", session.id)
    assert (refused.returncode, "is being answered elsewhere" in refused.stderr) == (1, True)


async def test_a_session_goes_on_after_kill_9_in_the_middle_of_a_tool_call(elsewhere, work):
    elsewhere.kill()
    [session], _ = work.store.sessions.list()
    listed = elsewhere.claw("runs", "list")
    assert "broken off" in " ".join(listed.stdout.split())
    done = elsewhere.claw("ask", "--continue", "and now?")
    assert (done.returncode, done.stdout.strip()) == (0, "I go on.")
    messages = work.store.sessions.messages(session.id)
    assert [m.role for m in messages] == ["user", "assistant", "tool", "user", "assistant"]
    [left] = messages[2].parts
    assert isinstance(left, ToolResult)
    assert (left.name, left.error) == ("bash", "interrupted")


async def test_the_model_is_sent_a_whole_history_after_a_kill(elsewhere, work):
    elsewhere.kill()
    [session], _ = work.store.sessions.list()
    provider = ScriptedProvider(["fine"])
    work.provider = lambda _: provider
    [_ async for _ in work.ask("next", key="k", session=session.id)]
    sent = provider.requests[0].messages
    assert [m.role for m in sent] == ["user", "assistant", "tool", "user"]
    assert sent[1].parts[0] == Text(text="I wait.")


async def test_two_questions_to_one_session_in_one_process_do_not_mix(work):
    first = work.ask("one", key="k")
    work.provider = lambda _: ScriptedProvider([Turn(text="a"), Turn(text="b")])
    started = await anext(first)
    with pytest.raises(Conflict):
        await ask(work, started.session_id, "no")
    [_ async for _ in first]
    await ask(work, started.session_id, "yes")
    texts = [m.text for m in work.store.sessions.messages(started.session_id)]
    assert texts == ["one", "a", "next", "yes"]


async def test_a_stopped_question_lets_go(work):
    work.provider = lambda _: ScriptedProvider([Turn(text="word " * 50, pause=0.05)])

    async def run():
        async for _ in work.ask("one", key="k"):
            pass

    task = asyncio.create_task(run())
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [session], _ = work.store.sessions.list()
    assert not work.store.leases.held(session.id)
