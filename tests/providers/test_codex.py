"""A ChatGPT plan: the login of the Codex CLI, and the Responses API of its service."""

import asyncio
import json
import os
import stat
import subprocess
import sys
import traceback
from contextlib import aclosing, contextmanager

import pytest

from claw_nb.core.errors import ProviderError
from claw_nb.core.messages import (
    Image,
    Message,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from claw_nb.core.messages import system as told
from claw_nb.core.redact import redact
from claw_nb.providers import catalog
from claw_nb.providers.codex import CodexProvider
from claw_nb.providers.codex_login import CodexLogin
from tests.providers.asking import WEATHER, ask_wire, events_of, results
from tests.providers.asking import request as any_request
from tests.providers.logins import ACCOUNT, CLAIMS, access_token, jwt, write_login
from tests.providers.wire import Answer, respond, serve, spoken

OLD, NEW = access_token(expires=1_000, serial=2), access_token(serial=3)
HELLO = Answer(chunks=respond(spoken("Hello")))
RENEWED = Answer.json(
    200, {"access_token": NEW, "refresh_token": "rt-second-0123456789", "expires_in": 3600}
)
DENIED = Answer.json(401, {"error": {"message": "Your token has expired", "code": "token_expired"}})


def request(*messages, **given):
    return any_request(*messages, model=given.pop("model", "gpt-5.4"), **given)


def provider(path, **given):
    def make(url):
        login = CodexLogin(path, token_url=f"{url}/oauth/token", mode=given.get("mode", "renew"))
        return CodexProvider(login, base_url=f"{url}/codex", originator=given.get("originator"))

    return make


@pytest.fixture
def login(tmp_path):
    return write_login(tmp_path / "codex")


@pytest.fixture
def expired(tmp_path):
    return write_login(tmp_path / "codex", tokens={"access_token": OLD}, other={"kept": True})


def replied(path, answer, asked=None):
    given, _ = ask_wire(provider(path), asked or request("Go"), answer)
    assert isinstance(given, list), given
    return given[-1]


def failed(make, *answers):
    given, wire = ask_wire(make, request("Go"), *answers)
    assert isinstance(given, ProviderError), given
    return given, wire


def kept(path):
    return json.loads(path.read_text(encoding="utf-8"))


# -- the request -------------------------------------------------------------------------------


def test_a_whole_request(login):
    _, wire = ask_wire(provider(login), request("Hi", effort="low"), HELLO)
    assert wire.paths == ["/codex/responses"]
    body = wire.bodies[0]
    assert len(body.pop("prompt_cache_key")) == 32
    assert body == {
        "model": "gpt-5.4",
        "store": False,
        "stream": True,
        "instructions": "You are a test.",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Hi"}],
            }
        ],
        "tools": [
            {
                "type": "function",
                "name": "get_weather",
                "description": "The weather in a city.",
                "parameters": dict(WEATHER.parameters),
                "strict": False,
            }
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto", "effort": "low"},
        "include": ["reasoning.encrypted_content"],
    }


def test_the_service_is_told_who_asks_and_for_which_account(login):
    _, wire = ask_wire(provider(login), request("Hi"), HELLO)
    headers = wire.headers[0]
    assert headers["authorization"] == f"Bearer {access_token()}"
    assert headers["chatgpt-account-id"] == ACCOUNT
    assert headers["openai-beta"] == "responses=experimental"
    assert headers["originator"] == "claw_nb"
    assert headers["user-agent"].startswith("claw_nb/")
    assert headers["accept"] == "text/event-stream"
    _, wire = ask_wire(provider(login, originator="my_client"), request("Hi"), HELLO)
    assert wire.headers[0]["originator"] == "my_client"


def test_the_account_is_found_in_the_token_when_the_file_does_not_tell_it(tmp_path):
    path = write_login(tmp_path, tokens={"account_id": None})
    _, wire = ask_wire(provider(path), request("Hi"), HELLO)
    assert wire.headers[0]["chatgpt-account-id"] == ACCOUNT


