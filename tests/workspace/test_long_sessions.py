"""Long conversations, large results and budgets, with everything kept in a real home."""

import json
from dataclasses import replace

import pytest

from claw_nb import config
from claw_nb.core.errors import ProviderError
from claw_nb.core.events import (
    CompactionFinished,
    MessageAdded,
    RunFailed,
    RunFinished,
    RunStarted,
    SessionRotated,
    ToolFinished,
)
from claw_nb.core.messages import Text, ToolCall, ToolResult, Usage, repair
from claw_nb.providers.script import Turn
from claw_nb.providers.scripted import ScriptedProvider
from claw_nb.workspace import Workspace


@pytest.fixture
def open_work(home, tmp_path):
    """Opens the same home anew, as another process would, with a script for the model."""
    opened = []
    root = tmp_path / "project"
    root.mkdir()

    def make(turns, **settings):
        chosen = replace(config.load(home, env={}, provider="scripted"), model="m", **settings)
        work = Workspace.open(home, settings=chosen, root=root)
        provider = ScriptedProvider(turns=turns)
        work.provider = lambda _settings: provider
        opened.append(work)
        return work, provider

    yield make
    for work in opened:
        work.close()


async def asked(work, prompt, **given):
    options = {"key": "nb"} | given
    return [event async for event in work.ask(prompt, **options)]


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


async def fill(work, times, size=600):
    """Several questions with long answers."""
    for n in range(times):
        await asked(work, f"question {n} " + "z" * size)


ANSWER = "an answer " + "x" * 1_200


# -- compaction --------------------------------------------------------------------------------


async def test_a_compaction_is_kept_and_another_process_goes_on_from_it(open_work, home):
    work, _ = open_work([ANSWER] * 40, window=24_000)
    await fill(work, 40)
    session = work.store.sessions.latest("nb", "main")
    assert session.compactions >= 1
    past = work.store.sessions.past(session.id)
    assert len(past.messages) == session.messages == 80
    work.store.compact(force=True)
    other, provider = open_work(["fine"], window=24_000)
    await asked(other, "and now?")
    first, *_, last = provider.requests[0].messages
    assert past.compaction.summary in first.text
    assert last.text == "and now?"
    assert len(provider.requests[0].messages) < 60
    index = json.loads((home / "sessions" / "index.json").read_text())["sessions"]
    [entry] = [e for e in index if e["key"] == "nb"]
    assert entry["compactionCount"] == other.store.sessions.get(session.id).compactions
    assert 0 < entry["contextTokens"] < 24_000


async def test_the_transcript_file_holds_everything_and_the_compaction(open_work, home):
    work, _ = open_work([ANSWER] * 40, window=24_000)
    await fill(work, 40)
    session = work.store.sessions.latest("nb", "main")
    lines = [
        json.loads(line)
        for line in (home / "sessions" / f"{session.id}.jsonl").read_text().splitlines()
    ]
    kinds = [line["type"] for line in lines]
    assert (kinds[0], kinds.count("message")) == ("session", 80)
    assert kinds.count("compaction") == session.compactions
    [entry] = [line for line in lines if line["type"] == "compaction"][-1:]
    assert entry["summary"] == work.store.sessions.past(session.id).compaction.summary


async def test_an_exported_session_comes_back_with_its_compaction(open_work, home, tmp_path):
    work, _ = open_work([ANSWER] * 40, window=24_000)
    await fill(work, 40)
    session = work.store.sessions.latest("nb", "main")
    file = tmp_path / "exported.jsonl"
    file.write_text("\n".join(work.store.sessions.export(session.id)) + "\n")
    before = work.store.sessions.past(session.id)
    work.store.sessions.remove(session.id)
    work.store.sessions.restore(file)
    assert work.store.sessions.past(session.id) == before
    assert work.store.sessions.get(session.id).compactions == session.compactions


async def test_a_second_compaction_covers_more_and_never_less(open_work):
    work, provider = open_work([ANSWER] * 80, window=16_000)
    covers = []
    for n in range(80):
        for event in await asked(work, f"question {n} " + "z" * 600):
            if isinstance(event, CompactionFinished) and event.compaction:
                covers.append(event.compaction.covers)
    assert len(covers) >= 2
    assert covers == sorted(set(covers))
    session = work.store.sessions.latest("nb", "main")
    messages = work.store.sessions.past(session.id).messages
    assert all(messages[at].role == "user" for at in covers)
    for request in provider.requests:
        assert repair(request.messages) == request.messages


