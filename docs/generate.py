"""Write the parts of the reference that the code knows best: `python docs/generate.py`.

They stand between `<!-- begin NAME -->` and `<!-- end NAME -->`; a test fails when they are stale.
"""

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import click
from traitlets import HasTraits

from claw_nb import config
from claw_nb.cli import claw
from claw_nb.commands import group
from claw_nb.core import events
from claw_nb.core.protocols import Execution
from claw_nb.notebook import guide, question
from claw_nb.notebook.magics import Claw
from claw_nb.providers import catalog
from claw_nb.providers.offline.intents import INTENTS
from claw_nb.store.views import VIEWS
from claw_nb.tools.subagent import subagent_tools
from claw_nb.workspace import Workspace
from claw_nb_server.app import ClawApp
from claw_nb_server.handlers import ROUTES

DOCS = Path(__file__).resolve().parent


def commands(command: click.Command, name: str) -> dict[str, click.Command]:
    """Every command by its full name, without hidden ones."""
    found = {name: command}
    if isinstance(command, click.Group):
        for word, child in command.commands.items():
            if not child.hidden:
                found |= commands(child, f"{name} {word}")
    return found


def one_line(text: str) -> str:
    """Text for a table cell."""
    return " ".join(text.replace("``", "`").replace("|", "\\|").split())


def option_row(option: click.Option) -> str:
    """An option with its value, meaning and default."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    notes = [one_line(option.help or "")]
    if isinstance(option.type, click.Choice):
        notes.append("One of " + ", ".join(f"`{choice}`" for choice in option.type.choices) + ".")
    if option.required:
        notes.append("Required.")
    if option.show_default and option.default is not None:
        notes.append(f"Default: `{option.default}`.")
    return f"| {names} | {' '.join(note for note in notes if note)} |"


def command_section(name: str, command: click.Command) -> str:
    """What a command does, and its options."""
    pieces = command.collect_usage_pieces(click.Context(command))
    pieces = [piece for piece in pieces if piece != "[OPTIONS]" and "COMMAND" not in piece]
    level = "##" if name.count(" ") < 2 else "###"
    text = [
        f"{level} `{' '.join([name, *pieces])}`",
        "",
        inspect.cleandoc(command.help or "").replace("``", "`"),
    ]
    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    if options:
        text += ["", "| option | meaning |", "|---|---|", *map(option_row, options)]
    return "\n".join(text)


def table(head: str, rows: Iterable[str]) -> str:
    """A Markdown table."""
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def cli() -> str:
    """Every command of `claw`."""
    sections = {name: command_section(name, c) for name, c in commands(claw, "claw").items()}
    return "\n\n".join(text for name, text in sections.items() if name != "claw")


def shown(value: object) -> str:
    """A default."""
    if value in (None, ""):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def settings() -> str:
    """Every setting."""
    return table(
        "| in config.toml | variable | default | meaning |",
        (
            f"| `{key}` | `{variable}` | {shown(default)} | {one_line(meaning)} |"
            for _, key, variable, default, meaning in config.describe()
        ),
    )


def traits(owner: type[HasTraits], prefix: str) -> str:
    """Every trait that Jupyter's own configuration can set."""
    return table(
        "| trait | default | meaning |",
        (
            f"| `{prefix}.{name}` | {shown(trait.default_value)} | {one_line(trait.help)} |"
            for name, trait in sorted(owner.class_own_traits(config=True).items())
        ),
    )


def words() -> str:
    """Every word after `%claw`."""
    rows = [(f"%claw {word}", does) for word, does in guide.WORDS.items()]
    rows += [
        (f"%{name}", command.get_short_help_str(limit=100))
        for name, command in commands(group, "claw").items()
        if name != "claw" and name != "claw sql" and not isinstance(command, click.Group)
    ]
    return table("| word | does |", (f"| `{word}` | {one_line(does)} |" for word, does in rows))


def options(known: Mapping[str, tuple[str, str]]) -> str:
    """The options of a word."""
    return table(
        "| option | does |",
        (
            f"| `{f'{name} {value}'.strip()}` | {one_line(does)} |"
            for name, (value, does) in known.items()
        ),
    )