def test_calls_results_and_pictures_of_the_history_are_sent(login):
    call = ToolCall(id="c1", name="draw", arguments={"what": "ü"})
    calling = Message(role="assistant", parts=(Thinking(text="hm"), Text(text="Ok."), call))
    drawn = ToolResult(
        call_id="c1", name="draw", parts=(Image(data="QUJD", media_type="image/jpeg"),)
    )
    history = ("Go", calling, Message(role="tool", parts=(drawn,)), told("Be brief."))
    _, wire = ask_wire(provider(login), request(*history), HELLO)
    assert wire.bodies[0]["input"][1:] == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Ok."}],
        },
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "draw",
            "arguments": '{"what": "\\u00fc"}',
        },
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_text", "text": "(a picture)"},
                {
                    "type": "input_image",
                    "image_url": "data:image/jpeg;base64,QUJD",
                    "detail": "auto",
                },
            ],
        },
        {
            "type": "message",
            "role": "developer",
            "content": [{"type": "input_text", "text": "Be brief."}],
        },
    ]


def test_a_conversation_keeps_its_cache_key_and_another_has_its_own(login):
    def key(*messages):
        _, wire = ask_wire(provider(login), request(*messages), HELLO)
        return wire.bodies[0]["prompt_cache_key"]

    answer = Message(role="assistant", parts=(Text(text="Hm."),))
    assert key("One") == key("One", answer, "Two") != key("Another")


# -- the answer --------------------------------------------------------------------------------

REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Let me see."}],
    "encrypted_content": "c2VhbGVk",
}


def called(call_id, typed, status="completed"):
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": "get_weather",
        "arguments": typed,
        "status": status,
    }


def test_thinking_words_and_calls_come_as_they_were_said(login):
    second = REASONING | {"id": "rs_2", "summary": [], "encrypted_content": "bW9yZQ=="}
    items = (
        REASONING,
        spoken("I look."),
        second,
        called("a", '{"city": "Oslo"}'),
        called("b", '{"city": "Rome"}'),
    )
    deltas = (
        {
            "type": "response.reasoning_summary_text.delta",
            "item_id": "rs_1",
            "output_index": 0,
            "summary_index": 0,
            "delta": "Let me see.",
        },
        {"type": "codex.rate_limits", "plan_type": "plus"},
    )
    reply = replied(login, Answer(chunks=respond(*items, deltas=deltas)))
    assert reply.message.parts == (
        Thinking(text="Let me see."),
        Text(text="I look."),
        ToolCall(id="a", name="get_weather", arguments={"city": "Oslo"}),
        ToolCall(id="b", name="get_weather", arguments={"city": "Rome"}),
    )
    assert reply.stop == "tool_use"
    assert reply.usage == Usage(input=40, cache_read=60, output=10, cost=0.0)

    after = ("Go", reply.message, results(reply.message, "dry", "wet"))
    _, wire = ask_wire(provider(login), request(*after), HELLO)
    sealed = [
        {key: item[key] for key in ("type", "summary", "encrypted_content")}
        for item in (REASONING, second)
    ]
    sent = wire.bodies[0]["input"][1:-2]
    assert [sent[0], sent[2]] == sealed, "without ids, which a service that keeps nothing refuses"
    assert [item["type"] for item in sent] == [
        "reasoning",
        "message",
        "reasoning",
        "function_call",
        "function_call",
    ]
    _, wire = ask_wire(provider(login), request(*after, model="another"), HELLO)
    assert "reasoning" not in {item["type"] for item in wire.bodies[0]["input"]}


