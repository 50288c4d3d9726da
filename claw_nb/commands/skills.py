"""``claw skills``: what the agent knows how to do, and from where."""

from __future__ import annotations

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Listing, Note, Record
from claw_nb.commands.words import clipped
from claw_nb.core.errors import NotFound
from claw_nb.tools.skills import Skill, discover, write_skill
from claw_nb.workspace import Workspace
from claw_nb.workspace.briefing import shared_skills

_BODY = """\
# {name}

Say here, step by step, how it is done."""


@click.group(invoke_without_command=True)
@click.pass_context
def skills(ctx: click.Context) -> Listing | None:
    """Skills (folders with a SKILL.md): list, show, new."""
    return None if ctx.invoked_subcommand else ctx.invoke(list_)


def _found(work: Workspace) -> tuple[Skill, ...]:
    return discover(
        workspace=work.root, agent=work.agent_root / "skills", shared=shared_skills(work.env)
    )


@skills.command(name="list")
@json_option
@click.pass_context
def list_(ctx: click.Context) -> Listing:
    """List the skills of this folder, of the agent, and of `~/.agents/skills`."""
    found = _found(workspace(ctx))
    return Listing(
        title=f"{len(found)} skill{'' if len(found) == 1 else 's'}",
        columns=("name", "from", "description", "location"),
        rows=[(s.name, s.scope, clipped(s.description, 70), s.location) for s in found],
        records=[
            {
                "name": s.name,
                "scope": s.scope,
                "description": s.description,
                "location": s.location,
            }
            for s in found
        ],
        empty="No skill: put a folder with a SKILL.md into skills/, or try `claw skills new`.",
    )


@skills.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str) -> Record:
    """Show the whole SKILL.md of the skill NAME."""
    for skill in _found(workspace(ctx)):
        if skill.name == name:
            return Record(
                title=skill.name,
                fields={
                    "from": skill.scope,
                    "description": skill.description,
                    "location": skill.location,
                    "text": skill.text,
                },
            )
    raise NotFound(f"There is no skill {name!r}.", hint="`claw skills list` shows them.")


@skills.command()
@click.argument("name")
@click.option("--description", required=True, help="What it does, and when it is to be used.")
@click.option("--agent", "for_agent", is_flag=True, help="For the agent, in every folder.")
@json_option
@click.pass_context
def new(ctx: click.Context, name: str, description: str, for_agent: bool) -> Note:
    """Begin the skill NAME in this folder's skills/, in the form that every agent reads."""
    work = workspace(ctx)
    folder = work.agent_root / "skills" if for_agent else work.root / "skills"
    path = write_skill(folder, name=name, description=description, body=_BODY.format(name=name))
    return Note(text=f"Wrote {path}.", facts={"name": name, "path": str(path)})
