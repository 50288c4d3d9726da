"""``claw task``: notebooks and prompts that run on a schedule."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from claw_nb.commands.context import workspace
from claw_nb.commands.options import json_option, paging
from claw_nb.commands.output import Listing, Note, Record
from claw_nb.commands.task_rows import files, run_record, shown, task_record, took, what
from claw_nb.commands.words import clipped, iso
from claw_nb.core.clock import now
from claw_nb.core.counted import counted
from claw_nb.core.errors import ClawError, InvalidInput
from claw_nb.core.records import Misfire, Overlap, Run, Task
from claw_nb.tasks import Tasks, words
from claw_nb.tasks import schedule as schedules
from claw_nb.tasks.runner import Runner
from claw_nb.tasks.scheduler import bury_dead, run_here
from claw_nb.tasks.tasks import parse_schedule

NOBODY = (
    "Nothing runs tasks on this home now. It will start when a Jupyter server with claw_nb does "
    "(`claw lab`)."
)


@click.group()
def task() -> None:
    """Notebooks and prompts on a schedule: add, list, run, look at the results."""


@task.command()
@click.argument("name")
@click.option("--notebook", type=click.Path(path_type=Path), help="The notebook to run.")
@click.option("--prompt", help="What to ask the agent.")
@click.option("--cron", metavar="EXPR", help="Five fields, such as '0 9 * * mon-fri', or @daily.")
@click.option("--every", metavar="SPAN", help="An interval, such as 45s, 30m, 1h30m, 1w.")
@click.option("--at", metavar="MOMENT", help="One moment, such as 2027-01-31T09:00.")
@click.option("--tz", "timezone", metavar="ZONE", help="An IANA zone (default: this machine's).")
@click.option("-p", "parameters", multiple=True, metavar="KEY=VALUE",
              help="A parameter of the notebook: JSON, else text. May be given more than once.")  # fmt: skip
@click.option("--allow", "grant", multiple=True, metavar="TOOL",
              help="A tool that needs no approval in its runs. May be given more than once.")  # fmt: skip
@click.option(
    "--timeout", metavar="SPAN", help="How long a run may take, such as 30m; 0: no limit."
)
@click.option("--misfire", type=click.Choice(["skip", "once", "all"]), default="once",
              show_default=True, help="What to do about runs that were missed.")  # fmt: skip
@click.option("--overlap", type=click.Choice(["skip", "queue", "allow"]), default="skip",
              show_default=True, help="What to do while the run before is still going.")  # fmt: skip
@click.option("--grace", metavar="SPAN", default="1h", show_default=True,
              help="How late a missed run may still be made up for.")  # fmt: skip
@click.option("--kernel", metavar="NAME", help="The kernel to run the notebook with.")
@click.option("--hide-code", is_flag=True, help="Leave the code out of the report.")
@click.option("--agent", "agent_id", help="Whose task it is (default: the setting agent.name).")
@json_option
@click.pass_context
def add(
    ctx: click.Context, name: str, notebook: Path | None, prompt: str | None, cron: str | None,
    every: str | None, at: str | None, timezone: str | None, parameters: tuple[str, ...],
    grant: tuple[str, ...], timeout: str | None, misfire: Misfire, overlap: Overlap, grace: str,
    kernel: str | None, hide_code: bool, agent_id: str | None,
) -> Note:  # fmt: skip
    """Schedule a notebook or a prompt under NAME."""
    more = {"kernel": kernel, "hide_code": hide_code or None}
    added = workspace(ctx).tasks.add(
        name, notebook=notebook, prompt=prompt, parameters=_parameters(parameters), cron=cron,
        every=every, at=at, timezone=timezone or workspace(ctx).settings.timezone, misfire=misfire, overlap=overlap,
        agent_id=agent_id or workspace(ctx).settings.agent,
        timeout_minutes=_minutes(timeout), grace_seconds=float(schedules.seconds(grace)),
        grant=grant, more={key: value for key, value in more.items() if value is not None},
    )  # fmt: skip
    when = words.describe(schedules.of(added))
    text = f"Scheduled {added.name}: {when}. First run {shown(added, added.next_run)}."
    lonely = "" if workspace(ctx).tasks.working() else f"\n{NOBODY}"
    return Note(text=text + lonely, facts=task_record(added))


@task.command(name="list")
@click.option("--agent", "agent_id", help="Only this agent's.")
@paging
@json_option
@click.pass_context
def list_(ctx: click.Context, agent_id: str | None, limit: int, offset: int) -> Listing:
    """List tasks, the newest first."""
    rows, total = _tasks(ctx).list(agent_id=agent_id, limit=limit, offset=offset)
    return Listing(
        title=counted(total, "task"),
        columns=("name", "what", "when", "status", "next run", "last result"),
        rows=[
            (
                task.name,
                clipped(what(task), 40),
                words.describe(schedules.of(task)),
                task.status,
                shown(task, task.next_run),
                clipped(task.last_result or "", 50),
            )
            for task in rows
        ],
        records=[task_record(task) for task in rows],
        empty="No task yet: `claw task add NAME --notebook PATH --cron '0 9 * * *'`.",
    )


@task.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str) -> Record:
    """Show all of a task. NAME may be its id."""
    found = workspace(ctx).tasks.find(name)
    return Record(title=found.name, fields=task_record(found))


@task.command()
@click.argument("name")
@json_option
@click.pass_context
def run(ctx: click.Context, name: str) -> Note:
    """Run a task now, outside its schedule: by the scheduler, or here when none is there."""
    tasks = _tasks(ctx)
    found = tasks.find(name)
    queued = tasks.run_now(found)
    if tasks.working():
        text = f"{found.name} will start in a moment; `claw task logs {found.name}` shows it."
        return Note(text=text, facts=run_record(queued))
    return _ended(found, _run_here(tasks, queued))


@task.command()
@click.argument("name")
@paging
@json_option
@click.pass_context
def logs(ctx: click.Context, name: str, limit: int, offset: int) -> Listing:
    """List a task's runs, the newest first, with what they left."""
    tasks = _tasks(ctx)
    found = tasks.find(name)
    rows, total = tasks.runs(found, limit=limit, offset=offset)
    return Listing(
        title=f"{found.name}: {counted(total, 'run')}",
        columns=("when", "status", "took", "result", "report"),
        rows=[
            (
                shown(found, run.started or run.due),
                run.status,
                took(run),
                clipped(run.error or run.result or "", 70),
                run.report or run.notebook or "",
            )
            for run in rows
        ],
        records=[run_record(run) for run in rows],
        empty=f"{found.name} has not run yet.",
    )