def test_a_call_cut_by_the_token_limit_does_not_run(login):
    items = (spoken("I look."), called("a", '{"city": "O', status="incomplete"))
    chunks = respond(
        *items, end="response.incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    reply = replied(login, Answer(chunks=chunks))
    assert (reply.message.parts, reply.stop) == ((Text(text="I look."),), "max_tokens")


def test_arguments_that_are_no_json_reach_the_tool_so_that_the_model_is_told(login):
    reply = replied(login, Answer(chunks=respond(called("a", '{"city": Oslo}'))))
    assert reply.message.tool_calls[0].arguments == {"malformed_arguments": '{"city": Oslo}'}


def test_a_refusal_is_told(login):
    refusal = spoken("") | {"content": [{"type": "refusal", "refusal": "I can't."}]}
    reply = replied(login, Answer(chunks=respond(refusal)))
    assert (reply.message.text, reply.stop) == ("I can't.", "refused")


def test_items_that_come_with_the_response_alone_are_read(login):
    reply = replied(login, Answer(chunks=respond(output=[spoken("Late.")])))
    assert reply.message.text == "Late."


def test_reasoning_that_the_service_cannot_open_is_left_out_from_then_on(login):
    origin = Origin(
        provider="codex-subscription",
        model="gpt-5.4",
        raw=({"type": "reasoning", "summary": [], "encrypted_content": "of another account"},),
    )
    before = Message(role="assistant", parts=(Text(text="Hm."),), origin=origin)
    refusal = Answer.json(
        400,
        {
            "error": {
                "message": "The encrypted content could not be verified.",
                "code": "invalid_encrypted_content",
                "type": "invalid_request_error",
            }
        },
    )
    given, wire = ask_wire(provider(login), request("Go", before, "On"), refusal, HELLO)
    assert isinstance(given, list), given
    assert ["of another account" in json.dumps(body) for body in wire.bodies] == [True, False]


# -- what can go wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Answer(status=403, chunks=[b"<html>Just a moment...</html>"]), "auth", "codex_originator"),
        (
            Answer.json(
                429,
                {
                    "error": {
                        "type": "usage_limit_reached",
                        "message": "The usage limit has been reached",
                        "plan_type": "plus",
                        "resets_in_seconds": 5400,
                    }
                },
            ),
            "rate_limit",
            "plan's limit",
        ),
        (Answer.json(400, {"detail": "The model is not supported"}), "bad_request", "model"),
        (Answer(status=502, chunks=[b"<html>Bad gateway</html>"]), "server", "Wait"),
        (Answer(chunks=[*respond(end=None), None]), "cut", "again"),
        (Answer(chunks=respond(end=None)), "cut", "again"),
        (Answer(chunks=[b'data: {"type": "resp\n\n']), "cut", "again"),
        (
            Answer(
                chunks=respond(
                    end="response.failed",
                    error={"code": "context_length_exceeded", "message": "too long"},
                )
            ),
            "overflow",
            "new",
        ),
        (
            Answer(
                chunks=respond(
                    end="response.failed", error={"code": "server_error", "message": "oops"}
                )
            ),
            "server",
            "Wait",
        ),
        (
            Answer(
                chunks=[
                    b"event: error\n",
                    b'data: {"type": "error", "code": "rate_limit_exceeded", ',
                    b'"message": "slow down", "sequence_number": 1}\n\n',
                ]
            ),
            "rate_limit",
            "limit",
        ),
    ],
)
def test_every_failure_has_its_kind(login, answer, kind, words):
    error, _ = failed(provider(login), answer)
    assert error.kind == kind, error
    assert words in error.hint
    if kind == "rate_limit" and error.status == 429:
        assert error.retry_after == 5400


def test_stopping_hangs_up_at_once(login):
    delta = {
        "type": "response.output_text.delta",
        "item_id": "m",
        "output_index": 0,
        "content_index": 0,
        "delta": "Hello",
        "logprobs": [],
    }

    async def go():
        async with serve(Answer(chunks=[*respond(deltas=[delta], end=None), 30.0])) as wire:

            async def watch():
                async with aclosing(provider(login)(wire.url).stream(request("Go"))) as stream:
                    async for _ in stream:
                        begun.set()

            begun = asyncio.Event()
            task = asyncio.create_task(watch())
            await begun.wait()
            task.cancel()
            async with asyncio.timeout(5):
                await asyncio.gather(task, return_exceptions=True)
                await wire.hung_up.wait()
            return task.cancelled()

    assert asyncio.run(go())


# -- the login ---------------------------------------------------------------------------------


def test_an_expired_login_is_renewed_and_written_back_for_its_owner_alone(expired):
    given, wire = ask_wire(provider(expired), request("Go"), RENEWED, HELLO)
    assert isinstance(given, list), given
    assert wire.paths == ["/oauth/token", "/codex/responses"]
    assert wire.bodies[0] == {
        "grant_type": "refresh_token",
        "refresh_token": "rt-first-0123456789",
        "client_id": "app_EMoamEEZ73f0CkXaXp7hrann",
    }
    assert wire.headers[1]["authorization"] == f"Bearer {NEW}"
    login = kept(expired)
    assert login["tokens"]["access_token"] == NEW
    assert login["tokens"]["refresh_token"] == "rt-second-0123456789"
    assert login["tokens"]["account_id"] == ACCOUNT
    assert login["other"] == {"kept": True}
    assert login["last_refresh"] > "2026-11-01T00:00:00Z"
    assert stat.S_IMODE(expired.stat().st_mode) == 0o600
    assert sorted(p.name for p in expired.parent.iterdir()) == ["auth.json", "auth.json.claw-lock"]


