"""What a run does, told by its events."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from claw_nb.agent import Agent, Limits, ask_nobody
from claw_nb.core.errors import ProviderError, ToolError
from claw_nb.core.events import (
    ApprovalRequest,
    ApprovalResolved,
    Event,
    MessageAdded,
    PartialDiscarded,
    ReminderAdded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    TextAdded,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
)
from claw_nb.core.messages import Message, Text, ToolCall, ToolResult, repair, user
from claw_nb.core.progress import progress
from claw_nb.core.protocols import Answer, ModelRequest, Reply
from claw_nb.core.tools import Review, Tool, tool
from claw_nb.providers.scripted import ScriptedProvider


def said(text: str) -> Reply:
    return Reply(message=Message(role="assistant", parts=(Text(text=text),)), stop="end")


def calls(*wanted: tuple[str, dict[str, Any]], start: int = 0) -> Reply:
    parts = tuple(
        ToolCall(id=f"call{start + i}", name=name, arguments=arguments)
        for i, (name, arguments) in enumerate(wanted)
    )
    return Reply(message=Message(role="assistant", parts=parts), stop="tool_use")


def agent(turns: list[Any], *tools: Tool, **limits: Any) -> Agent:
    return Agent(
        name="main",
        provider=ScriptedProvider(turns=turns),
        model="scripted",
        instructions="Work.",
        tools=tools,
        limits=Limits(**limits),
    )


async def events_of(chosen: Agent, **given: Any) -> list[Event]:
    given = {"approve": ask_nobody, "run_id": "r1", "session_id": "s1"} | given
    return [event async for event in chosen.run((), user("go"), **given)]


def transcript(events: list[Event]) -> list[Message]:
    return [event.message for event in events if isinstance(event, MessageAdded)]


def results(events: list[Event]) -> list[ToolResult]:
    return [
        part for m in transcript(events) if m.role == "tool" for part in m.parts
    ]  # fmt: skip


def names(events: list[Event]) -> list[str]:
    kinds = [type(event).__name__ for event in events]
    return [k for i, k in enumerate(kinds) if i == 0 or k != kinds[i - 1] or k != "TextAdded"]


@tool()
async def echo(text: str) -> str:
    """Say it back."""
    return f"echo: {text}"


@tool(effect="execute")
async def launch(target: str) -> str:
    """Launch something."""
    return f"launched {target}"


async def test_an_answer_without_tools_is_one_turn() -> None:
    events = await events_of(agent([said("hello")]))
    assert names(events) == [
        "RunStarted",
        "MessageAdded",
        "TurnStarted",
        "TextAdded",
        "TurnFinished",
        "MessageAdded",
        "RunFinished",
    ]
    assert [m.text for m in transcript(events)] == ["go", "hello"]
    assert "".join(e.text for e in events if isinstance(e, TextAdded)) == "hello"


async def test_a_tool_result_goes_back_to_the_model() -> None:
    seen: list[ModelRequest] = []

    def second(request: ModelRequest) -> Reply:
        seen.append(request)
        return said("done")

    events = await events_of(agent([calls(("echo", {"text": "x"})), second], echo))
    assert results(events) == [
        ToolResult(call_id="call0", name="echo", parts=(Text(text="echo: x"),))
    ]
    assert seen[0].messages[-1].parts == tuple(results(events))
    assert [spec.name for spec in seen[0].tools] == ["echo"]


def meeting(size: int) -> Tool:
    """A tool whose calls only end when ``size`` of them run at the same time."""
    inside = 0
    full = asyncio.Event()

    @tool(name="meet")
    async def meet(who: str) -> str:
        nonlocal inside
        inside += 1
        if inside == size:
            full.set()
        await asyncio.wait_for(full.wait(), 5)
        return who

    return meet


async def test_calls_of_one_message_run_at_the_same_time() -> None:
    wanted = [("meet", {"who": name}) for name in "abc"]
    events = await events_of(agent([calls(*wanted), said("met")], meeting(3)))
    assert [r.text for r in results(events)] == ["a", "b", "c"]


async def test_one_sequential_tool_makes_the_batch_sequential() -> None:
    running = 0
    most = 0

    async def step(who: str) -> str:
        """Step."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return who

    one = tool(name="one")(step)
    alone = tool(name="alone", sequential=True)(step)
    batch = calls(("one", {"who": "a"}), ("alone", {"who": "b"}), ("one", {"who": "c"}))
    events = await events_of(agent([batch, said("ok")], one, alone))
    assert most == 1
    assert [r.text for r in results(events)] == ["a", "b", "c"]


