"""What was spent can be asked for."""

import json
from pathlib import Path

import pytest

from claw_nb.cli import main


@pytest.fixture
def claw(capsys, monkeypatch, tmp_path: Path):
    """Runs a command; the model is a script whose answers cost something."""
    turns = [
        {"text": "one", "usage": {"input": 1000, "output": 20, "cache_read": 500, "cost": 0.25}},
        {"text": "two", "usage": {"input": 2000, "output": 30}},
    ]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": turns}))
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", str(script))

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        said = capsys.readouterr()
        return code, " ".join(said.out.split()), " ".join(said.err.split())

    return run


def test_nothing_was_spent_at_first(claw):
    assert claw("usage")[:2] == (0, "No model was asked yet.")


def test_the_footer_says_what_an_answer_took(claw):
    _, _, err = claw("ask", "go")
    assert "$0.25" in err
    assert "1500+20 tokens" in err or "1,500 tokens" in err


def test_usage_by_day_model_and_session(claw):
    claw("ask", "go")
    claw("ask", "--continue", "go on")
    [day] = json.loads(claw("usage", "--json")[1])
    assert {name: day[name] for name in day if name != "day"} == {
        "calls": 2, "tokens_in": 3000, "tokens_out": 50, "cache_read": 500, "cache_write": 0,
        "cost": 0.25, "unpriced": 1,
    }  # fmt: skip
    [model] = json.loads(claw("usage", "--by", "model", "--json")[1])
    assert model["model"] == "scripted/script"
    [session] = json.loads(claw("usage", "--by", "session", "--days", "1", "--json")[1])
    assert session["calls"] == 2
    assert json.loads(claw("usage", "--by", "task", "--json")[1]) == []
    _, table, _ = claw("usage")
    assert "$0.25 + 1 unknown" in table


def test_a_budget_stops_the_next_question_and_says_how_to_raise_it(claw, monkeypatch):
    claw("ask", "go")
    monkeypatch.setenv("CLAW_DAY_COST", "0.20")
    code, out, err = claw("ask", "again")
    assert (code, out) == (1, "")
    assert "the budget of $0.2000 for a day does not allow this call" in err
    assert "claw config set budget.day_cost" in err
    assert "today $0.25 of $0.20" in claw("usage")[1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('prices = {"mine" = {input = 1, output = 2}}', "the provider's name"),
        ('prices = {"openai/mine" = {input = 1}}', "the price of openai/mine is wrong: output"),
        ('prices = {"openai/mine" = {input = 1, output = 2, cash = 3}}', "wrong: cash"),
        ("prices = 3", "the prices cannot be read"),
        ("[budget]\nday_cost = -1", "day_cost must be a number above 0"),
    ],
)
def test_a_wrong_price_or_budget_is_told(claw, home: Path, line: str, said: str):
    home.mkdir()
    (home / "config.toml").write_text(line)
    code, _, err = claw("usage")
    assert (code, said in err) == (1, True)
