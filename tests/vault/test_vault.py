"""Secrets are kept sealed, opened by name, and never shown."""

import io
import json
import os
import stat
import subprocess
import sys

import pytest

from claw_nb.cli import main
from claw_nb.core.errors import ConfigError, InvalidInput, NotFound, StoreError
from claw_nb.core.redact import redact
from claw_nb.vault import Vault, reveal

SECRET = "correct horse battery staple ☃"


@pytest.fixture
def vault(home):
    return Vault(home, env={})


def test_a_secret_comes_back_by_its_name_and_is_masked_from_then_on(vault, home):
    vault.keep("github/token", SECRET)
    assert reveal("claw://github/token", home=home, env={}) == SECRET
    assert SECRET not in redact(f"it is {SECRET}.")
    assert list(vault.names()) == ["github/token"]


def test_nothing_of_it_lies_open_in_the_home(vault, home):
    vault.keep("a", SECRET)
    for file in home.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes()
    modes = {stat.S_IMODE((home / name).stat().st_mode) for name in ("vault", "vault.key")}
    assert modes == {0o600}


def test_a_newer_secret_takes_the_place_of_the_older(vault):
    vault.keep("a", "first one")
    vault.keep("a", "second one")
    assert vault.open("a") == "second one"
    vault.drop("a")
    with pytest.raises(NotFound):
        vault.open("a")
    with pytest.raises(NotFound):
        vault.drop("a")


def test_an_entry_in_anothers_place_does_not_open(vault, home):
    vault.keep("harmless", "for anybody")
    vault.keep("precious", SECRET)
    held = json.loads((home / "vault").read_text())
    held["secrets"]["harmless"] = held["secrets"]["precious"]
    (home / "vault").write_text(json.dumps(held))
    with pytest.raises(ConfigError, match="damaged or moved"):
        vault.open("harmless")
    assert vault.open("precious") == SECRET


def test_a_changed_byte_does_not_open(vault, home):
    vault.keep("a", SECRET)
    held = json.loads((home / "vault").read_text())
    sealed = held["secrets"]["a"]["sealed"]
    held["secrets"]["a"]["sealed"] = ("B" if sealed[0] == "A" else "A") + sealed[1:]
    (home / "vault").write_text(json.dumps(held))
    with pytest.raises(ConfigError, match="damaged"):
        vault.open("a")


def test_without_its_key_the_vault_stays_shut_and_is_not_overwritten(vault, home):
    vault.keep("a", SECRET)
    before = (home / "vault").read_bytes()
    (home / "vault.key").unlink()
    with pytest.raises(ConfigError, match="is not here"):
        vault.open("a")
    with pytest.raises(ConfigError, match="is gone"):
        vault.keep("b", "something else")
    assert (home / "vault").read_bytes() == before


def test_the_key_can_be_a_variable(home):
    env = {"CLAW_VAULT_KEY": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}
    Vault(home, env=env).keep("a", SECRET)
    assert Vault(home, env=env).open("a") == SECRET
    assert not (home / "vault.key").exists()
    with pytest.raises(ConfigError, match="32 bytes"):
        Vault(home, env={"CLAW_VAULT_KEY": "c2hvcnQ="}).open("a")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2, "secrets": {}}', '{"version": 1, "secrets": {"a": 1}}']
)
def test_a_file_that_is_no_vault_is_refused_and_left(vault, home, text):
    home.mkdir()
    (home / "vault").write_text(text)
    with pytest.raises(StoreError):
        vault.keep("a", SECRET)
    assert (home / "vault").read_text() == text


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 101, "-x", "a\n"])
def test_odd_names_are_refused(vault, name):
    with pytest.raises(InvalidInput):
        vault.keep(name, SECRET)


def test_writers_in_several_processes_lose_nothing(home):
    code = """if True:
        import sys
        from pathlib import Path
        from claw_nb.vault import Vault
        for n in range(5):
            Vault(Path(sys.argv[1]), env={}).keep(f"{sys.argv[2]}/{n}", f"secret {n}")
    """
    processes = [subprocess.Popen([sys.executable, "-c", code, str(home), name]) for name in "abcd"]
    assert [process.wait() for process in processes] == [0] * 4
    vault = Vault(home, env={})
    assert len(vault.names()) == 20
    assert {vault.open(name) for name in vault.names()} == {f"secret {n}" for n in range(5)}


def test_the_commands_keep_list_and_remove_and_show_no_secret(capsys, monkeypatch, home):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SECRET}\n"))
    assert main(["vault", "set", "github/token"]) == 0
    assert main(["vault"]) == 0
    shown = capsys.readouterr()
    assert "claw://github/token" in shown.out
    assert SECRET not in shown.out + shown.err
    assert reveal("claw://github/token", home=home) == SECRET
    assert main(["vault", "rm", "claw://github/token"]) == 0
    assert main(["vault", "rm", "github/token"]) == 1
    assert "claw vault list" in capsys.readouterr().err


def test_an_empty_secret_is_refused(home):
    command = [sys.executable, "-m", "claw_nb", "vault", "set", "a"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, b"the secret is empty" in done.stderr) == (2, True)
    assert not (home / "vault").exists()


def test_an_agents_shell_may_list_the_names_and_no_more(home):
    env = os.environ | {"CLAW_INSIDE_TOOL": "1"}
    command = [sys.executable, "-m", "claw_nb", "vault"]
    listed = subprocess.run([*command, "list"], env=env, capture_output=True, check=False)
    kept = subprocess.run(
        [*command, "set", "a"], env=env, input=b"x", capture_output=True, check=False
    )
    assert (listed.returncode, kept.returncode) == (0, 1)
    assert not (home / "vault").exists()
