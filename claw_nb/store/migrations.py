"""The tables of state.db, by numbered migrations that the first newer process applies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from claw_nb.core.clock import Clock, NewId
from claw_nb.core.errors import NewerSchema, StoreError
from claw_nb.store.tables_tasks import TABLES as TASK_TABLES

_FIRST = (
    """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- AUTOINCREMENT: a sealed row's seq is never given again, even when the inbox is empty.
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    ts INTEGER NOT NULL,
    writer TEXT NOT NULL,
    session_id TEXT,
    run_id TEXT,
    parent_id TEXT,
    task_id TEXT,
    agent TEXT,
    kind TEXT NOT NULL,
    role TEXT,
    name TEXT,
    status TEXT,
    model TEXT,
    tokens_in INTEGER,
    tokens_out INTEGER,
    cost REAL,
    ms REAL,
    blob TEXT,
    v INTEGER NOT NULL,
    text TEXT,
    data TEXT NOT NULL
);
CREATE TABLE segments (
    id TEXT PRIMARY KEY,
    path TEXT NOT NULL,
    lo INTEGER NOT NULL,
    hi INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    v INTEGER NOT NULL,
    created INTEGER NOT NULL,
    died INTEGER
);
CREATE TABLE spilled (name TEXT PRIMARY KEY, imported INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    agent TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT 'claw',
    title TEXT NOT NULL DEFAULT '',
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_place ON sessions (key, agent, updated);
CREATE INDEX sessions_recent ON sessions (updated);
CREATE TABLE removed_sessions (
    id TEXT PRIMARY KEY,
    removed INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE settings (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    updated INTEGER NOT NULL,
    rev INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE embedding_queue (
    id TEXT PRIMARY KEY,
    queued INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    error TEXT
) WITHOUT ROWID;
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    run_id TEXT,
    session_id TEXT,
    digest TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL DEFAULT '{}',
    reason TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'pending',
    asked INTEGER NOT NULL,
    answered INTEGER,
    "by" TEXT,
    why TEXT
);
CREATE INDEX approvals_run ON approvals (run_id, digest);
"""
    + TASK_TABLES
)

_RULES = """
CREATE TABLE approval_rules (
    id TEXT PRIMARY KEY,
    reach TEXT NOT NULL,
    tool TEXT NOT NULL,
    agent TEXT NOT NULL,
    root TEXT NOT NULL,
    session_id TEXT,
    path TEXT,
    "by" TEXT NOT NULL DEFAULT '',
    created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX approval_rules_tool ON approval_rules (tool, agent, root);
"""

_SPENT = """
ALTER TABLE sessions ADD COLUMN compactions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN context_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN next TEXT NOT NULL DEFAULT '';

-- What models took, added up as it is logged: budgets are looked at before each call.
CREATE TABLE spent (
    day INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    task_run_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    unpriced INTEGER NOT NULL DEFAULT 0,
    tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    cost REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (day, session_id, task_id, task_run_id, agent, provider, model)
) WITHOUT ROWID;
CREATE INDEX spent_session ON spent (session_id);
CREATE INDEX spent_task_run ON spent (task_run_id);
INSERT INTO spent
SELECT ts / 86400000000, coalesce(session_id, ''), coalesce(task_id, ''), '', coalesce(agent, ''),
    coalesce(name, ''), coalesce(model, ''), count(*), sum(cost IS NULL),
    sum(coalesce(tokens_in, 0)), sum(coalesce(tokens_out, 0)),
    sum(coalesce(json_extract(data, '$.cache_read'), 0)),
    sum(coalesce(json_extract(data, '$.cache_write'), 0)), sum(coalesce(cost, 0))
FROM inbox WHERE kind = 'turn.finished' GROUP BY 1, 2, 3, 5, 6, 7;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _RULES, _SPENT)
"""Script ``n`` leads from version ``n`` to ``n + 1``. Within a major release they only add."""

VERSION = len(MIGRATIONS)

MIN_READER = 1
"""The oldest version whose code may still use a file that this code has migrated."""


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of the file, 0 when it is empty; NewerSchema when we may not touch it."""
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
    if not known:
        return 0
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    check_reader(meta.get("min_reader", "1"))
    try:
        return int(meta["schema_version"])
    except (KeyError, ValueError) as error:
        raise StoreError(
            "state.db does not say which schema it has.",
            hint="It may belong to another program. Choose another folder with CLAW_HOME.",
        ) from error


def check_reader(min_reader: str) -> None:
    """Raise NewerSchema when the file asks for newer code than this."""
    if int(min_reader) > VERSION:
        raise NewerSchema(
            f"The data home was written by a newer release of claw_nb (schema {min_reader}, "
            f"this one knows {VERSION}).",
            hint="Upgrade with `pip install -U claw-nb` and restart the kernel, "
            "or choose another home with CLAW_HOME. Nothing was changed.",
        )


def migrate(connection: sqlite3.Connection, *, clock: Clock, new_id: NewId) -> None:
    """Bring the file to this version in one transaction; another process may have been faster."""
    connection.execute("BEGIN EXCLUSIVE")
    try:
        found = version_of(connection)
        for script in MIGRATIONS[found:]:
            for statement in statements(script):
                connection.execute(statement)
        if found < VERSION:
            facts = {"schema_version": str(VERSION), "min_reader": str(MIN_READER)}
            if found == 0:
                facts |= {"data_id": new_id(), "created": str(clock())}
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: ``executescript`` would commit before it starts."""
    statement = ""
    *pieces, rest = script.split(";")
    for piece in pieces:
        # Not every semicolon ends a statement: some stand in strings and comments.
        statement += f"{piece};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if (statement + rest).strip():
        raise ValueError(f"an unfinished statement: {statement + rest!r}")
