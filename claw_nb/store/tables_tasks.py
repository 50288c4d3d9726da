"""The SQLite tables of tasks, their runs and the workers that run them."""

TABLES = """
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    schedule_type TEXT NOT NULL,
    schedule_value TEXT NOT NULL,
    timezone TEXT NOT NULL DEFAULT 'UTC',
    timeout_minutes REAL,
    misfire TEXT NOT NULL DEFAULT 'once',
    overlap TEXT NOT NULL DEFAULT 'skip',
    grace_seconds REAL NOT NULL DEFAULT 3600,
    "grant" TEXT NOT NULL DEFAULT '[]',
    channel_ids TEXT NOT NULL DEFAULT '[]',
    status TEXT NOT NULL DEFAULT 'active',
    failures INTEGER NOT NULL DEFAULT 0,
    anchor INTEGER NOT NULL DEFAULT 0,
    next_run INTEGER,
    last_run INTEGER,
    last_result TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    rev INTEGER NOT NULL DEFAULT 0,
    UNIQUE (agent_id, name)
);
CREATE INDEX tasks_due ON tasks (next_run) WHERE status = 'active';

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    due INTEGER NOT NULL,
    "trigger" TEXT NOT NULL,
    status TEXT NOT NULL,
    started INTEGER,
    finished INTEGER,
    worker TEXT,
    session_id TEXT,
    result TEXT,
    error TEXT,
    notebook TEXT,
    report TEXT,
    UNIQUE (task_id, due)
);
CREATE INDEX runs_of_task ON runs (task_id, id);
CREATE INDEX runs_open ON runs (status, due) WHERE status IN ('queued', 'running');

-- A worker holds the lock file of its id; ``beat`` is when it last looked for due tasks.
CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    slots INTEGER NOT NULL,
    started INTEGER NOT NULL,
    beat INTEGER NOT NULL
);

CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires INTEGER NOT NULL
);
"""