def event_types() -> str:
    """Every event."""
    return table(
        "| event | when |",
        (
            f"| `{event.__name__}` | {one_line(event.__doc__.splitlines()[0])} |"
            for event in typing.get_args(events.Event)
        ),
    )


class NoKernel:
    """Stands for a kernel: the tools are only described."""

    namespace: typing.ClassVar[dict[str, object]] = {}

    async def execute(self, code: str, *, timeout: float | None = None) -> Execution:
        """Never called."""
        raise NotImplementedError


async def no_subagent(task: str) -> str:
    """Never called."""
    raise NotImplementedError


def tools() -> str:
    """Every tool with its parameters, as the model is told of them."""
    nowhere = DOCS / "nowhere"
    work = Workspace(home=nowhere, settings=config.Settings(), root=nowhere, kernel=NoKernel())
    every = (*work.tools(), *subagent_tools(no_subagent))
    return table(
        "| tool | effect | parameters | does |",
        (
            f"| `{tool.name}` | {tool.effect} | "
            + ", ".join(f"`{name}`" for name in tool.parameters["properties"])
            + f" | {one_line(tool.description.split(chr(10) * 2)[0])} |"
            for tool in sorted(every, key=lambda tool: tool.name)
        ),
    )


def views() -> str:
    """Every view, column by column."""
    return "\n\n".join(
        f"### `{name}`\n\n{one_line(view.description)}\n\n"
        + table(
            "| column | meaning |",
            (f"| `{column}` | {one_line(meaning)} |" for column, meaning in view.columns.items()),
        )
        for name, view in VIEWS.items()
    )


def routes() -> str:
    """Every route and its verbs."""
    rows = []
    for pattern, handler in ROUTES:
        path = pattern
        for name in ("agent", "task"):
            path = path.replace("([^/]+)", f"{{{name}}}", 1)
        for verb in ("get", "post", "patch", "delete"):
            if verb in vars(handler):
                does = one_line(vars(handler)[verb].__doc__.splitlines()[0])
                rows.append(f"| `{verb.upper()}` | `{path}` | {does} |")
    return table("| method | path | does |", rows)


def providers() -> str:
    """Every provider."""
    return table(
        "| name | answers | default model | key |",
        (
            f"| `{name}` | {one_line(catalog.about(name))} | {shown(catalog.default_model(name))} "
            f"| {shown(catalog.key_variable(name))} |"
            for name in catalog.NAMES
        ),
    )


def offline_commands() -> str:
    """What the offline provider understands."""
    return table(
        "| you write | it does |",
        (f"| `{one_line(intent.example)}` | {one_line(intent.about)} |" for intent in INTENTS),
    )


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "cli": ("reference/cli.md", cli),
    "words": ("reference/magics.md", words),
    "ask options": ("reference/magics.md", lambda: options(question.OPTIONS)),
    "sql options": ("reference/magics.md", lambda: options(question.SQL_OPTIONS)),
    "magic traits": ("reference/magics.md", lambda: traits(Claw, "Claw")),
    "settings": ("how-to/configuration.md", settings),
    "server traits": ("how-to/configuration.md", lambda: traits(ClawApp, "ClawApp")),
    "providers": ("how-to/providers.md", providers),
    "offline commands": ("how-to/providers.md", offline_commands),
    "events": ("reference/events.md", event_types),
    "tools": ("reference/tools.md", tools),
    "views": ("reference/store.md", views),
    "routes": ("reference/rest.md", routes),
}


def renewed(name: str) -> tuple[Path, str]:
    """The page that holds a part, and its text with the part written anew."""
    page, make = PARTS[name]
    path = DOCS / page
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
    part = f"{begin}\n\n{make()}\n\n{end}"
    text, count = re.subn(pattern, lambda _: part, path.read_text(encoding="utf-8"), flags=re.S)
    if count != 1:
        raise SystemExit(f"{path} needs one {begin} and one {end}")
    return path, text


if __name__ == "__main__":
    for name in PARTS:
        path, text = renewed(name)
        path.write_text(text, encoding="utf-8")
