"""A yes for a session, a tool or a path is kept where the agent can't write, and can be taken back."""

import pytest

from claw_nb import config
from claw_nb.core.events import ApprovalRequested, ApprovalResolved, ToolFinished
from claw_nb.core.messages import ToolCall
from claw_nb.core.protocols import Answer
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider
from claw_nb.workspace import Workspace


def write(path, number=0):
    return ToolCall(
        id=f"w{path}{number}", name="write_file", arguments={"path": path, "content": "x"}
    )


def shell(command):
    return ToolCall(id=f"b{command}", name="bash", arguments={"command": command})


class Place:
    """A workspace whose person answers as told and remembers what was asked."""

    def __init__(self, home, root, decision):
        root.mkdir(exist_ok=True)
        self.work = Workspace.open(home, settings=config.load(home, env={}), root=root)
        self.decision = decision
        self.asked = []

    async def ask(self, *calls, session=None, new=False, key="k"):
        self.asked.clear()

        async def approve(request):
            self.asked.append(request.call.name)
            return Answer(decision=self.decision, by="Ann")

        turns = [Turn(calls=(call,)) for call in calls]
        self.work.provider = lambda _: ScriptedProvider([*turns, "done"])
        events = self.work.ask("go", key=key, approve=approve, session=session, new=new)
        found = [event async for event in events]
        self.session = found[0].session_id
        return found


@pytest.fixture
def place(home, tmp_path):
    made = []

    def make(decision, root="work"):
        made.append(Place(home, tmp_path / root, decision))
        return made[-1]

    yield make
    for one in made:
        one.work.close()


async def test_a_yes_for_the_session_outlives_the_process_but_not_the_session(place):
    first = place("session")
    await first.ask(write("a"), write("b"))
    assert first.asked == ["write_file"]
    again = place("denied")
    await again.ask(write("c"), session=first.session)
    assert again.asked == []
    await again.ask(write("d"), new=True)
    assert again.asked == ["write_file"]


async def test_always_this_tool_holds_in_its_folder_only(place):
    first = place("tool")
    events = await first.ask(write("a"))
    await first.ask(write("b"), new=True)
    assert first.asked == []
    elsewhere = place("denied", root="other")
    await elsewhere.ask(write("a"))
    assert elsewhere.asked == ["write_file"]
    assert [e.decision for e in events if isinstance(e, ApprovalResolved)] == ["tool"]


async def test_always_this_path_holds_for_that_path_only(place):
    here = place("path")
    await here.ask(write("a"), write("a", 1), write("sub/../a", 2))
    assert here.asked == ["write_file"]
    await here.ask(write("b"), new=True)
    assert here.asked == ["write_file"]


async def test_a_path_can_not_be_kept_for_a_tool_that_changes_none(place):
    here = place("path")
    await here.ask(shell("touch x"), shell("touch x"))
    assert here.asked == ["bash", "bash"]
    assert here.work.store.rules.list() == ()


@pytest.mark.parametrize("decision", ["session", "tool"])
async def test_no_rule_covers_a_risky_call(place, decision):
    here = place(decision)
    await here.ask(shell("touch x"), shell("rm -rf build"), shell("rm -rf build"))
    assert here.asked == ["bash", "bash", "bash"]
    await here.ask(shell("touch y"), write(".git/hooks/pre-commit"))
    assert here.asked == ["write_file"]


async def test_what_a_rule_let_through_is_told_and_logged(place):
    here = place("tool")
    await here.ask(write("a"))
    events = await here.ask(write("b"))
    [resolved] = [event for event in events if isinstance(event, ApprovalResolved)]
    assert (resolved.decision, resolved.by) == ("tool", "a rule")
    assert resolved.why == f"write_file may always run unasked in {here.work.root}."
    assert not [event for event in events if isinstance(event, ApprovalRequested)]
    assert [event.result.error for event in events if isinstance(event, ToolFinished)] == [None]


async def test_a_forgotten_rule_is_asked_again_at_once(place):
    here = place("tool")
    await here.ask(write("a"))
    [rule] = here.work.store.rules.list()
    here.work.store.rules.forget(rule.id[:20])
    await here.ask(write("b"))
    assert here.asked == ["write_file"]


async def test_a_scheduled_run_has_its_grant_and_no_rules(place, home, tmp_path):
    here = place("tool")
    await here.ask(write("a"))
    task = here.work.tasks.add("t", prompt="go", every="1h", folder=tmp_path)
    run = here.work.tasks.run_now(task)
    here.work.env = {"CLAW_RUN_ID": run.id}
    here.decision = "denied"
    await here.ask(write("b"))
    assert here.asked == ["write_file"]


async def test_the_agent_can_not_reach_the_rules(place, home):
    here = place("once")
    events = await here.ask(
        ToolCall(id="r", name="write_file",
                 arguments={"path": str(home / "data" / "state.db"), "content": ""}),
        shell(f"sqlite3 {home}/data/state.db 'delete from approval_rules'"),
        ToolCall(id="q", name="sql", arguments={"query": "DELETE FROM sessions"}),
    )  # fmt: skip
    errors = [event.result.error for event in events if isinstance(event, ToolFinished)]
    assert (errors, here.asked) == (["policy", "policy", "policy"], [])
