"""Whom to ask: config.toml, variables and flags, and keys that are told by name."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from claw_nb import config
from claw_nb.cli import main
from claw_nb.core.errors import ConfigError
from claw_nb.core.redact import redact
from claw_nb.vault import reveal
from tests.providers.logins import write_login
from tests.providers.wire import Answer, Wire, chat, respond, serve, spoken

KEY = "0123456789abcdef-a-key-of-azure"


def claw(*arguments, answers=()):
    """What the command line printed, with a service that answers so at URL."""

    async def go():
        async with serve(*answers) as wire:
            given = [argument.replace("URL", wire.url) for argument in arguments]
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "claw_nb", *given,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            out, err = await child.communicate()
            return child.returncode, out.decode(), err.decode(), wire

    code, out, err, wire = asyncio.run(go())
    assert "Traceback" not in err, err
    return code, out, err, wire


def write(home: Path, text: str, wire: Wire | None = None) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text, encoding="utf-8")


HELLO = Answer(chunks=chat({"role": "assistant", "content": "Hello from Azure"}))


def test_azure_is_asked_as_config_toml_says(home, monkeypatch):
    monkeypatch.setenv("MY_AZURE_KEY", KEY)
    write(
        home,
        '[provider]\nname = "azure-openai"\nbase_url = "https://nowhere.openai.azure.com"\n'
        'api_key = "env:MY_AZURE_KEY"\nmodel = "my-deployment"\napi_version = "2024-10-21"\n',
    )
    code, out, err, wire = claw("ask", "--base-url", "URL", "hello", answers=[HELLO])
    assert (code, out.strip()) == (0, "Hello from Azure"), err
    assert wire.paths == [
        "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
    ]
    assert wire.headers[0]["api-key"] == KEY


def test_flags_go_before_the_settings(home):
    write(home, '[provider]\nname = "anthropic"\nmodel = "claude-x"\napi_key = "sk-ant-other"\n')
    code, out, err, wire = claw(
        "ask", "--provider", "azure-openai", "--base-url", "URL", "--api-key", KEY,
        "--model", "mine", "--api-version", "2025-01-01-preview", "hello", answers=[HELLO],
    )  # fmt: skip
    assert (code, out.strip()) == (0, "Hello from Azure"), err
    assert "/deployments/mine/" in wire.paths[0]
    assert "sk-ant-other" not in json.dumps(wire.headers)
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert KEY.encode() not in kept


def test_another_provider_is_never_sent_the_configured_ones_key(home):
    write(home, '[provider]\nname = "anthropic"\napi_key = "sk-ant-other"\n')
    code, _, err, _ = claw("ask", "--provider", "azure-openai", "--base-url", "URL", "hello")
    assert (code, "needs the name of your deployment" in err) == (1, True)
    code, _, err, _ = claw("ask", "--provider", "openai", "--model", "m", "hello")
    assert (code, "OPENAI_API_KEY" in err) == (1, True)


def test_a_deployment_that_is_not_named_makes_no_session(home):
    code, _, err, _ = claw(
        "ask", "--provider", "azure-openai", "--base-url", "URL", "--api-key", KEY, "hello"
    )
    assert (code, "provider.model" in err) == (1, True)
    assert json.loads(claw("sessions", "list", "--json")[1]) == []


def test_the_codex_login_is_used_from_the_given_file(tmp_path):
    path = write_login(tmp_path / "codex")
    answer = Answer(chunks=respond(spoken("Hello from the plan")))
    code, out, err, wire = claw(
        "ask", "--provider", "codex-subscription", "--base-url", "URL",
        "--codex-auth-file", str(path), "--model", "gpt-5.4", "hello", answers=[answer],
    )  # fmt: skip
    assert (code, "Hello from the plan" in f"{out} {err}") == (0, True), err
    assert wire.headers[0]["originator"] == "claw_nb"


def test_without_a_codex_login_the_next_step_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    code, _, err, _ = claw("ask", "--provider", "codex-subscription", "hello")
    assert code == 1
    assert f"no usable Codex login in {tmp_path / 'codex' / 'auth.json'}" in err
    assert "codex login" in err


# -- keys by name ------------------------------------------------------------------------------


def test_a_name_of_a_variable_stands_for_its_value():
    assert reveal("env:SOMEWHERE", home=Path(), env={"SOMEWHERE": "swordfish-swordfish"}) == (
        "swordfish-swordfish"
    )
    assert "swordfish" not in redact("it is swordfish-swordfish indeed")
    assert reveal("sk-plain-0123456789", home=Path(), env={}) == "sk-plain-0123456789"


def test_a_name_in_the_keyring_stands_for_what_is_kept_there():
    keyring = pytest.importorskip("keyring")
    backend = pytest.importorskip("keyring.backend")

    kept = {("claw-nb", "openai"): "kept-openai-key", ("azure", "work"): "kept-azure-key"}

    class InMemory(backend.KeyringBackend):
        priority = 1

        def get_password(self, service, username):
            return kept.get((service, username))

        def set_password(self, service, username, password):
            raise NotImplementedError

    before = keyring.get_keyring()
    keyring.set_keyring(InMemory())
    try:
        assert reveal("keyring:openai", home=Path(), env={}) == "kept-openai-key"
        assert reveal("keyring:azure/work", home=Path(), env={}) == "kept-azure-key"
        assert "kept-openai-key" not in redact("kept-openai-key")
        with pytest.raises(ConfigError) as caught:
            reveal("keyring:nothing", home=Path(), env={})
    finally:
        keyring.set_keyring(before)
    assert caught.value.hint == "Store it with `keyring set claw-nb nothing`."


def test_a_system_without_a_keyring_is_told_of_the_other_way():
    keyring = pytest.importorskip("keyring")
    fail = pytest.importorskip("keyring.backends.fail")
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    try:
        with pytest.raises(ConfigError) as caught:
            reveal("keyring:openai", home=Path(), env={})
    finally:
        keyring.set_keyring(before)
    assert "no keyring" in caught.value.message
    assert "env:NAME" in caught.value.hint


def test_without_the_package_its_install_line_is_told():
    """In a process of its own, where the package cannot be imported."""
    program = """
