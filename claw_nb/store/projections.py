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
            tx.execute(
                "UPDATE sessions SET messages = messages + 1, updated = max(updated, :ts) "
                "WHERE id = :session_id",
                row,
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
