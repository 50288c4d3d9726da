"""The REST routes under ``/claw/v1``: authenticated, bounded, and never blocking the server."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web

from claw_nb import __version__
from claw_nb.core.errors import ClawError, Conflict, Denied, InvalidInput, NotFound
from claw_nb.core.records import Task
from claw_nb_server.background import Background
from claw_nb_server.desk import Desk
from claw_nb_server.wire import changes, iso, new_task, run_json, task_json

BODY_LIMIT = 256 * 1024
"""Bytes of a request's body at most."""

PAGE_LIMIT = 100

_STATUS: dict[type[ClawError], int] = {InvalidInput: 400, Denied: 403, NotFound: 404, Conflict: 409}
_TYPES = {
    400: "invalid_request_error",
    403: "permission_error",
    404: "not_found",
    409: "conflict",
    413: "invalid_request_error",
}


class ClawHandler(APIHandler):
    """What all routes share: the desk, errors as ``{"error": {message, type, code}}``, caps."""

    auth_resource = "claw"
    failure = "request_failed"
    """The code of an error that has none of its own; each verb sets it."""

    @property
    def desk(self) -> Desk:
        """The way to the data home."""
        desk: Desk = self.settings["claw_desk"]
        return desk

    async def prepare(self) -> None:  # type: ignore[override]
        """Refuse what is too big before anything reads it."""
        await super().prepare()
        if len(self.request.body) > BODY_LIMIT:
            raise web.HTTPError(413, f"The body is larger than {BODY_LIMIT} bytes.")

    async def task(self, agent_id: str, task_id: str) -> Task:
        """The task of that id or name, if it is that agent's."""
        return await self.desk.ask(lambda tasks: tasks.find(task_id, agent_id=agent_id))

    def body(self) -> Any:
        """The JSON of the request."""
        try:
            return json.loads(self.request.body or b"null", parse_constant=_no_json)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"The body is not JSON that can be read: {error}.") from error

    def page(self) -> dict[str, int]:
        """``limit`` (1 to 100, 20 by default) and ``offset`` of a listing."""
        return {
            "limit": self._number("limit", 20, 1, PAGE_LIMIT),
            "offset": self._number("offset", 0, 0, 2**31),
        }

    def _number(self, name: str, default: int, low: int, high: int) -> int:
        text = self.get_query_argument(name, str(default))
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise InvalidInput(f"{name} may be {low} to {high}, not {text!r}.")
        return int(text)

    def answer(self, value: Any, status: int = 200) -> None:
        """Send JSON."""
        self.set_status(status)
        self.finish(json.dumps(value, ensure_ascii=False))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Every failure in one form; the server's own words stay in its log."""
        error = kwargs.get("exc_info", (None, None))[1]
        message = HTTPStatus(status_code).phrase
        if isinstance(error, ClawError):
            kinds = [code for kind, code in _STATUS.items() if isinstance(error, kind)]
            status_code, message = (kinds or [500])[0], str(error)
        elif isinstance(error, web.HTTPError) and error.log_message:
            message = error.log_message % error.args if error.args else error.log_message
        self.set_status(status_code)
        code = "task_not_found" if status_code == 404 else self.failure
        kind = _TYPES.get(status_code, "server_error")
        self.answer({"error": {"message": message, "type": kind, "code": code}}, status_code)

    def log_exception(self, kind: Any, value: Any, traceback: Any) -> None:
        """A refused request is no mishap of the server."""
        if isinstance(value, (InvalidInput, Denied, NotFound, Conflict)):
            self.log.info("%s %s: %s", self.request.method, self.request.path, value.message)
            return
        super().log_exception(kind, value, traceback)

    def wake(self) -> None:
        """Let the scheduler look now."""
        background: Background | None = self.settings["claw_background"]
        if background is not None:
            background.wake()


