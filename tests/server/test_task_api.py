"""The REST interface of tasks, on a real Jupyter server."""

import asyncio
import inspect
import json
from http.cookies import SimpleCookie

import nbformat
import pytest
from tornado.httpclient import HTTPClientError
from tornado.web import RequestHandler

from claw_nb_server.handlers import BODY_LIMIT, ROUTES

PROMPT = {
    "name": "news",
    "prompt": "What is new?",
    "schedule_type": "cron",
    "schedule_value": "0 9 * * mon-fri",
    "timezone": "Europe/Berlin",
}


@pytest.fixture
def jp_server_config():
    return {
        "ServerApp": {"jpserver_extensions": {"claw_nb_server": True}},
        "ClawApp": {"run_scheduler": False},
    }


@pytest.fixture
def call(jp_fetch):
    """``await call("POST", path, body)``: the status and the JSON of the answer."""

    async def call(method, path="", body=None, **params):
        parts = ["claw", "v1", *[part for part in path.split("/") if part]]
        raw = body if isinstance(body, (bytes, str)) else json.dumps(body)
        try:
            answer = await jp_fetch(
                *parts,
                method=method,
                body=None if body is None else raw,
                params=params,
                allow_nonstandard_methods=True,
            )
        except HTTPClientError as error:
            answer = error.response
        return answer.code, json.loads(answer.body) if answer.body else None

    return call


async def make_news(call):
    return (await call("POST", "agents/main/tasks", PROMPT))[1]


async def test_a_task_is_made_read_changed_and_removed(call):
    code, task = await call("POST", "agents/main/tasks", PROMPT)
    assert code == 201
    kept = {name: task[name] for name in PROMPT}
    assert kept == {**PROMPT, "schedule_value": "0 9 * * 1-5"}
    assert task["agent_id"] == "main"
    assert task["status"] == "active"
    assert task["schedule_text"] == "at 09:00, Monday to Friday (Europe/Berlin)"
    assert task["next_run"].endswith(":00:00.000Z")
    assert (task["last_run"], task["last_result"]) == (None, None)
    assert (task["timeout_minutes"], task["channel_ids"]) == (15.0, [])

    path = f"agents/main/tasks/{task['id']}"
    assert await call("GET", path) == (200, task)
    assert await call("GET", "agents/main/tasks/news") == (200, task)

    change = {"schedule_type": "interval", "schedule_value": "90", "status": "paused"}
    code, changed = await call("PATCH", path, change)
    assert code == 200
    assert {name: changed[name] for name in change} == change
    assert changed["created_at"] == task["created_at"]
    code, changed = await call("PATCH", path, {"prompt": "And now?", "name": "other"})
    assert (changed["prompt"], changed["name"]) == ("And now?", "other")

    assert await call("DELETE", path) == (204, None)
    code, error = await call("GET", path)
    assert code == 404
    assert error["error"]["code"] == "task_not_found"


async def test_a_task_without_a_zone_gets_that_of_the_settings(call, monkeypatch):
    monkeypatch.setenv("CLAW_TIMEZONE", "Asia/Tokyo")
    given = {name: value for name, value in PROMPT.items() if name != "timezone"}
    assert (await call("POST", "agents/main/tasks", given))[1]["timezone"] == "Asia/Tokyo"


