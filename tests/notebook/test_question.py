import pytest

from claw_nb.core.errors import InvalidInput
from claw_nb.notebook.question import Query, Question, query, question


def test_options_come_first_and_the_question_is_left_as_typed():
    line = """--new --model 'big one' --allow bash --allow=sql  what's "in" --model df?"""
    assert question(line) == Question(
        prompt="""what's "in" --model df?""", new=True, model="big one", allow=("bash", "sql")
    )


def test_a_cell_is_the_question_below_its_options():
    asked = question("--session 0193 context:", "line 1\n\nline 2\n")
    assert asked == Question(prompt="context:\nline 1\n\nline 2", session="0193")


def test_two_dashes_end_the_options():
    assert question("-- --new is a flag").prompt == "--new is a flag"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("", "Write it after"),
        ("--modle x hi", "Did you mean --model?"),
        ("--model", "--model and then the value"),
        ("--model --new hi", "--model and then the value"),
        ("--verbose hi", "There are: --new"),
    ],
)
def test_a_wrong_line_says_what_to_write(line, hint):
    with pytest.raises(InvalidInput) as caught:
        question(line)
    assert hint in caught.value.hint


def test_a_chart_may_name_its_kind_or_not():
    assert query("--chart select 1") == Query(sql="select 1", chart="auto")
    assert query("--chart bar --limit 5 select 1") == Query(sql="select 1", chart="bar", limit=5)
    assert query("", "select 1\n", limit=7) == Query(sql="select 1", limit=7)


@pytest.mark.parametrize(
    "line", ["", "--limit x select 1", "--limit 0 select 1", "--chart=pie select 1"]
)
def test_a_wrong_query_is_refused(line):
    with pytest.raises(InvalidInput):
        query(line)


def test_a_question_can_be_recorded():
    asked = question("--record --model m what is it?")
    assert (asked.record, asked.prompt) == (True, "what is it?")
    assert not question("what is --record?").record
