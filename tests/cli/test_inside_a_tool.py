"""The ``claw`` command in an agent's own shell: it tells, and changes nothing."""

import pytest

from claw_nb.cli import main


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAW_INSIDE_TOOL", "1")


@pytest.mark.parametrize(
    "command",
    [
        "config set provider.model x",
        "config -- set provider.model x",
        "-- config set provider.model x",
        "memory add x",
        "memory rm x",
        "task add evil --prompt x --cron @daily",
        "sessions rm x",
        "sql select",
        "store compact",
        "ask hello",
        "demo",
        "--debug memory add x",
    ],
)
def test_an_agents_shell_cannot_change_the_agent(command, capsys, tmp_path):
    assert main(command.split()) == 1
    said = capsys.readouterr().err
    assert "may change things" in said
    assert "ask the user" in said
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "command", ["--help", "--version", "config list", "config get provider.name", "ask --help",
                "task add --help", "store path"],
)  # fmt: skip
def test_looking_is_still_possible(command, capsys):
    assert main(command.split()) == 0
    assert capsys.readouterr().out


def test_a_persons_own_shell_may_do_all(monkeypatch, capsys):
    monkeypatch.delenv("CLAW_INSIDE_TOOL")
    assert main(["config", "set", "provider.model", "x"]) == 0
