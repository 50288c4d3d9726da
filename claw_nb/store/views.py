"""The SQL views: what each one holds, column by column, and the query that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from claw_nb.store.rows import COLUMNS


@dataclass(frozen=True, kw_only=True)
class View:
    """One relation that SQL can name. ``columns`` maps a name to what it means."""

    description: str
    columns: Mapping[str, str]
    query: str = field(repr=False)

    @property
    def select(self) -> str:
        """The query with exactly the documented columns, in their order."""
        if self.columns.keys() == COLUMNS.keys():
            return self.query
        names = ", ".join(f'"{name}"' for name in self.columns)
        return f"SELECT {names} FROM ({self.query})"


_EVENT_WORDS = {
    "seq": "order of the log over all processes; order by this, not by ts",
    "id": "unique id of the row, sorts by time",
    "ts": "when it happened, UTC",
    "writer": "host:pid of the process that wrote it",
    "session_id": "the conversation",
    "run_id": "the run of an agent inside it",
    "parent_id": "the row that caused this one",
    "task_id": "the scheduled task behind it",
    "agent": "the agent's name",
    "kind": "what happened: run.started, message.added, turn.finished, tool.finished ...",
    "role": "of a message: user, assistant, tool or system",
    "name": "the tool or the provider",
    "status": "how it ended",
    "model": "the model's name",
    "tokens_in": "tokens read, cached ones not included",
    "tokens_out": "tokens written",
    "cost": "US dollars, NULL when no price is known",
    "ms": "milliseconds it took",
    "blob": "SHA-256 of the payload when it was too big for the row",
    "v": "version of the row's form",
    "text": "the words (the first 2,000 characters when there is a blob)",
    "data": "everything else, JSON",
}


def _log(*names: str, **more: str) -> dict[str, str]:
    return {name: _EVENT_WORDS[name] for name in names} | more


def _time(*names: str) -> str:
    return ", ".join(f"make_timestamp({name}) AS {name}" for name in names)


VIEWS: Mapping[str, View] = {
    "events": View(
        description="The whole log: everything that any process here has done, one row each.",
        columns=_EVENT_WORDS,
        query="SELECT * FROM raw.log",
    ),
    "messages": View(
        description="What was said: every message of every conversation.",
        columns=_log("seq", "id", "ts", "session_id", "run_id", "task_id", "agent", "role",
                     "model", "text", "blob", "data"),
        query="SELECT * FROM raw.log WHERE kind = 'message.added'",
    ),
    "tool_calls": View(
        description="Every tool call that came to its end.",
        columns=_log("seq", "id", "ts", "session_id", "run_id", "task_id", "agent")
        | {
            "tool": "the tool's name",
            "status": "ok, denied, interrupted, or the kind of error",
            "ms": "milliseconds it took",
            "arguments": "what it was called with, JSON",
            "result": "what it gave back (the first 2,000 characters when there is a blob)",
            "call_id": "the model's id of the call",
            "blob": _EVENT_WORDS["blob"],
        },
        query="SELECT *, name AS tool, data->'arguments' AS arguments, text AS result, "
        "data->>'call_id' AS call_id FROM raw.log WHERE kind = 'tool.finished'",
    ),
    "llm_calls": View(
        description="Every answer of a model.",
        columns=_log("seq", "id", "ts", "session_id", "run_id", "task_id", "agent")
        | {
            "provider": "who served the model",
            "model": "the model's name",
            "turn": "count of this run's turns, from 1",
            "stop": "why the answer ended: end, tool_use, max_tokens, refused, paused",
            "tokens_in": _EVENT_WORDS["tokens_in"],
            "tokens_out": "tokens written",
            "cache_read": "tokens read from the provider's cache",
            "cache_write": "tokens written to it",
            "cost": _EVENT_WORDS["cost"],
            "ms": "milliseconds until the answer was whole, without waits for retries",
        },
        query="SELECT *, name AS provider, (data->>'turn')::INTEGER AS turn, status AS stop, "
        "(data->>'cache_read')::BIGINT AS cache_read, "
        "(data->>'cache_write')::BIGINT AS cache_write "
        "FROM raw.log WHERE kind = 'turn.finished'",
    ),
    "usage": View(
        description="Tokens and money by day, agent, model, session and task.",
        columns={
            "day": "the day, UTC",
            "agent": "the agent's name",
            "session_id": "the conversation",
            "task_id": "the scheduled task behind it",
            "provider": "who served the model",
            "model": "the model's name",
            "calls": "answers of the model",
            "tokens_in": _EVENT_WORDS["tokens_in"],
            "tokens_out": "tokens written",
            "cache_read": "tokens read from the provider's cache",
            "cache_write": "tokens written to it",
            "cost": "US dollars, as far as prices are known",
            "unpriced": "calls whose price is not known",
        },
        query="SELECT ts::DATE AS day, agent, session_id, task_id, name AS provider, model, "
        "count(*) AS calls, "
        "sum(tokens_in)::BIGINT AS tokens_in, sum(tokens_out)::BIGINT AS tokens_out, "
        "sum((data->>'cache_read')::BIGINT)::BIGINT AS cache_read, "
        "sum((data->>'cache_write')::BIGINT)::BIGINT AS cache_write, sum(cost) AS cost, "
        "count(*) FILTER (cost IS NULL) AS unpriced "
        "FROM raw.log WHERE name IS DISTINCT FROM 'replay' AND (kind = 'turn.finished' "
        "OR (kind = 'compaction.finished' AND tokens_out > 0)) GROUP BY ALL",
    ),
    "sessions": View(
        description="The conversations.",
        columns={
            "id": "the conversation",
            "key": "the place it belongs to: a notebook's path, a folder of the command line",
            "agent": "the agent's name",
            "source": "claw, or the other agent that it was read from",
            "title": "its name",
            "created": "when it began, UTC",
            "updated": "when something was last said, UTC",
            "messages": "how many messages it has",
            "compactions": "how often its older turns were summarised",
            "context_tokens": "how long it is as a model is sent it",
            "next": "the session in which it goes on, when it had grown too long",
        },
        query=f"SELECT * REPLACE ({_time('created', 'updated')}) FROM raw.sessions",
    ),
    "tasks": View(
        description="What is scheduled.",
        columns={
            "id": "the task",
            "agent_id": "the agent it belongs to",
            "name": "its name",
            "target": "the notebook and its parameters, or the prompt, JSON",
            "schedule_type": "cron, interval or once",
            "schedule_value": "a cron expression, seconds, or a moment",
            "timezone": "the zone of the cron expression",
            "status": "active, paused, completed or missed",
            "failures": "failures in a row",
            "next_run": "when it is due, UTC",
            "last_run": "when it last began, UTC",
            "last_result": "how that went",
            "created": "when it was made, UTC",
            "updated": "when it was last changed, UTC",
        },
        query="SELECT * REPLACE (target::JSON AS target, "
        f"{_time('next_run', 'last_run', 'created', 'updated')}) FROM raw.tasks",
    ),
    "task_runs": View(
        description="Every occurrence of every task.",
        columns={
            "id": "the run",
            "task_id": "the task",
            "task": "the task's name",
            "due": "when it was due, UTC",
            "trigger": "schedule or manual",
            "status": "queued, running, success, error, cancelled, missed or skipped",
            "started": "when it began, UTC",
            "finished": "when it ended, UTC",
            "seconds": "how long it ran",
            "session_id": "its conversation",
            "result": "what came of it",
            "error": "what went wrong",
            "notebook": "path of the executed notebook",
            "report": "path of the HTML report",
        },
        query="SELECT r.* REPLACE (make_timestamp(r.due) AS due, make_timestamp(r.started) AS "
        "started, make_timestamp(r.finished) AS finished), t.name AS task, "
        "(r.finished - r.started) / 1e6 AS seconds "
        "FROM raw.runs r LEFT JOIN raw.tasks t ON t.id = r.task_id",
    ),
    "approvals": View(
        description="Every question whether a tool may run, and its answer.",
        columns={
            "id": "the question",
            "run_id": "the run that asked",
            "session_id": "the conversation",
            "tool": "the tool's name",
            "arguments": "what it would be called with, JSON",
            "reason": "why it was asked",
            "status": "pending, once, session or denied",
            "asked": "when, UTC",
            "answered": "when, UTC",
            "by": "who or what answered",
            "why": "the reason of a denial",
            "digest": "hash of the exact call that the answer is bound to",
        },
        query="SELECT * REPLACE (arguments::JSON AS arguments, "
        f"{_time('asked', 'answered')}) FROM raw.approvals",
    ),
    "memories": View(
        description="What is remembered. (The vectors stay in LanceDB.)",
        columns={
            "id": "the memory",
            "text": "the words",
            "category": "fact, preference, decision ...",
            "tags": "list of words",
            "agent": "whose memory it is",
            "source": "where it came from",
            "speaker": "who said it",
            "session_id": "the conversation it was learned in",
            "position": "and the place there",
            "created": "when it was remembered, UTC",
            "updated": "when it was last changed, UTC",
            "status": "active, or why it counts no more",
        },
        query="SELECT * REPLACE (timezone('UTC', created) AS created, "
        "timezone('UTC', updated) AS updated) FROM raw.memories",
    ),
}  # fmt: skip
"""Every relation of ``%claw sql`` by name."""

STATE_TABLES = ("sessions", "tasks", "runs", "approvals")
"""The tables of state.db that views are made of."""

NO_MEMORIES = (
    "SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS text, NULL::VARCHAR AS category, "
    "NULL::VARCHAR[] AS tags, NULL::VARCHAR AS agent, NULL::VARCHAR AS source, "
    "NULL::VARCHAR AS speaker, NULL::VARCHAR AS session_id, NULL::BIGINT AS position, NULL::TIMESTAMPTZ AS created, "
    "NULL::TIMESTAMPTZ AS updated, NULL::VARCHAR AS status WHERE false"
)
"""``raw.memories`` while nothing was ever remembered."""