async def test_it_can_be_asked_for_and_shows_in_sql(open_work):
    work, _ = open_work([ANSWER] * 6)
    await fill(work, 6)
    session = work.store.sessions.latest("nb", "main")
    done = await work.compact(session.id[:20])
    assert done.after < done.before
    assert (await work.compact(session.id)) is None
    found = (await work.store.query("SELECT compactions, context_tokens FROM sessions")).rows()
    assert found == [(1, done.after)]
    kinds = await work.store.query(
        "SELECT kind, status FROM events WHERE kind LIKE 'compaction%' ORDER BY seq"
    )
    assert kinds.rows() == [("compaction.started", "asked"), ("compaction.finished", "ok")]


async def test_a_turn_too_long_for_the_window_goes_on_in_a_new_session(open_work):
    def dig(n):
        call = ToolCall(
            id=f"c{n}", name="bash", arguments={"command": f"printf 'x%.0s' {{1..7000}} # {n}"}
        )
        return Turn(calls=(call,))

    work, provider = open_work([*map(dig, range(8)), "done", "later"], window=16_000)
    events = await asked(work, "dig", grant=("bash",))
    [rotated] = of(events, SessionRotated)[:1]
    assert isinstance(events[-1], RunFinished)
    [started] = of(events, RunStarted)
    sessions = work.store.sessions
    assert sessions.get(started.session_id).next == rotated.session_id
    new = sessions.living(started.session_id)
    assert new.key == "nb"
    assert "goes on from an earlier one" in sessions.messages(rotated.session_id)[0].text
    # Asking in the old session, or at the old place, goes on in the new one.
    [again] = of(await asked(work, "and?", session=started.session_id), RunStarted)
    assert again.session_id == new.id == of(events, SessionRotated)[-1].session_id
    assert sessions.latest("nb", "main").id == new.id
    for request in provider.requests:
        assert repair(request.messages) == request.messages


async def test_an_overflow_is_answered_by_one_compaction_that_stays(open_work):
    overflow = ProviderError("too long", kind="overflow")
    work, _ = open_work([*[ANSWER] * 8, overflow, "fine"])
    await fill(work, 8)
    events = await asked(work, "and now?")
    assert [e.reason for e in of(events, CompactionFinished)] == ["overflow"]
    assert isinstance(events[-1], RunFinished)
    session = work.store.sessions.latest("nb", "main")
    assert work.store.sessions.past(session.id).compaction is not None
    assert session.messages == 18


# -- large results -----------------------------------------------------------------------------


async def test_a_large_result_is_kept_and_read_on_by_its_handle(open_work):
    big = Turn(calls=(ToolCall(id="c1", name="bash", arguments={"command": "seq 1 4000"}),))
    handles = []

    def read_on(request):
        [result] = [p for p in request.messages[-1].parts if isinstance(p, ToolResult)]
        handles.append(result.text.split('kept as "')[1].split('"')[0])
        arguments = {"handle": handles[0], "offset": 5_000, "limit": 100}
        return Turn(calls=(ToolCall(id="c2", name="read_result", arguments=arguments),))

    work, _ = open_work([big, read_on, "fine", "later"], result_limit=8_000)
    events = await asked(work, "count", grant=("bash",))
    first, second = (event.result for event in of(events, ToolFinished))
    assert len(first.text) < 8_000
    assert first.text.startswith("1\n2\n3\n")
    whole = work.store.read_result(handles[0])
    assert len(whole) > 8_000
    assert second.text.startswith(whole[5_000:5_100])
    assert "offset=5100" in second.text
    # It outlives the sealing of the log, and goes with its session.
    work.store.compact(force=True)
    assert work.store.read_result(handles[0]) == whole


async def test_a_kept_result_holds_no_secret(open_work, home):
    secret = "ghp_" + "a1B2" * 9
    command = f"echo {secret}; seq 1 4000"
    big = Turn(calls=(ToolCall(id="c1", name="bash", arguments={"command": command}),))
    work, _ = open_work([big, "fine"], result_limit=8_000)
    await asked(work, "count", grant=("bash",))
    work.close()
    for path in home.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