async def test_tasks_come_in_pages_newest_first(call):
    for number in range(3):
        await call("POST", "agents/main/tasks", PROMPT | {"name": f"t{number}"})
    await call("POST", "agents/other/tasks", PROMPT)
    code, page = await call("GET", "agents/main/tasks", limit="2", offset="1")
    assert code == 200
    assert [task["name"] for task in page["data"]] == ["t1", "t0"]
    assert (page["total"], page["limit"], page["offset"]) == (3, 2, 1)
    _, page = await call("GET", "agents/main/tasks")
    assert (page["limit"], page["offset"]) == (20, 0)


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "1.5", "²"])
async def test_a_page_has_1_to_100_entries(call, limit):
    code, error = await call("GET", "agents/main/tasks", limit=limit)
    assert code == 400
    assert error["error"]["code"] == "task_list_failed"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"[" * 100_000, b"\xff", {}, PROMPT | {"name": ""}, PROMPT | {"schedule_value": "soon"},
        PROMPT | {"schedule_type": "weekly"}, PROMPT | {"timezone": "Mars"},
        PROMPT | {"unknown": 1}, PROMPT | {"prompt": 7}, PROMPT | {"timeout_minutes": True},
        PROMPT | {"timeout_minutes": float("nan")}, PROMPT | {"notebook": "x.ipynb"}, PROMPT | {"grant": [1]}, PROMPT | {"misfire": "maybe"},
        {key: value for key, value in PROMPT.items() if key != "prompt"},
    ],
)  # fmt: skip
async def test_a_bad_request_is_refused_and_makes_nothing(call, body):
    code, error = await call("POST", "agents/main/tasks", body)
    assert code == 400
    assert error["error"].keys() == {"message", "type", "code"}
    assert error["error"]["type"] == "invalid_request_error"
    assert error["error"]["code"] == "task_creation_failed"
    assert error["error"]["message"]
    assert (await call("GET", "agents/main/tasks"))[1]["total"] == 0


async def test_a_name_that_is_taken_is_a_conflict(call):
    await make_news(call)
    code, error = await call("POST", "agents/main/tasks", PROMPT)
    assert code == 409
    assert error["error"]["type"] == "conflict"
    assert error["error"]["code"] == "task_creation_failed"


async def test_a_body_that_is_too_large_is_refused(call):
    code, error = await call(
        "POST", "agents/main/tasks", PROMPT | {"prompt": "x" * (BODY_LIMIT + 1)}
    )
    assert code == 413
    assert error["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("method", "tail"),
    [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/run"), ("GET", "/logs")],
)
async def test_another_agents_task_is_not_found(call, method, tail):
    news = await make_news(call)
    body = {"name": "mine"} if method == "PATCH" else None
    for path in (f"agents/other/tasks/{news['id']}{tail}", f"agents/main/tasks/nope{tail}"):
        code, error = await call(method, path, body)
        assert code == 404
        assert error["error"]["type"] == "not_found"
        assert error["error"]["code"] == "task_not_found"
    assert (await call("GET", f"agents/main/tasks/{news['id']}"))[0] == 200


async def test_a_run_is_triggered_once_at_a_time_and_stands_in_the_log(call):
    news = await make_news(call)
    path = f"agents/main/tasks/{news['id']}"
    code, said = await call("POST", f"{path}/run")
    assert (code, said["status"]) == (200, "triggered")
    code, error = await call("POST", f"{path}/run")
    assert (code, error["error"]["code"]) == (409, "task_run_failed")
    code, page = await call("GET", f"{path}/logs")
    assert code == 200
    assert (page["total"], page["limit"], page["offset"]) == (1, 20, 0)
    (entry,) = page["data"]
    assert entry["id"] == said["run_id"]
    assert (entry["status"], entry["trigger"], entry["duration_ms"]) == ("queued", "manual", 0)
    assert entry["task_id"] == news["id"]
    assert {"session_id", "run_at", "result", "error", "notebook", "report"} <= entry.keys()


async def test_the_status_says_that_nothing_runs_here(call):
    code, status = await call("GET", "status")
    assert code == 200
    assert status["scheduler"]["enabled"] is False
    assert status["version"]


# -- who may ---------------------------------------------------------------------------------------

PATHS = ["status", "agents/main/tasks", "agents/main/tasks/t", "agents/main/tasks/t/run",
         "agents/main/tasks/t/logs"]  # fmt: skip
VERBS = ("get", "post", "patch", "put", "delete")


def verbs_of(handler):
    return [
        verb for verb in VERBS if getattr(handler, verb) is not RequestHandler.__dict__.get(verb)
    ]


def test_every_route_is_in_the_table_of_paths():
    assert len(ROUTES) == len(PATHS)


@pytest.mark.parametrize(("_", "handler"), ROUTES)
def test_every_verb_is_authenticated_and_authorized(_, handler):
    assert verbs_of(handler)
    for verb in verbs_of(handler):
        source = inspect.getsource(getattr(handler, verb))
        assert "@web.authenticated\n    @authorized\n" in source


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("verb", ["GET", "POST", "PATCH", "DELETE"])
async def test_nobody_gets_in_without_the_token(http_server_client, jp_base_url, path, verb):
    known = dict(zip(PATHS, (handler for _, handler in ROUTES), strict=True))[path]
    with pytest.raises(HTTPClientError) as refused:
        await http_server_client.fetch(
            f"{jp_base_url}claw/v1/{path}",
            method=verb,
            headers={},
            body=None,
            allow_nonstandard_methods=True,
            follow_redirects=False,
        )
    # XSRF is checked before the verb is looked for.
    assert refused.value.code in ((403,) if verb.lower() in verbs_of(known) else (403, 405))


async def test_a_browser_needs_its_xsrf_token_too(
    http_server_client, jp_base_url, jp_serverapp, call
):
    """A page of another site brings the cookies along, but cannot read the token."""
    jar = SimpleCookie()

    async def fetch(path, **given):
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in jar.items())
        headers = {"Cookie": cookies, **given.pop("headers", {})}
        answer = await http_server_client.fetch(
            jp_base_url + path, headers=headers, raise_error=False, **given
        )
        for line in answer.headers.get_list("Set-Cookie"):
            jar.load(line)
        return answer.code

    assert await fetch("login") == 200
    assert await fetch(f"claw/v1/status?token={jp_serverapp.identity_provider.token}") == 200
    assert await fetch("claw/v1/status") == 200
    tasks, body = "claw/v1/agents/main/tasks", json.dumps(PROMPT)
    assert await fetch(tasks, method="POST", body=body) == 403
    token = {"X-XSRFToken": jar["_xsrf"].value}
    assert await fetch(tasks, method="POST", body=body, headers=token) == 201