@task.command()
@click.argument("name")
@json_option
@click.pass_context
def pause(ctx: click.Context, name: str) -> Note:
    """Let a task rest; a run that is going ends as it would."""
    tasks = workspace(ctx).tasks
    paused = tasks.pause(tasks.find(name))
    return Note(text=f"{paused.name} is paused.", facts=task_record(paused))


@task.command()
@click.argument("name")
@json_option
@click.pass_context
def resume(ctx: click.Context, name: str) -> Note:
    """Let a paused task run again, from now on."""
    tasks = workspace(ctx).tasks
    woken = tasks.resume(tasks.find(name))
    text = f"{woken.name} is active again. Next run {shown(woken, woken.next_run)}."
    return Note(text=text, facts=task_record(woken))


@task.command(name="rm")
@click.argument("name")
@json_option
@click.pass_context
def remove(ctx: click.Context, name: str) -> Note:
    """Remove a task and its list of runs; the notebooks and reports that they left stay."""
    tasks = workspace(ctx).tasks
    gone = tasks.find(name)
    tasks.remove(gone)
    return Note(text=f"Removed {gone.name}.", facts={"id": gone.id, "removed": True})


@task.command(name="next")
@click.argument("name", required=False)
@click.option("--cron", metavar="EXPR", help="An expression to try out, instead of a task.")
@click.option("--every", metavar="SPAN", help="An interval to try out.")
@click.option("--tz", "timezone", metavar="ZONE", help="An IANA zone (default: this machine's).")
@click.option("--from", "start", metavar="MOMENT", help="Reckon from here (default: now).")
@click.option("-n", "count", type=click.IntRange(1, 1000), default=10, show_default=True)
@json_option
@click.pass_context
def next_(
    ctx: click.Context, name: str | None, cron: str | None, every: str | None,
    timezone: str | None, start: str | None, count: int,
) -> Listing:  # fmt: skip
    """Show when a task, or an expression, is due next."""
    begin = _moment(start, timezone)
    if name and not (cron or every):
        found = workspace(ctx).tasks.find(name)
        when, anchor = schedules.of(found), found.anchor
    else:
        when, anchor = parse_schedule(cron=cron, every=every, timezone=timezone), begin
    moments: list[int] = []
    due = schedules.next_run(when, after=begin, anchor=anchor)
    while due is not None and len(moments) < count:
        moments.append(due)
        due = schedules.next_run(when, after=due, anchor=anchor)
    return Listing(
        title=words.describe(when),
        columns=("due", "UTC"),
        rows=[(schedules.show(m, when.timezone), schedules.show(m, "UTC")) for m in moments],
        records=[{"due": iso(m), "local": schedules.show(m, when.timezone)} for m in moments],
        empty="It is not due any more.",
    )


def _tasks(ctx: click.Context) -> Tasks:
    """The tasks, after what a killed process left running has been ended."""
    tasks = workspace(ctx).tasks
    bury_dead(tasks)
    return tasks


def _moment(text: str | None, zone: str | None) -> int:
    if text is None:
        return now()
    found = schedules.at(text, timezone=zone or schedules.local_zone())
    return schedules.micros(datetime.fromisoformat(found.value))


def _run_here(tasks: Tasks, queued: Run) -> Run:
    """Blocking, and away from the loop that a notebook's kernel already has; Ctrl-C stops it."""
    stops: list[Callable[[], object]] = []

    async def work() -> Run:
        loop = asyncio.get_running_loop()
        going = asyncio.ensure_future(run_here(tasks, Runner(home=tasks.home), queued))
        stops.append(lambda: loop.call_soon_threadsafe(going.cancel))
        return await going

    with ThreadPoolExecutor(1, "claw task run") as pool:
        ended = pool.submit(lambda: asyncio.run(work()))
        try:
            return ended.result()
        except KeyboardInterrupt:
            for stop in stops:
                stop()
            raise  # once the pool has seen it end


def _ended(task: Task, run: Run) -> Note:
    if run.status == "error":
        raise ClawError(
            f"{task.name} failed: {run.error}", hint=f"See {run.report or run.notebook or 'logs'}."
        )
    lines = [f"{task.name}: {run.status}. {run.result or run.error or ''}".strip()]
    lines += [f"{kind:<9} {path}" for kind, path in files(run).items()]
    return Note(text="\n".join(lines), facts=run_record(run))


def _parameters(pairs: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.isidentifier():
            raise InvalidInput(
                f"{pair!r} is not a parameter.", hint="Write it as name=value: -p days=7."
            )
        try:
            found[key] = json.loads(text)
        except ValueError:
            found[key] = text
    return found


def _minutes(span: str | None) -> float | None:
    if span is None:
        return None
    return 0.0 if span == "0" else schedules.seconds(span) / 60
