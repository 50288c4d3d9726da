"""Skills: folders with a SKILL.md that says how something is done, found but not yet read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from claw_nb.core.atomic import write_whole
from claw_nb.core.errors import Conflict, InvalidInput, ToolError
from claw_nb.core.plain_file import beginning
from claw_nb.core.tools import Review, Tool, ToolOutput
from claw_nb.core.untrusted import visible
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.files import file_tools

Scope = Literal["workspace", "agent", "shared"]

_FILE = "SKILL.md"
_MOST_READ = 256_000
_MOST_FRONT = 16_000
_DEEPEST = 20
_MOST_SKILLS = 200
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1_024
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:[ \t]*(.*)$")


@dataclass(frozen=True, kw_only=True)
class Skill:
    """One skill. ``location`` is how read_file names its SKILL.md; ``folder`` where it really is.

    Its SKILL.md may be a link to a file ``within`` that folder, but to none outside of it.
    """

    name: str
    description: str
    location: str
    folder: Path
    scope: Scope
    within: Path

    @property
    def text(self) -> str:
        """The whole SKILL.md."""
        return _read(self.folder / _FILE, within=self.within) or ""


def discover(*, workspace: Path, agent: Path, shared: Path | None = None) -> tuple[Skill, ...]:
    """The skills in these folders, by name; where names are the same, the first folder counts.

    What can't be read is passed over. A workspace can't bring a skill from outside of itself.
    """
    found: dict[str, Skill] = {}
    places: list[tuple[Scope, Path]] = [("workspace", workspace / "skills"), ("agent", agent)]
    if shared is not None:
        places.append(("shared", shared))
    for scope, folder in places:
        for path in _folders(folder):
            real = Path(os.path.realpath(path))
            if scope == "workspace":
                top = Path(os.path.realpath(workspace))
                if not real.is_relative_to(top):
                    continue
                location = (Path("skills") / path.name / _FILE).as_posix()
            else:
                top = real
                location = str(real / _FILE)
            skill = _skill(path.name, real, scope, location, within=top)
            if skill is not None:
                found.setdefault(skill.name, skill)
    return tuple(found[name] for name in sorted(found))


def reading(read_file: Tool, skills: Iterable[Skill]) -> Tool:
    """``read_file`` that also reads in the folders of skills outside of the workspace.

    Each of them is a boundary of its own; nothing there can be written.
    """
    readers = {
        boundary: file_tools(boundary)[0]
        for boundary in (Boundary(s.folder) for s in skills if s.scope != "workspace")
    }
    if not readers:
        return read_file

    def chosen(path: str) -> Tool:
        if path.startswith(("/", "~", "\\")) or Path(path).is_absolute():
            for boundary, tool in readers.items():
                try:
                    boundary.resolve(path)
                except ToolError:
                    continue
                return tool
        return read_file

    def review(arguments: Mapping[str, Any]) -> Review:
        tool = chosen(str(arguments.get("path", "")))
        return tool.review(arguments) if tool.review else Review(verdict="allow")

    async def run(**arguments: Any) -> str | ToolOutput:
        return await chosen(str(arguments.get("path", ""))).run(**arguments)

    return replace(read_file, run=run, review=review)


def write_skill(folder: Path, *, name: str, description: str, body: str) -> Path:
    """Make a new skill in ``folder`` and return its SKILL.md; strict, unlike reading.

    Raises InvalidInput when the name or the description are not what every agent reads, and
    Conflict when there is one already.
    """
    description = " ".join(description.split())
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise InvalidInput(
            f"{name!r} can't be the name of a skill",
            hint=f"Use small letters, digits and single hyphens, {_LONGEST_NAME} at most.",
        )
    if not description or len(description) > _LONGEST_DESCRIPTION or "<" in description:
        raise InvalidInput(
            f"a description has 1 to {_LONGEST_DESCRIPTION} characters and no <",
            hint="Say what the skill does and when it is to be used.",
        )
    if visible(description + body) != description + body:
        raise InvalidInput("a skill can't hold characters that nobody sees", hint="Remove them.")
    path = folder / name / _FILE
    if path.exists():
        raise Conflict(f"there is a skill {name} already", hint=f"Edit {path}.")
    front = yaml.safe_dump(
        {"name": name, "description": description}, allow_unicode=True, sort_keys=False, width=4_096
    )
    write_whole(path, f"---\n{front}---\n\n{body.strip()}\n")
    return path


def _folders(folder: Path) -> Sequence[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return ()
    # A folder's name is told to the model as it is.
    told = [path for path in inside if path.name.isprintable() and not path.name.startswith(".")]
    return told[:_MOST_SKILLS]


def _skill(name: str, folder: Path, scope: Scope, location: str, *, within: Path) -> Skill | None:
    text = _read(folder / _FILE, within=within)
    if text is None:
        return None
    fields, body = front_matter(text)
    said = " ".join(str(fields.get("description") or _first_words(body)).split())
    called = " ".join(str(fields.get("name") or "").split()) or name
    return Skill(
        name=visible(called)[:_LONGEST_NAME],
        description=visible(said)[:_LONGEST_DESCRIPTION],
        location=location,
        folder=folder,
        scope=scope,
        within=within,
    )


def _read(path: Path, *, within: Path) -> str | None:
    found = beginning(path, _MOST_READ, within=within)
    return None if found is None else found.decode("utf-8-sig", "replace").replace("\r\n", "\n")


class _Plain(yaml.BaseLoader):
    """YAML of strings, little nested and without aliases: a few lines of them fill all memory."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent) or self._depth == _DEEPEST:
            raise yaml.YAMLError("that is more than front matter needs")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """The fields of a SKILL.md and what stands below them.

    People write ``description: Use when: …`` without quotes, which is no YAML; then each line
    is taken for a field.
    """
    match = _FRONT.match(text)
    if match is None:
        return {}, text
    body = text[match.end() :]
    try:
        fields = yaml.load(match[1][:_MOST_FRONT], _Plain)  # noqa: S506 - it makes strings alone
    except yaml.YAMLError:
        fields = _by_lines(match[1])
    return (fields if isinstance(fields, Mapping) else {}), body


def _by_lines(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        if match := _FIELD.match(line):
            last = match[1]
            fields[last] = match[2].strip().strip("\"'").removeprefix(">").removeprefix("|").strip()
        elif last and line[:1].isspace():
            fields[last] = f"{fields[last]} {line.strip()}".strip()
    return fields


def _first_words(body: str) -> str:
    lines = (line.strip().lstrip("#").strip() for line in body.splitlines())
    return next((line for line in lines if line), "(no description)")
