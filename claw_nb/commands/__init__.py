"""The commands that the command line and the notebook share; each gives back an Output."""

from __future__ import annotations

import click

from claw_nb.commands.approvals import approvals
from claw_nb.commands.compact import compact
from claw_nb.commands.memory import memory
from claw_nb.commands.policy import policy
from claw_nb.commands.replay import replay
from claw_nb.commands.runs import runs
from claw_nb.commands.sessions import sessions
from claw_nb.commands.settings import config
from claw_nb.commands.skills import skills
from claw_nb.commands.sql import sql
from claw_nb.commands.store import store
from claw_nb.commands.tasks import task
from claw_nb.commands.usage import usage
from claw_nb.commands.vault import vault

SHARED: tuple[click.Command, ...] = (
    sql,
    sessions,
    runs,
    task,
    memory,
    skills,
    approvals,
    policy,
    config,
    vault,
    store,
    usage,
    compact,
    replay,
)


@click.group(name="%claw", no_args_is_help=False)
def group() -> None:
    """Ask the agent, and look after what it does and keeps."""


for _command in SHARED:
    group.add_command(_command)
