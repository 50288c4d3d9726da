"""Providers by name: what is missing is said, with the next step."""

import subprocess
import sys

import pytest

from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Usage
from claw_nb.providers import catalog
from claw_nb.providers.pricing import AS_OF, PRICES, Price, cost


def failure(*args, **given):
    with pytest.raises(ProviderError) as caught:
        catalog.make(*args, env=given.pop("env", {}), **given)
    return caught.value


@pytest.mark.parametrize("name", catalog.NAMES)
def test_every_provider_is_made_by_its_name(name, tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text("turns: [hello]")
    provider = catalog.make(
        name, api_key="k", base_url="https://example.org", script=script, env={}
    )
    assert provider.name == name
    assert catalog.model_for(name, "my-model") == "my-model"
    assert catalog.about(name)


def test_an_unknown_name_is_answered_with_a_near_one():
    error = failure("Antropic")
    assert error.kind == "not_found"
    assert error.hint == (
        "Did you mean anthropic? There are offline, anthropic, openai, azure-openai, "
        "codex-subscription, scripted."
    )


@pytest.mark.parametrize("name", ["anthropic", "openai", "azure-openai"])
def test_without_a_key_the_variable_is_named(name):
    error = failure(name)
    assert error.kind == "auth"
    assert f"{catalog.key_variable(name)} is not set" in error.message
    assert "claw config set provider offline" in error.hint


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_the_vendors_own_variable_holds_the_key(name):
    made = catalog.make(name, env={catalog.key_variable(name): "from-the-environment"})
    assert made.name == name


@pytest.mark.parametrize(
    ("url", "needed"),
    [
        (None, True),
        ("https://api.example.com/v1", True),
        ("http://localhost:11434/v1", False),
        ("http://127.0.0.1:8080", False),
        ("http://[::1]:8080", False),
        ("http://192.168.1.5:8000/v1", False),
        ("http://gpu-box:8000/v1", False),
    ],
)
def test_a_server_of_ones_own_needs_no_key(url, needed):
    assert catalog.needs_key("openai", base_url=url) is needed
    if not needed:
        assert catalog.make("openai", base_url=url, env={}).name == "openai"
        assert catalog.make("openai", env={"OPENAI_BASE_URL": url}).name == "openai"


def test_only_a_deployment_has_no_model_to_fall_back_to():
    assert [name for name in catalog.NAMES if not catalog.default_model(name)] == ["azure-openai"]
    with pytest.raises(ProviderError) as caught:
        catalog.model_for("azure-openai", None)
    assert caught.value.message == "azure-openai needs the name of your deployment, and none is set"
    assert "provider.model" in caught.value.hint


def test_the_scripted_provider_asks_for_its_script():
    error = failure("scripted")
    assert error.kind == "missing"
    assert "CLAW_SCRIPT" in error.hint


def test_a_tool_mode_is_native_or_prompted():
    error = failure("openai", api_key="k", tools="both")
    assert error.message == "provider.tools is native or prompted, not 'both'"


@pytest.mark.parametrize(
    ("name", "package", "install"),
    [
        ("openai", "openai", "pip install 'claw-nb[openai]'"),
        ("azure-openai", "openai", "pip install 'claw-nb[openai]'"),
        ("codex-subscription", "openai", "pip install 'claw-nb[openai]'"),
        ("anthropic", "anthropic", "pip install claw-nb"),
    ],
)
def test_a_missing_package_is_named_with_its_install_line(name, package, install):
    """In a process of its own, where the package cannot be imported."""
    program = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
from claw_nb.core.errors import ProviderError
from claw_nb.providers import catalog
try:
    catalog.make({name!r}, api_key="k")
except ProviderError as error:
    print(error.kind, error, sep="|")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        f"missing|the provider {name} needs the package {package}, which is not installed\n"
        f"Install it: {install}"
    )


def test_the_catalogue_imports_no_sdk():
    program = "import sys, claw_nb.providers.catalog as c; c.make('offline'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"anthropic", "openai", "httpx2", "yaml", "pandas"} & set(done.stdout.split())


def test_an_answer_has_its_list_price():
    used = Usage(input=1_000_000, output=1_000_000, cache_read=1_000_000, cache_write=1_000_000)
    assert cost("anthropic", "claude-sonnet-5-5", used) == 2 + 10 + 0.2 + 2.5
    assert cost("anthropic", "claude-haiku-4-5-20251001", Usage(input=1_000_000)) == 1
    assert cost("offline", "interpreter", used) == 0


def test_an_unknown_price_is_unknown_and_not_nothing():
    assert cost("openai", "somebodys-model", Usage(input=5)) is None
    assert cost("openai", "gpt-6.1-terra", Usage(input=300_000)) is None, "dearer above 272k"


def test_the_users_own_price_goes_first():
    mine = {**PRICES, "openai/m": Price(input=1, output=1, cache_read=1, cache_write=1)}
    assert cost("openai", "m", Usage(output=2_000_000), prices=mine) == 2


def test_the_price_table_is_dated():
    assert len(AS_OF) == len("2026-11-30")