def test_a_login_that_is_a_link_stays_one(expired, tmp_path):
    link = tmp_path / "auth.json"
    link.symlink_to(expired)
    ask_wire(provider(link), request("Go"), RENEWED, HELLO)
    assert link.is_symlink()
    assert kept(expired)["tokens"]["access_token"] == NEW


def test_a_token_that_the_service_refuses_is_renewed_once(login):
    given, wire = ask_wire(provider(login), request("Go"), DENIED, RENEWED, HELLO)
    assert isinstance(given, list), given
    assert wire.paths == ["/codex/responses", "/oauth/token", "/codex/responses"]
    error, wire = failed(provider(login), DENIED, RENEWED, DENIED)
    assert error.kind == "auth"
    assert "codex login" in error.hint
    assert wire.paths.count("/oauth/token") == 1


def test_a_login_that_the_codex_cli_has_renewed_meanwhile_is_taken(login):
    async def go():
        async with serve(DENIED, HELLO) as wire:
            asked = provider(login)(wire.url)
            write_login(login.parent)  # the first question reads this
            stream = asked.stream(request("Go"))
            read = CodexLogin._read
            seen = []

            def rewritten(self):
                if seen:
                    write_login(login.parent, tokens={"access_token": NEW})
                seen.append(1)
                return read(self)

            CodexLogin._read = rewritten
            try:
                events = [event async for event in stream]
            finally:
                CodexLogin._read = read
            return events, wire

    events, wire = asyncio.run(go())
    assert wire.paths == ["/codex/responses", "/codex/responses"]
    assert wire.headers[1]["authorization"] == f"Bearer {NEW}"
    assert events[-1].message.text == "Hello"


def test_read_only_never_renews(expired):
    before = expired.read_bytes()
    error, wire = failed(provider(expired, mode="read-only"), HELLO)
    assert (error.kind, wire.paths) == ("auth", [])
    assert "read-only" in error.message
    assert "codex login" in error.hint
    assert expired.read_bytes() == before
    assert [p.name for p in expired.parent.iterdir()] == ["auth.json"]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            Answer.json(400, {"error": {"code": "refresh_token_reused", "message": "used"}}),
            "auth",
            "refresh_token_reused",
        ),
        (Answer.json(401, {"error": "invalid_grant"}), "auth", "invalid_grant"),
        (Answer.json(429, {"error": {"message": "slow down"}}, retry_after="7"), "rate_limit", ""),
        (Answer(status=503, chunks=[b"down"]), "overloaded", ""),
        (Answer.json(200, {"surprise": 1}), "server", ""),
        (Answer(chunks=[None]), "connection", ""),
    ],
)
def test_a_renewal_that_fails_leaves_the_login_as_it_was(expired, answer, kind, words):
    before = expired.read_bytes()
    error, _ = failed(provider(expired), answer)
    assert error.kind == kind, error
    assert words in error.message
    assert expired.read_bytes() == before
    assert not list(expired.parent.glob(".auth-*"))


@contextmanager
def read_only(folder):
    """A folder in which nothing can be made; root may write everywhere but on such a mount."""
    if os.geteuid() != 0:
        folder.chmod(0o500)
        yield
        folder.chmod(0o700)
        return
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_folder_that_cannot_be_written_burns_no_refresh_token(expired):
    with read_only(expired.parent):
        error, wire = failed(provider(expired), RENEWED)
    assert (error.kind, wire.paths) == ("auth", [])


def test_without_a_lock_no_refresh_token_is_burnt(expired):
    expired.with_name("auth.json.claw-lock").mkdir()
    error, wire = failed(provider(expired), RENEWED)
    assert (error.kind, wire.paths) == ("auth", [])
    assert "cannot be renewed" in error.message