# -- with the scheduler ----------------------------------------------------------------------------


@pytest.fixture
def scheduling(jp_serverapp):
    """The extension on the server; its scheduler begins and ends with the test."""
    (app,) = jp_serverapp.extension_manager.extension_apps["claw_nb_server"]
    return app


@pytest.mark.parametrize(
    "jp_server_config",
    [{"ServerApp": {"jpserver_extensions": {"claw_nb_server": True}}}],
    indirect=False,
)
async def test_a_due_notebook_runs_and_its_results_are_linked(
    call, scheduling, tmp_path, jp_serverapp, home, monkeypatch
):
    assert not home.exists()
    monkeypatch.setenv("CLAW_MAX_PARALLEL", "3")
    await scheduling._start_jupyter_server_extension(jp_serverapp)
    path = tmp_path / "n.ipynb"
    cells = [nbformat.v4.new_code_cell("days = 1", metadata={"tags": ["parameters"]}),
             nbformat.v4.new_code_cell("days * 6")]  # fmt: skip
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    body = {
        "name": "tour", "notebook": str(path), "parameters": {"days": 7}, "grant": ["run_python"],
        "schedule_type": "once", "schedule_value": "2020-01-01T00:00:00Z",
        "grace_seconds": 1e9,
    }  # fmt: skip
    try:
        code, task = await call("POST", "agents/main/tasks", body)
        assert (code, task["parameters"], task["grant"]) == (201, {"days": 7}, ["run_python"])
        entry = {"status": "waiting"}
        while entry["status"] in ("waiting", "queued", "running"):
            await asyncio.sleep(0.1)
            _, page = await call("GET", f"agents/main/tasks/{task['id']}/logs")
            entry = page["data"][0] if page["data"] else entry
            _, status = await call("GET", "status")
            assert status["scheduler"]["enabled"]
        assert (entry["status"], entry["error"]) == ("success", None)
        assert entry["duration_ms"] > 0
        nb = nbformat.read(entry["notebook"], as_version=4)
        assert nb.cells[-1].outputs[0].data["text/plain"] == "42"
        assert entry["report"].endswith("report.html")
        assert jp_serverapp.web_app.settings["claw_last_activity"]
        assert (status["scheduler"]["serving"], status["scheduler"]["slots"]) == (True, 3)
        _, after = await call("GET", f"agents/main/tasks/{task['id']}")
        assert (after["status"], after["next_run"]) == ("completed", None)
    finally:
        await scheduling.stop_extension()
    assert scheduling.background.pulse.worker is None


async def test_a_server_that_is_only_started_makes_no_home(call, home):
    assert (await call("GET", "status"))[0] == 200
    assert not home.exists()