import sys
sys.modules["keyring"] = None
from claw_nb.core.errors import ConfigError
from claw_nb.vault import reveal
from pathlib import Path
try:
    reveal("keyring:openai", home=Path())
except ConfigError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'claw-nb[keyring]'" in done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("env:NOT_SET_ANYWHERE", "the variable NOT_SET_ANYWHERE is not set"),
        ("claw://openai", "`claw vault set openai`"),
    ],
)
def test_a_name_that_opens_nothing_is_told_and_no_request_is_made(name, words):
    code, _, err, wire = claw(
        "ask", "--provider", "openai", "--base-url", "URL", "--model", "m", "--api-key", name, "hi"
    )
    assert (code, wire.paths) == (1, [])
    assert words in err


def test_a_name_is_shown_and_a_key_is_not(capsys, home):
    assert main(["config", "set", "provider.api_key", "keyring:openai"]) == 0
    assert main(["config", "get", "provider.api_key"]) == 0
    assert capsys.readouterr().out.split()[-1] == "keyring:openai"
    assert main(["config", "set", "provider.api_key", KEY]) == 0
    main(["config", "list"])
    shown = capsys.readouterr()
    assert KEY not in shown.out + shown.err
    assert "(set)" in shown.out


def test_choosing_another_provider_leaves_the_rest_as_it_is():
    settings = config.Settings(
        provider="openai", model="m", base_url="http://x", api_key="k", max_turns=7
    )
    chosen = config.chosen(settings, provider="anthropic", model=None)
    assert (chosen.model, chosen.base_url, chosen.api_key) == (None, None, None)
    assert chosen.max_turns == 7
    assert config.chosen(settings, provider="openai", model="n").base_url == "http://x"