async def test_calls_on_one_resource_never_overlap_but_others_do() -> None:
    running: dict[str, int] = {}
    most: dict[str, int] = {}
    both = asyncio.Event()

    @tool(name="write", resource=lambda arguments: arguments["path"])
    async def write(path: str) -> str:
        running[path] = running.get(path, 0) + 1
        most[path] = max(most.get(path, 0), running[path])
        if running.get("a") and running.get("b"):
            both.set()
        await asyncio.wait_for(both.wait(), 5)
        await asyncio.sleep(0.01)
        running[path] -= 1
        return path

    batch = calls(*[("write", {"path": p}) for p in ("a", "a", "b")])
    await events_of(agent([batch, said("ok")], write))
    assert most == {"a": 1, "b": 1}


async def test_a_failing_tool_tells_the_model_kind_and_hints() -> None:
    @tool()
    async def find(path: str) -> str:
        """Find."""
        raise ToolError("no such file: x", kind="not_found", hints=("List the folder first.",))

    events = await events_of(agent([calls(("find", {"path": "x"})), said("sorry")], find))
    [result] = results(events)
    assert result.error == "not_found"
    assert result.text == (
        "Error: no such file: x\nError kind: not_found\nRecovery hints:\n- List the folder first."
    )


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (("ecko", {"text": "x"}), "not_found", "Did you mean 'echo'?"),
        (("echo", {}), "validation", "needs 'text'"),
        (("echo", {"text": 3}), "validation", "must be of type string"),
        (("echo", {"text": "x", "loud": True}), "validation", "no parameter 'loud'"),
    ],
)
async def test_a_wrong_call_is_explained(
    call: tuple[str, dict[str, Any]], kind: str, words: str
) -> None:
    events = await events_of(agent([calls(call), said("ok")], echo))
    [result] = results(events)
    assert result.error == kind
    assert words in result.text
    assert isinstance(events[-1], RunFinished)


async def test_a_tool_that_breaks_does_not_end_the_run() -> None:
    @tool()
    async def broken() -> str:
        """Break."""
        raise ZeroDivisionError("oh")

    events = await events_of(agent([calls(("broken", {})), said("ok")], broken))
    [result] = results(events)
    assert (result.error, "ZeroDivisionError: oh" in result.text) == ("system", True)
    assert isinstance(events[-1], RunFinished)


@pytest.mark.parametrize("sequential", [True, False])
async def test_a_tool_that_waits_for_something_cancelled_does_not_stop_the_run(
    sequential: bool,
) -> None:
    @tool(sequential=sequential)
    async def wait() -> str:
        """Wait for a task that was cancelled."""
        other = asyncio.ensure_future(asyncio.sleep(60))
        other.cancel()
        await other
        return "never"

    events = await events_of(agent([calls(("wait", {})), said("done")], wait))
    assert [r.error for r in results(events)] == ["system"]
    assert isinstance(events[-1], RunFinished)


async def test_what_executes_needs_approval_and_is_denied_when_nobody_is_there() -> None:
    events = await events_of(agent([calls(("launch", {"target": "x"})), said("ok")], launch))
    [result] = results(events)
    assert result.error == "denied"
    assert not [e for e in events if isinstance(e, ToolStarted)]
    assert [e.decision for e in events if isinstance(e, ApprovalResolved)] == ["denied"]


async def test_a_grant_lets_a_tool_run_unasked() -> None:
    chosen = agent([calls(("launch", {"target": "x"})), said("ok")], launch)
    events = await events_of(chosen, grant=("launch",))
    assert [r.text for r in results(events)] == ["launched x"]
    assert not [e for e in events if isinstance(e, ApprovalResolved)]


def answering(decision: str, asked: list[ApprovalRequest]) -> Callable[..., Any]:
    async def approve(request: ApprovalRequest) -> Answer:
        asked.append(request)
        return Answer(decision=decision, by="test")  # type: ignore[arg-type]

    return approve


@pytest.mark.parametrize(("decision", "questions"), [("once", 2), ("session", 1)])
async def test_a_yes_holds_once_or_for_the_session(decision: str, questions: int) -> None:
    asked: list[ApprovalRequest] = []
    turns = [
        calls(("launch", {"target": "x"})),
        calls(("launch", {"target": "y"}), start=1),
        said("ok"),
    ]
    events = await events_of(agent(turns, launch), approve=answering(decision, asked))
    assert [r.text for r in results(events)] == ["launched x", "launched y"]
    assert len(asked) == questions
    assert len({request.digest for request in asked}) == questions


async def test_two_calls_of_one_message_are_asked_about_one_after_the_other() -> None:
    open_questions = 0
    most = 0

    async def approve(request: ApprovalRequest) -> Answer:
        nonlocal open_questions, most
        open_questions += 1
        most = max(most, open_questions)
        await asyncio.sleep(0.01)
        open_questions -= 1
        return Answer(decision="once", by="test")

    batch = calls(("launch", {"target": "x"}), ("launch", {"target": "y"}))
    events = await events_of(agent([batch, said("ok")], launch), approve=approve)
    assert most == 1
    assert len(results(events)) == 2