def test_two_processes_renew_once(expired):
    """Both see the expired token; the refresh token works once, and both are answered."""
    program = """
import asyncio, sys
from pathlib import Path
from claw_nb.providers.codex_login import CodexLogin
login = CodexLogin(Path(sys.argv[1]), token_url=sys.argv[2])
print(asyncio.run(login.access()).token)
"""

    async def go():
        slow = Answer(status=200, headers=RENEWED.headers, chunks=[0.5, *RENEWED.chunks])
        async with serve(slow) as wire:
            command = [sys.executable, "-c", program, str(expired), f"{wire.url}/oauth/token"]
            children = [
                await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
                for _ in range(2)
            ]
            said = [(await child.communicate())[0].decode().strip() for child in children]
            return said, wire

    said, wire = asyncio.run(go())
    assert said == [NEW, NEW]
    assert wire.paths == ["/oauth/token"]


def test_a_question_that_is_stopped_while_it_renews_loses_no_token(expired):
    async def go():
        slow = Answer(status=200, headers=RENEWED.headers, chunks=[0.5, *RENEWED.chunks])
        async with serve(slow, HELLO) as wire:
            task = asyncio.create_task(events_of(provider(expired)(wire.url), request("Go")))
            await asyncio.wait_for(wire.asked.wait(), 10)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            # asyncio.run waits for the renewal's thread.
            await asyncio.get_running_loop().shutdown_default_executor()

    asyncio.run(go())
    assert kept(expired)["tokens"]["refresh_token"] == "rt-second-0123456789"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no such file"),
        ("{broken", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it holds no ChatGPT login"),
        ('{"tokens": null}', "it holds no ChatGPT login"),
        ('{"OPENAI_API_KEY": "sk-proj-0123456789abcdef", "tokens": null}', "the provider openai"),
        (
            json.dumps({"tokens": {"access_token": jwt(exp=4e9), "refresh_token": "r"}}),
            "does not tell the account",
        ),
        (
            json.dumps({"tokens": {"access_token": OLD, "account_id": "a"}}),
            "nothing to renew it with",
        ),
    ],
)
def test_a_login_that_cannot_be_used_says_why_and_what_to_do(tmp_path, text, words):
    path = tmp_path / "auth.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    error, wire = failed(provider(path), HELLO)
    assert (error.kind, wire.paths) == ("auth", [])
    assert words in error.message
    assert str(path) in error.message
    assert "codex login" in error.hint
    assert "sk-proj" not in f"{error} {''.join(traceback.format_exception(error))}"


def test_a_token_that_tells_no_end_is_used_until_it_is_refused(tmp_path):
    path = write_login(tmp_path, tokens={"access_token": "opaque-0123456789"})
    _, wire = ask_wire(provider(path), request("Go"), HELLO)
    assert wire.headers[0]["authorization"] == "Bearer opaque-0123456789"


def test_the_login_is_found_where_the_codex_cli_keeps_it(tmp_path, monkeypatch):
    def path(**env):
        return catalog.make("codex-subscription", env=env)._login.path

    monkeypatch.setenv("HOME", str(tmp_path))
    assert path() == tmp_path / ".codex" / "auth.json"
    assert path(CODEX_HOME=str(tmp_path / "x")) == tmp_path / "x" / "auth.json"
    given = catalog.Login(file=tmp_path / "mine.json")
    made = catalog.make("codex-subscription", login=given, env={"CODEX_HOME": "/elsewhere"})
    assert made._login.path == tmp_path / "mine.json"


def test_no_token_ever_stands_in_an_error_or_a_log(expired):
    quoted = f"{OLD} and rt-first-0123456789 and {NEW}"
    answers = (
        Answer.json(500, {"error": {"message": quoted}}),
        Answer.json(400, {"error": {"message": quoted, "code": quoted}}),
    )
    for answer in answers:
        error, _ = failed(provider(expired), answer)
        shown = f"{error.__dict__} {''.join(traceback.format_exception(error))}"
        assert OLD not in shown
        assert "rt-first" not in shown
    ask_wire(provider(expired), request("Go"), RENEWED, HELLO)
    assert redact(f"{NEW} rt-second-0123456789") == "[REDACTED:secret] [REDACTED:secret]"
    assert CLAIMS not in redact(NEW)
