"""What the code offers is in the docs, and what the docs show is in the code."""

import re
import shlex
from pathlib import Path

import click
import pytest

import claw_nb
from claw_nb.cli import claw
from claw_nb.notebook import question
from docs import generate

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(DOCS.rglob("*.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def code_spans(text: str) -> list[str]:
    """Inline code and the lines of fenced blocks."""
    blocks = re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S)
    rest = re.sub(r"^```.*?\n.*?^```", "", text, flags=re.M | re.S)
    return [line for block in blocks for line in block.splitlines()] + re.findall(
        r"`([^`\n]+)`", rest
    )


def shown_commands() -> list[tuple[str, str]]:
    return [
        (path.relative_to(ROOT).as_posix(), span.strip())
        for path in PAGES
        for span in code_spans(path.read_text(encoding="utf-8"))
        if re.match(r"\s*%?%?claw( [a-z]|$)", span) and "…" not in span.split()[:2]
    ]


MAGIC = {"ask": question.OPTIONS, "sql": question.SQL_OPTIONS, "new": (), "help": ()}
"""The words that only the magic has, with their options."""


def misspelt(span: str) -> list[str]:
    """What a shown command line names and the code doesn't know."""
    try:
        words = shlex.split(span.split("  #")[0].lstrip("%"), comments=True)
    except ValueError:  # a question in plain words
        words = span.lstrip("%").split()
    rest = words[1:]
    if span.startswith("%") and rest and rest[0] in MAGIC:
        known = MAGIC[rest[0]]
        return [
            word for word in rest[1:] if re.fullmatch(r"--[a-z][a-z-]*", word) and word not in known
        ]
    command: click.Command = claw
    while isinstance(command, click.Group) and rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
        child = command.commands.get(rest[0])
        if child is None:
            return [rest[0]]
        command, rest = child, rest[1:]
    if command.params and all(
        isinstance(p, click.Argument) and p.nargs == -1 for p in command.params
    ):
        return []
    known = {
        name for p in [*command.params, *claw.params] for name in (*p.opts, *p.secondary_opts)
    } | {"--help"}
    return [word for word in rest if re.fullmatch(r"--[a-z][a-z-]*", word) and word not in known]


@pytest.mark.parametrize(("where", "span"), shown_commands())
def test_a_shown_command_exists(where, span):
    assert misspelt(span) == [], f"{where} shows `{span}`"


def test_a_wrong_command_is_found():
    assert misspelt("claw taks list") == ["taks"]
    assert misspelt("claw task add x.ipynb --corn '* * * * *'") == ["--corn"]
    assert misspelt("claw task list") == []


def test_every_public_name_is_documented():
    own = [
        name
        for name, value in vars(claw_nb).items()
        if getattr(value, "__module__", "") == "claw_nb"
    ]
    spans = " ".join(code_spans(page("reference/python.md")))
    public = getattr(claw_nb, "__all__", own)
    assert "load_ipython_extension" in public
    assert [name for name in public if not re.search(rf"\b{name}\b", spans)] == []


@pytest.mark.parametrize("name", generate.PARTS)
def test_generated_parts_are_fresh(name):
    path, text = generate.renewed(name)
    assert path.read_text(encoding="utf-8") == text, "run: python docs/generate.py"
