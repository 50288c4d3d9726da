"""The state that follows from log rows, changed in the transaction that logs them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from claw_nb.store.rows import payload

_TITLE = 80

Load = Callable[[str], str]


def apply(tx: sqlite3.Connection, row: Mapping[str, Any], load: Load) -> None:
    """Bring session heads and approvals up to a packed row; ``load`` reads a blob."""
    match row["kind"]:
        case "message.added":
            _say(tx, row)
        case "run.finished" | "run.failed":
            _touch(tx, row, late=0)
        case "turn.finished":
            _spend(tx, row, payload(row["data"], row["blob"], load))
        case "compaction.finished":
            _compact(tx, row, payload(row["data"], row["blob"], load))
        case "session.rotated":
            data = payload(row["data"], row["blob"], load)
            tx.execute(
                "UPDATE sessions SET next = ? WHERE id = ?", (data["session_id"], row["session_id"])
            )
        case "run.started":
            title = " ".join((row["text"] or "").split())[:_TITLE]
            tx.execute(
                "UPDATE sessions SET title = ? WHERE id = ? AND title = ''",
                (title, row["session_id"]),
            )
        case "approval.requested":
            _ask(tx, row, payload(row["data"], row["blob"], load))
        case "approval.resolved":
            _answer(tx, row, payload(row["data"], row["blob"], load))


REPLAYED = "replay"
"""The provider that plays a recording back: what it answers was not spent."""

_DAY = 86_400_000_000

_LATE = 1_000_000
"""Microseconds that ``updated`` may be behind while a run goes on."""


def _say(tx: sqlite3.Connection, row: Mapping[str, Any]) -> None:
    """Count a message in its session's head."""
    tx.execute("UPDATE sessions SET messages = messages + 1 WHERE id = ?", (row["session_id"],))
    # Two indexes have the time. Within a run it may be late a little, for the run's end sets it.
    within_a_run = row["run_id"] and row["role"] != "user"
    _touch(tx, row, late=_LATE if within_a_run else 0)


def _touch(tx: sqlite3.Connection, row: Mapping[str, Any], *, late: int) -> None:
    tx.execute(
        "UPDATE sessions SET updated = ? WHERE id = ? AND updated < ?",
        (row["ts"], row["session_id"], row["ts"] - late),
    )


_SPEND = """
INSERT INTO spent (day, session_id, task_id, task_run_id, agent, provider, model, calls, unpriced,
                   tokens_in, tokens_out, cache_read, cache_write, cost)
VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET calls = calls + 1, unpriced = unpriced + excluded.unpriced,
    tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out,
    cache_read = cache_read + excluded.cache_read,
    cache_write = cache_write + excluded.cache_write, cost = cost + excluded.cost
"""


def _spend(tx: sqlite3.Connection, row: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Add a model call to what is spent, and note how long the conversation is now."""
    context = data.get("context")
    if context:
        tx.execute(
            "UPDATE sessions SET context_tokens = ? WHERE id = ?", (context, row["session_id"])
        )
    if row["name"] == REPLAYED:
        return
    tx.execute(
        _SPEND,
        (row["ts"] // _DAY, row["session_id"] or "", row["task_id"] or "",
         data.get("task_run") or "", row["agent"] or "", row["name"] or "", row["model"] or "",
         int(row["cost"] is None), row["tokens_in"] or 0, row["tokens_out"] or 0,
         data.get("cache_read") or 0, data.get("cache_write") or 0, row["cost"] or 0.0),
    )  # fmt: skip


def _compact(tx: sqlite3.Connection, row: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    if row["tokens_in"] or row["tokens_out"]:
        _spend(tx, row, data)
    if row["status"] == "ok":
        tx.execute(
            "UPDATE sessions SET compactions = compactions + 1, context_tokens = ? WHERE id = ?",
            (data["after"], row["session_id"]),
        )


def _ask(tx: sqlite3.Connection, row: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    request = data["request"]
    tx.execute(
        "INSERT OR IGNORE INTO approvals "
        "(id, run_id, session_id, digest, tool, arguments, reason, asked) VALUES (?,?,?,?,?,?,?,?)",
        (row["id"], row["run_id"], row["session_id"], request["digest"], request["call"]["name"],
         json.dumps(request["call"]["arguments"], ensure_ascii=False), request["reason"],
         row["ts"]),
    )  # fmt: skip


def _answer(tx: sqlite3.Connection, row: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    # Who answers in the table itself (a parked question) is not overwritten by the echo.
    tx.execute(
        "UPDATE approvals SET status = ?, answered = ?, \"by\" = ?, why = ? "
        "WHERE run_id IS ? AND digest = ? AND status = 'pending'",
        (data["decision"], row["ts"], data["by"], data["why"], row["run_id"],
         data["request"]["digest"]),
    )  # fmt: skip