async def test_an_unknown_handle_is_told_to_the_model(open_work):
    ask = Turn(calls=(ToolCall(id="c", name="read_result", arguments={"handle": "../../etc"}),))
    work, _ = open_work([ask, "fine"])
    [done] = of(await asked(work, "read"), ToolFinished)
    assert done.result.error == "not_found"


# -- budgets -----------------------------------------------------------------------------------


def costing(text, cost, tokens=1_000):
    return Turn(text=text, usage=Usage(input=tokens, output=10, cost=cost))


async def test_a_session_stops_when_its_budget_is_spent(open_work):
    work, provider = open_work([costing("a", 0.0)] * 9, session_tokens=3_000_000)
    await asked(work, "one")
    estimate = work.store.sessions.latest("nb", "main").context_tokens
    work.settings = replace(work.settings, session_tokens=estimate * 2 + 1_000)
    ends = [(await asked(work, "more"))[-1] for _ in range(4)]
    assert isinstance(ends[-1], RunFailed)
    assert (ends[-1].kind, "this session" in ends[-1].error) == ("budget", True)
    made = len(provider.requests)
    # A new session may spend again.
    assert isinstance((await asked(work, "fresh", new=True))[-1], RunFinished)
    assert len(provider.requests) == made + 1


async def test_a_day_is_one_budget_for_all_processes(open_work):
    work, _ = open_work([costing("a", 0.0, tokens=500_000)])
    await asked(work, "one")
    other, provider = open_work(["never"], day_tokens=400_000)
    end = (await asked(other, "two", new=True))[-1]
    assert (end.kind, provider.requests) == ("budget", [])
    assert "500,010 tokens are spent" in end.error
    assert "midnight UTC" in end.hint


async def test_a_removed_session_does_not_give_its_money_back(open_work):
    work, _ = open_work([costing("a", 0.5)])
    await asked(work, "one")
    work.store.sessions.remove(work.store.sessions.latest("nb", "main").id)
    assert work.store.spending.today().cost == 0.5


async def test_the_run_of_a_task_has_its_own_budget(open_work, home):
    work, _ = open_work(["a", "never"])
    task = work.tasks.add("t", prompt="go", every="1h")
    run = work.tasks.run_now(task)
    work.env = {"CLAW_RUN_ID": run.id}
    work.provider(None)._turns = (costing("a", 0.0, tokens=300_000), "never")
    await asked(work, "one")
    assert work.store.spending.of_task_run(run.id).input == 300_000
    work.settings = replace(work.settings, task_tokens=200_000)
    end = (await asked(work, "two", new=True))[-1]
    assert (end.kind, "one run of this task" in end.error) == ("budget", True)
    rows = (await work.store.query("SELECT task_id, tokens_in FROM usage")).rows()
    assert rows == [(task.id, 300_000)]


async def test_prices_of_ones_own_count(open_work, home):
    (home / "config.toml").parent.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        '[prices]\n"openai/mine" = {input = 1_000_000, output = 0}\n[budget]\nturn_cost = 1\n'
    )
    settings = config.load(home, env={}, provider="openai", model="mine", api_key="k" * 20)
    work, provider = open_work(["never"])
    work.settings = settings
    end = (await asked(work, "one"))[-1]
    assert (end.kind, provider.requests) == ("budget", [])


# -- what was said stays readable --------------------------------------------------------------


async def test_messages_are_repaired_on_load_after_a_kill_in_a_tool(open_work):
    work, _ = open_work([Turn(calls=(ToolCall(id="c", name="list_tasks"),)), "fine", "again"])
    run = work.ask("go", key="nb")
    async for event in run:
        if isinstance(event, MessageAdded) and event.message.tool_calls:
            break
    await run.aclose()
    session = work.store.sessions.latest("nb", "main")
    assert [m.role for m in work.store.sessions.past(session.id).messages] == ["user", "assistant"]
    other, provider = open_work(["fine"])
    assert isinstance((await asked(other, "still there?"))[-1], RunFinished)
    roles = [m.role for m in provider.requests[0].messages]
    assert roles == ["user", "assistant", "tool", "user"]
    [result] = provider.requests[0].messages[2].parts
    assert (result.error, isinstance(result.parts[0], Text)) == ("interrupted", True)
