"""The agent's SQL over the user's frames gives no secret away."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from claw_nb import config
from claw_nb.core import redact as redacting
from claw_nb.core.redact import redact
from claw_nb.workspace import Workspace

AWS = "AKIA" + "QWERTYUIOPASDFGH"
ROWS = {
    "who": ["ann", "bob"],
    "password": ["hunter2", None],
    "note": [f"use {AWS}", "none"],
    "auth_token": ["aB3dE5gH7jK9mN", "word"],
}


class Kernel:
    def __init__(self, **namespace):
        self.namespace = namespace

    async def execute(self, code, *, timeout=None):
        raise NotImplementedError


@pytest.fixture
def ask(home, tmp_path):
    opened = []

    async def query(frame, sql):
        work = Workspace.open(
            home, settings=config.load(home, env={}), root=tmp_path, kernel=Kernel(users=frame)
        )
        opened.append(work)
        (tool,) = (tool for tool in work.tools() if tool.name == "sql")
        return await tool.run(query=sql, limit=50)

    yield query
    for work in opened:
        work.close()


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table],
    ids=["pandas", "polars", "lazy", "arrow"],
)  # fmt: skip
@pytest.mark.parametrize(
    "sql",
    [
        "select * from users",
        "select password as p, note as n, auth_token as a, who from users",
        "select password || '!' as p, {'n': note} as n, auth_token as a, who from Users",
    ],
)
async def test_passwords_keys_and_tokens_stay_with_the_user(ask, make, sql):
    frame = make(ROWS)
    shown = await ask(frame, sql)
    assert "ann" in shown
    assert "word" in shown.replace("password", "")
    assert "NULL" in shown
    assert not [secret for secret in ("hunter2", AWS, "aB3dE5gH7jK9mN") if secret in shown]
    kept = frame.collect() if make is pl.LazyFrame else frame
    assert kept["password"][0] in ("hunter2", pa.scalar("hunter2"))


async def test_an_alias_that_says_secret_is_masked_too(ask):
    shown = await ask(pd.DataFrame(ROWS), "select who as password from users")
    assert "ann" not in shown


def test_opening_a_workspace_learns_the_secrets_of_the_environment(home, monkeypatch):
    monkeypatch.setattr(redacting, "_exact", set())
    monkeypatch.setattr(redacting, "_by_length", ())
    monkeypatch.setenv("MY_DB_PASSWORD", "correcthorsebattery")
    Workspace.open(home).close()
    assert redact("it is correcthorsebattery") == "it is [REDACTED:secret]"