async def test_no_grant_covers_a_risky_call() -> None:
    def review(arguments: Any) -> Review:
        return Review(verdict="ask", reason="it deletes a folder", risky=True)

    asked: list[ApprovalRequest] = []
    wipe = Tool(
        name="wipe",
        description="",
        parameters=echo.parameters,
        run=echo.run,
        effect="execute",
        review=review,
    )
    turns = [calls(("wipe", {"text": "a"})), calls(("wipe", {"text": "a"}), start=1), said("ok")]
    await events_of(agent(turns, wipe), approve=answering("session", asked), grant=("wipe",))
    assert [request.reason for request in asked] == ["it deletes a folder"] * 2


async def test_a_tool_policy_can_refuse_for_good() -> None:
    never = Tool(
        name="never",
        description="",
        parameters=echo.parameters,
        run=echo.run,
        review=lambda _: Review(verdict="deny", reason="it would format the disk"),
    )
    chosen = agent([calls(("never", {"text": "x"})), said("ok")], never)
    [result] = results(await events_of(chosen, grant=("never",)))
    assert result.error == "policy"
    assert "it would format the disk" in result.text


async def test_the_run_stops_at_the_turn_limit() -> None:
    turns = [calls(("echo", {"text": str(i)}), start=i) for i in range(9)]
    events = await events_of(agent(turns, echo, max_turns=3))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.stop, last.turns, last.tools) == ("max_turns", 3, 3)
    assert transcript(events) == list(repair(transcript(events)))


async def test_three_equal_failures_and_few_turns_left_each_remind_once() -> None:
    turns = [calls(("ecko", {"text": "x"}), start=i) for i in range(12)]
    events = await events_of(agent(turns, echo, max_turns=12))
    given = [(e.reason, e.text) for e in events if isinstance(e, ReminderAdded)]
    assert [reason for reason, _ in given] == ["repeated_failure", "turns_low"]
    reminders = [m.text for m in transcript(events) if m.role == "system"]
    assert reminders == [text for _, text in given]


class Sleeps:
    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_a_busy_service_is_asked_again_after_the_time_it_names() -> None:
    busy = ProviderError("slow down", kind="rate_limit", status=429, retry_after=7.0)
    sleeps = Sleeps()
    events = await events_of(agent([busy, busy, said("hello")]), sleep=sleeps)
    assert sleeps.waits == [7.0, 7.0]
    assert [e.attempt for e in events if isinstance(e, RetryScheduled)] == [1, 2]
    assert isinstance(events[-1], RunFinished)


async def test_waits_grow_when_the_service_names_none() -> None:
    down = ProviderError("down", kind="server", status=503)
    sleeps = Sleeps()
    events = await events_of(agent([down] * 5, max_retries=4), sleep=sleeps)
    assert [int(wait * 2) for wait in sleeps.waits] == [1, 2, 4, 8] or all(
        low <= wait <= low * 1.25
        for low, wait in zip((0.5, 1.0, 2.0, 4.0), sleeps.waits, strict=True)
    )
    last = events[-1]
    assert isinstance(last, RunFailed)
    assert (last.kind, last.error) == ("server", "down")


@pytest.mark.parametrize("kind", ["auth", "bad_request", "not_found", "refused"])
async def test_what_cannot_get_better_is_not_repeated(kind: Any) -> None:
    sleeps = Sleeps()
    wrong = ProviderError("no", kind=kind, hint="Set the key.")
    events = await events_of(agent([wrong]), sleep=sleeps)
    last = events[-1]
    assert isinstance(last, RunFailed)
    assert (last.kind, last.hint, sleeps.waits) == (kind, "Set the key.", [])


async def test_a_wait_that_is_too_long_fails_at_once() -> None:
    sleeps = Sleeps()
    busy = ProviderError("tomorrow", kind="rate_limit", retry_after=3600.0)
    events = await events_of(agent([busy], max_wait=60.0), sleep=sleeps)
    assert isinstance(events[-1], RunFailed)
    assert sleeps.waits == []


class CutOnce(ScriptedProvider):
    """Says half an answer, breaks off, and answers the second time."""

    def __init__(self) -> None:
        super().__init__(turns=[said("whole answer")])
        self.cut = False

    async def stream(self, request: ModelRequest) -> Any:
        if not self.cut:
            self.cut = True
            from claw_nb.core.protocols import TextPiece

            yield TextPiece(text="half an ans")
            raise ProviderError("the connection was lost", kind="cut")
        async for event in super().stream(request):
            yield event