def _no_json(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


class TasksHandler(ClawHandler):
    """``/agents/{agentId}/tasks``."""

    @web.authenticated
    @authorized
    async def get(self, agent_id: str) -> None:
        """A page of the agent's tasks, the newest first."""
        self.failure = "task_list_failed"
        page = self.page()
        rows, total = await self.desk.ask(lambda tasks: tasks.list(agent_id=agent_id, **page))
        self.answer({"data": [task_json(task) for task in rows], "total": total, **page})

    @web.authenticated
    @authorized
    async def post(self, agent_id: str) -> None:
        """Make a task."""
        self.failure = "task_creation_failed"
        given = new_task(self.body())
        given.setdefault("timezone", (await self.desk.workspace()).settings.timezone)
        task = await self.desk.ask(lambda tasks: tasks.add(agent_id=agent_id, **given))
        self.wake()
        self.answer(task_json(task), 201)


class TaskHandler(ClawHandler):
    """``/agents/{agentId}/tasks/{taskId}``."""

    @web.authenticated
    @authorized
    async def get(self, agent_id: str, task_id: str) -> None:
        """One task."""
        self.failure = "task_get_failed"
        self.answer(task_json(await self.task(agent_id, task_id)))

    @web.authenticated
    @authorized
    async def patch(self, agent_id: str, task_id: str) -> None:
        """Change what is given, leave the rest."""
        self.failure = "task_update_failed"
        task = await self.task(agent_id, task_id)
        given = changes(self.body(), task)
        changed = await self.desk.ask(lambda tasks: tasks.update(task, **given))
        self.wake()
        self.answer(task_json(changed))

    @web.authenticated
    @authorized
    async def delete(self, agent_id: str, task_id: str) -> None:
        """Remove a task with its runs."""
        self.failure = "task_delete_failed"
        task = await self.task(agent_id, task_id)
        await self.desk.ask(lambda tasks: tasks.remove(task))
        self.set_status(204)
        self.finish()


class TaskRunHandler(ClawHandler):
    """``/agents/{agentId}/tasks/{taskId}/run``."""

    @web.authenticated
    @authorized
    async def post(self, agent_id: str, task_id: str) -> None:
        """Run it once, now, outside its schedule."""
        self.failure = "task_run_failed"
        task = await self.task(agent_id, task_id)
        run = await self.desk.ask(lambda tasks: tasks.run_now(task))
        self.wake()
        self.answer({"status": "triggered", "run_id": run.id})


class TaskLogsHandler(ClawHandler):
    """``/agents/{agentId}/tasks/{taskId}/logs``."""

    @web.authenticated
    @authorized
    async def get(self, agent_id: str, task_id: str) -> None:
        """A page of the task's runs, the newest first."""
        self.failure = "task_logs_failed"
        page = self.page()
        task = await self.task(agent_id, task_id)
        rows, total = await self.desk.ask(lambda tasks: tasks.runs(task, **page))
        self.answer({"data": [run_json(run) for run in rows], "total": total, **page})


class StatusHandler(ClawHandler):
    """``/status``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """The version, and how this server's scheduler is doing."""
        background: Background | None = self.settings["claw_background"]
        pulse = background.pulse if background is not None else None
        self.answer(
            {
                "version": __version__,
                "scheduler": {
                    "enabled": background is not None,
                    "serving": pulse is not None and pulse.worker is not None,
                    "slots": pulse.slots if pulse else 0,
                    "started": iso(pulse.started) if pulse else None,
                    "last_tick": iso(pulse.last_tick) if pulse else None,
                    "last_error": pulse.last_error if pulse else None,
                    "running": list(pulse.running) if pulse else [],
                },
            }
        )


_TASKS = r"/claw/v1/agents/([^/]+)/tasks"

ROUTES = [
    (r"/claw/v1/status", StatusHandler),
    (_TASKS, TasksHandler),
    (_TASKS + r"/([^/]+)", TaskHandler),
    (_TASKS + r"/([^/]+)/run", TaskRunHandler),
    (_TASKS + r"/([^/]+)/logs", TaskLogsHandler),
]
