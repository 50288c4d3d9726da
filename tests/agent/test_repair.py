"""Any history becomes one that every provider accepts."""

from hypothesis import given
from hypothesis import strategies as st

from claw_nb.core.messages import Message, Text, ToolCall, ToolResult, repair, user

ids = st.sampled_from("abcd")
call_messages = st.lists(ids, max_size=3, unique=True).map(
    lambda found: Message(
        role="assistant",
        parts=(Text(text="x"), *(ToolCall(id=i, name="t") for i in found)),
    )
)
result_messages = st.lists(ids, min_size=1, max_size=3).map(
    lambda found: Message(role="tool", parts=tuple(ToolResult(call_id=i, name="t") for i in found))
)
histories = st.lists(st.one_of(call_messages, result_messages, st.just(user("u"))), max_size=8)


def is_valid(messages: tuple[Message, ...]) -> bool:
    waiting: set[str] = set()
    for message in messages:
        if message.role == "tool":
            got = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
            if sorted(got) != sorted(waiting):
                return False
            waiting = set()
            continue
        if waiting:
            return False
        waiting = {call.id for call in message.tool_calls}
    return not waiting


@given(histories)
def test_repaired_histories_are_valid_and_stay_as_they_are(history: list[Message]) -> None:
    fixed = repair(history)
    assert is_valid(fixed)
    assert repair(fixed) == fixed
    assert [m for m in fixed if m.role != "tool"] == [m for m in history if m.role != "tool"]


@given(histories)
def test_valid_histories_are_left_alone(history: list[Message]) -> None:
    if is_valid(tuple(history)):
        assert repair(history) == tuple(history)


def test_a_call_without_a_result_is_told_to_be_interrupted() -> None:
    call = Message(role="assistant", parts=(ToolCall(id="a", name="t"),))
    fixed = repair([call, user("next")])
    assert [m.role for m in fixed] == ["assistant", "tool", "user"]
    [result] = fixed[1].parts
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.error) == ("a", "interrupted")
