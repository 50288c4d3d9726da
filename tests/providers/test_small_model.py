"""A real language model, small enough to run anywhere, through both wire formats."""

import pytest

from claw_nb.providers.anthropic import AnthropicProvider
from claw_nb.providers.openai import OpenAIProvider
from tests.providers.asking import ask, request

MAKERS = {
    "anthropic": lambda url: AnthropicProvider(api_key="not-needed", base_url=url),
    "openai": lambda url: OpenAIProvider(base_url=f"{url}/v1"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_real_model_answers(name, small_model):
    asked = request(
        "What is the capital of France? Answer with one word.",
        system="You are helpful.",
        model="smollm2",
        tools=(),
        max_tokens=12,
    )
    words, _, reply = ask(MAKERS[name](small_model), asked)
    assert "Paris" in words
    assert reply.message.text == words
    assert reply.usage.input + reply.usage.cache_read > 10
    assert 0 < reply.usage.output <= 12


def test_a_real_model_without_tool_calls_calls_a_tool_when_prompted(small_model):
    provider = OpenAIProvider(base_url=f"{small_model}/v1", tools="prompted")
    asked = request("What is the weather in Paris?", system="", model="smollm2", max_tokens=60)
    _, _, reply = ask(provider, asked)
    assert reply.stop == "tool_use"
    (call,) = reply.message.tool_calls
    assert (call.name, dict(call.arguments)) == ("get_weather", {"city": "Paris"})
