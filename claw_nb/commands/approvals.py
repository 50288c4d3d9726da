"""``claw approvals``: what may run unasked because somebody said so, and taking it back."""

from __future__ import annotations

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option
from claw_nb.commands.output import Listing, Note
from claw_nb.commands.words import iso, moment
from claw_nb.store.rules import in_words


@click.group(invoke_without_command=True)
@click.pass_context
def approvals(ctx: click.Context) -> Listing | None:
    """Approvals that hold for more than one call: rules, forget."""
    return None if ctx.invoked_subcommand else ctx.invoke(rules)


@approvals.command()
@click.option("--here", is_flag=True, help="Only the rules that hold in this folder.")
@json_option
@click.pass_context
def rules(ctx: click.Context, here: bool) -> Listing:
    """List the rules, each in words.

    A rule is made by answering a question with more than a yes for this once. It never covers a
    risky call, nor a scheduled task, which has the tools that it was given.
    """
    work = workspace(ctx)
    found = work.store.rules.list(root=str(work.root) if here else None)
    return Listing(
        title=f"{len(found)} rule{'' if len(found) == 1 else 's'}",
        columns=("id", "rule", "said by", "since"),
        rows=[(rule.id[:13], in_words(rule), rule.by, moment(rule.created)) for rule in found],
        records=[
            {
                "id": rule.id,
                "rule": in_words(rule),
                "reach": rule.reach,
                "tool": rule.tool,
                "folder": rule.root,
                "path": rule.path,
                "session": rule.session_id,
                "agent": rule.agent,
                "by": rule.by,
                "created": iso(rule.created),
            }
            for rule in found
        ],
        empty="No rule: every call that needs a yes is asked about.",
    )


@approvals.command()
@click.argument("rule_id", metavar="ID")
@json_option
@click.pass_context
def forget(ctx: click.Context, rule_id: str) -> Note:
    """Forget a rule: from now on its calls are asked about again."""
    rule = workspace(ctx).store.rules.forget(rule_id)
    return Note(
        text=f"Forgotten: {in_words(rule)}", facts={"id": rule.id, "forgotten": in_words(rule)}
    )
