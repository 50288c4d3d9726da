"""Azure OpenAI: a deployment at a resource, with the API's version in the address."""

import traceback

import pytest

from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import Origin
from claw_nb.providers import catalog
from claw_nb.providers.openai import OpenAIProvider
from claw_nb.providers.openai_hosts import azure_host
from tests.providers.asking import ask_wire, request
from tests.providers.wire import Answer, chat

KEY = "0123456789abcdef0123456789abcdef"
HELLO = Answer(chunks=chat({"role": "assistant", "content": "Hello"}))
ASKED = request("Hi", model="my-deployment")


def made(**given):
    def make(url):
        return catalog.make(
            "azure-openai", api_key=KEY, base_url=f"{url}{given.pop('path', '')}", env={}, **given
        )

    return make


def test_a_deployment_is_asked_by_its_name_and_the_version_of_the_api():
    given, wire = ask_wire(made(api_version="2025-01-01-preview"), ASKED, HELLO)
    assert isinstance(given, list), given
    assert wire.paths == [
        "/openai/deployments/my-deployment/chat/completions?api-version=2025-01-01-preview"
    ]
    assert wire.headers[0]["api-key"] == KEY
    assert "authorization" not in wire.headers[0]
    assert wire.bodies[0]["max_completion_tokens"] == 1000
    origin = given[-1].message.origin
    assert origin == Origin(provider="azure-openai", model="my-deployment")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/openai/v1/",
        "/openai/deployments/other/chat/completions?api-version=2024-10-21",
    ],
)
def test_an_address_copied_from_the_portal_is_understood(path):
    _, wire = ask_wire(made(path=path), ASKED, HELLO)
    assert wire.paths[0].startswith("/openai/deployments/my-deployment/chat/completions?")


def test_a_resource_named_openai_keeps_its_name():
    assert azure_host(base_url="https://openai.openai.azure.com/openai").url == (
        "https://openai.openai.azure.com"
    )


def test_the_variables_of_the_vendor_count():
    made = []

    def make(url):
        env = {
            "AZURE_OPENAI_API_KEY": KEY,
            "AZURE_OPENAI_ENDPOINT": url,
            "OPENAI_API_VERSION": "2024-10-21",
        }
        made.append(catalog.make("azure-openai", env=env))
        return made[-1]

    _, wire = ask_wire(make, ASKED, HELLO)
    assert wire.paths[0].endswith("api-version=2024-10-21")
    assert wire.headers[0]["api-key"] == KEY


def test_a_token_in_the_environment_does_not_take_the_keys_place(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "somebody-elses")
    _, wire = ask_wire(made(), ASKED, HELLO)
    assert wire.headers[0]["api-key"] == KEY
    assert "somebody-elses" not in str(wire.headers)


def test_without_an_address_the_setting_is_named():
    with pytest.raises(ProviderError) as caught:
        catalog.make("azure-openai", api_key=KEY, env={})
    assert caught.value.kind == "missing"
    assert "AZURE_OPENAI_ENDPOINT" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (401, {"code": "401", "message": "Access denied due to invalid subscription key"}, "auth"),
        (404, {"code": "DeploymentNotFound", "message": "does not exist"}, "not_found"),
        (429, {"code": "429", "message": "Requests have exceeded the rate limit"}, "rate_limit"),
        (400, {"code": "content_filter", "message": "filtered", "status": 400}, "refused"),
        (400, {"code": "context_length_exceeded", "message": "too long"}, "overflow"),
    ],
)
def test_a_failure_has_its_kind(status, error, kind):
    given, _ = ask_wire(made(), ASKED, Answer.json(status, {"error": error}))
    assert isinstance(given, ProviderError)
    assert given.kind == kind
    assert "Azure OpenAI at http" in given.message or kind == "overflow"


def test_an_old_version_of_the_api_is_told_the_limit_in_the_old_words():
    said = "Unrecognized request argument supplied: max_completion_tokens"
    refusal = Answer.json(400, {"error": {"message": said, "type": "invalid_request_error"}})
    given, wire = ask_wire(made(), ASKED, refusal, HELLO)
    assert isinstance(given, list), given
    assert wire.bodies[1]["max_tokens"] == 1000
    assert "max_completion_tokens" not in wire.bodies[1]


def test_a_verdict_of_the_content_filter_in_the_stream_is_passed_over():
    filtered = chat({"content": "Hello"})
    first = filtered[0].replace(b'"choices": [{', b'"prompt_filter_results": [], "choices": [{', 1)
    empty = b'data: {"id": "", "object": "", "created": 0, "model": "", "choices": []}\n\n'
    given, _ = ask_wire(made(), ASKED, Answer(chunks=[empty, first, *filtered[1:]]))
    assert isinstance(given, list), given
    assert given[-1].message.text == "Hello"


def test_the_key_never_stands_in_an_error():
    answer = Answer.json(401, {"error": {"message": f"the key {KEY} is wrong"}})
    given, _ = ask_wire(made(), ASKED, answer)
    assert isinstance(given, ProviderError)
    assert KEY not in f"{given.__dict__} {''.join(traceback.format_exception(given))}"
    assert KEY not in repr(OpenAIProvider(host=azure_host(api_key=KEY, base_url="http://x"))._host)
