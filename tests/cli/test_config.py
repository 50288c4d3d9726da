"""Settings come from config.toml, then variables, then keywords."""

from pathlib import Path

import pytest

from claw_nb import config
from claw_nb.core.errors import ConfigError
from claw_nb.core.redact import redact


def write(home: Path, text: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text, encoding="utf-8")


def test_an_empty_home_has_the_defaults(home: Path) -> None:
    assert config.load(home, env={}) == config.Settings()
    assert not home.exists()


def test_the_file_is_overridden_by_variables_and_those_by_keywords(home: Path) -> None:
    write(home, '[provider]\nname = "anthropic"\nmodel = "from-file"\n[agent]\nmax_turns = 5\n')
    assert config.load(home, env={}).provider == "anthropic"
    env = {"CLAW_MODEL": "from-variable", "CLAW_MAX_TURNS": "7"}
    settings = config.load(home, env=env)
    assert (settings.model, settings.max_turns) == ("from-variable", 7)
    assert config.load(home, env=env, model="given").model == "given"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[provider\n", "not valid TOML"),
        ('[provider]\nnmae = "x"\n', "no setting named provider.nmae"),
        ("[agent]\nmax_turns = 'many'\n", "max_turns must be a whole number above 0"),
        ("[agent]\nmax_turns = 0\n", "max_turns must be a whole number above 0"),
        ("[agent]\nmax_turns = inf\n", "max_turns must be a whole number above 0"),
        ("[agent]\nmax_turns = 2.5\n", "max_turns must be a whole number above 0"),
        ("[provider]\nname = 3\n", "provider must be text"),
        ("[provider]\ntools = 'none'\n", "tools must be one of native, prompted"),
        ("debug = 'perhaps'\n", "debug must be true or false"),
    ],
)
def test_a_wrong_file_is_refused_and_left_as_it_is(home: Path, text: str, words: str) -> None:
    write(home, text)
    with pytest.raises(ConfigError) as caught:
        config.load(home, env={})
    assert words in caught.value.message
    assert caught.value.hint
    assert (home / "config.toml").read_text(encoding="utf-8") == text


def test_a_file_that_is_not_text_is_refused(home: Path) -> None:
    home.mkdir(parents=True)
    (home / "config.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(home, env={})


def test_an_unknown_key_names_the_nearest(home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        config.name_of("provider.modle")
    assert "provider.model" in caught.value.hint


def test_a_key_from_the_settings_is_never_shown(home: Path) -> None:
    settings = config.load(home, env={"CLAW_API_KEY": "plain-words-as-a-key"})
    assert "plain-words-as-a-key" not in repr(settings)
    assert "plain-words-as-a-key" not in redact("the key is plain-words-as-a-key indeed")


def test_every_setting_is_described() -> None:
    described = config.describe()
    assert len({key for _, key, *_ in described}) == len(described)
    assert all(doc for *_, doc in described)