async def test_a_cut_stream_discards_its_partial() -> None:
    chosen = agent([])
    chosen = Agent(
        name="main", provider=CutOnce(), model="m", instructions="", limits=chosen.limits
    )
    events = await events_of(chosen, sleep=Sleeps())
    assert [m.text for m in transcript(events)] == ["go", "whole answer"]
    discarded = next(i for i, e in enumerate(events) if isinstance(e, PartialDiscarded))
    assert isinstance(events[discarded + 1], RetryScheduled)


async def cancelled(chosen: Agent, when: type, **given: Any) -> list[Event]:
    """The events of a run that is stopped at the first event of a kind."""
    seen: list[Event] = []
    reached = asyncio.Event()

    async def follow() -> None:
        run = chosen.run(
            (), user("go"), run_id="r", session_id="s", approve=ask_nobody, **given
        )  # fmt: skip
        async for event in run:
            seen.append(event)
            if isinstance(event, when):
                reached.set()

    task = asyncio.create_task(follow())
    await asyncio.wait_for(reached.wait(), 5)
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return seen


async def test_stopping_in_the_middle_of_tools_leaves_valid_history() -> None:
    cleaned: list[str] = []

    @tool()
    async def slow(who: str) -> str:
        """Take long."""
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(who)
        return who

    batch = calls(("echo", {"text": "x"}), ("slow", {"who": "a"}), ("slow", {"who": "b"}))
    events = await cancelled(agent([batch], echo, slow), ToolFinished)
    assert sorted(cleaned) == ["a", "b"]
    assert [r.error for r in results(events)] == [None, "interrupted", "interrupted"]
    last = events[-1]
    assert isinstance(last, RunFailed)
    assert last.kind == "cancelled"
    assert transcript(events) == list(repair(transcript(events)))


async def test_stopping_in_the_middle_of_an_answer_keeps_what_was_shown() -> None:
    class Slow(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> Any:
            from claw_nb.core.protocols import TextPiece

            yield TextPiece(text="so far ")
            await asyncio.sleep(60)
            yield said("never")

    chosen = Agent(name="main", provider=Slow(turns=[]), model="m", instructions="")
    events = await cancelled(chosen, TextAdded)
    assert [m.text for m in transcript(events)] == ["go", "so far "]
    assert isinstance(events[-1], RunFailed)


async def test_stopping_while_a_retry_waits_keeps_no_discarded_words() -> None:
    chosen = Agent(name="main", provider=CutOnce(), model="m", instructions="")
    events = await cancelled(chosen, RetryScheduled)
    assert [m.text for m in transcript(events)] == ["go"]
    assert isinstance(events[-1], RunFailed)


async def test_stopping_while_a_person_is_asked_ends_the_question() -> None:
    async def approve(request: ApprovalRequest) -> Answer:
        await asyncio.sleep(60)
        return Answer(decision="once", by="test")

    seen: list[Event] = []

    async def follow() -> None:
        chosen = agent([calls(("launch", {"target": "x"}))], launch)
        run = chosen.run((), user("go"), run_id="r", session_id="s", approve=approve)
        async for event in run:
            seen.append(event)

    task = asyncio.create_task(follow())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [r.error for r in results(seen)] == ["interrupted"]


async def test_a_reader_that_leaves_early_leaves_nothing_running() -> None:
    from contextlib import aclosing

    ended = asyncio.Event()

    @tool()
    async def slow() -> str:
        """Take long."""
        try:
            progress().say("at it")
            await asyncio.sleep(60)
        finally:
            ended.set()
        return ""

    chosen = agent([calls(("slow", {}))], slow)
    run = chosen.run((), user("go"), run_id="r", session_id="s", approve=ask_nobody)
    async with aclosing(run):
        async for event in run:
            if isinstance(event, ToolProgressed):
                break
    assert ended.is_set()


async def test_a_tool_does_not_begin_before_its_start_was_heard() -> None:
    order: list[str] = []

    @tool()
    async def work() -> str:
        """Work."""
        order.append("works")
        return ""

    chosen = agent([calls(("work", {})), said("done")], work)
    async for event in chosen.run((), user("go"), run_id="r", session_id="s", approve=ask_nobody):
        if isinstance(event, ToolStarted):
            await asyncio.sleep(0.01)
            order.append("heard")
    assert order == ["heard", "works"]


async def test_the_time_a_person_thinks_is_not_the_tools() -> None:
    async def approve(request: ApprovalRequest) -> Answer:
        await asyncio.sleep(0.3)
        return Answer(decision="once", by="test")

    chosen = agent([calls(("launch", {"target": "x"})), said("ok")], launch)
    events = await events_of(chosen, approve=approve)
    [finished] = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.ms < 300
