"""May this shell command run: never, only after a yes to exactly it, after any yes, or unasked.

The command is read as the shell would (``shell_syntax``), wrappers are taken off, scripts inside
scripts are followed (``bash -c``, ``eval``, ``... | sh``, here-documents, ``find -exec``), and each
program is judged by its rule (``shell_rules``). It guards against mistakes and against tricks in
what the model has read; the boundary of a hostile program is a container, not a reader of text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from claw_nb.core.invisible import invisible
from claw_nb.core.tools import Review
from claw_nb.tools import shell_reading, shell_rules, shell_scripts
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.shell_calls import Call, Finding, deny, risky
from claw_nb.tools.shell_commands import Command, Function, Script
from claw_nb.tools.shell_paths import Places
from claw_nb.tools.shell_syntax import parse
from claw_nb.tools.shell_wrappers import unwrapped

_LONGEST = 20_000
_DEEPEST = 6
_MENTIONED = frozenset(
    {"echo", "printf", "git", "test", "[", "[[", "ls", "stat", "find", "basename"}
)
"""Programs that name a secret file without reading it."""

_TAKES_FOLDERS = frozenset(
    {"cp", "mv", "tar", "zip", "rsync", "scp", "7z", "grep", "egrep", "rg", "ag", "chmod", "chown"}
)
_LOADERS = re.compile(
    r"(?:LD_\w+|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PYTHONSTARTUP|PERL5OPT|RUBYOPT|NODE_OPTIONS"
    r"|GIT_(?:SSH\w*|EXTERNAL_DIFF|PAGER|EDITOR|CONFIG\w*|EXEC_PATH|ASKPASS))"
)
_BARE = re.compile(
    r"(?:^|[\s;&|(`])rm\s+(?:-\S+\s+)*-\w*r\w*\s+(?:-\S+\s+)*[\"']?(?:/|~|\$HOME)[\"'*]*(?:$|[\s;&|)`])"
)


def review(command: str, *, boundary: Boundary | None = None) -> Review:
    """What the policy says of a command that starts in the boundary's root."""
    findings = list(_text(command, Places.of(boundary), 0))
    for level in ("deny", "risky"):
        for finding in findings:
            if finding.level == level:
                return Review(
                    verdict="deny" if level == "deny" else "ask",
                    reason=finding.reason,
                    preview=command,
                    risky=level == "risky",
                )
    places = Places.of(boundary)
    if shell_reading.only_reads(parse(command, environment=places.variables), places):
        return Review(verdict="allow", reason="It only reads in the workspace.", preview=command)
    return Review(verdict="ask", reason="It runs a program.", preview=command)


def _text(text: str, places: Places, depth: int) -> Iterator[Finding]:
    if depth > _DEEPEST or len(text) > _LONGEST:
        yield risky("It is too long or too deeply nested to be read with certainty.")
        return
    if invisible(text) or "\r" in text:
        yield risky("It holds characters that can't be seen.")
    script = parse(text, environment=places.variables)
    if not script.clear:
        yield risky("It isn't clear how the shell would read it.")
        if _BARE.search(text):
            yield deny("It deletes the whole system or a home.")
    yield from _script(script, places, depth)


def _script(script: Script, places: Places, depth: int) -> Iterator[Finding]:
    for function in script.functions:
        yield from _bomb(function)
    files: dict[str, str] = {}
    for command in script.commands:
        for text in shell_scripts.run_from_files(command, files):
            yield from _text(text, places, depth + 1)
        files |= shell_scripts.written_files(command)
        yield from _command(command, places, depth)
        moved = _moved(command)
        if moved is not None:
            places = replace(places, where=places.path(moved))


def _bomb(function: Function) -> Iterator[Finding]:
    if function.branches and function.name in function.calls:
        yield deny("It is a fork bomb: a function that starts itself again and again.")


def _moved(command: Command) -> str | None:
    if command.name not in ("cd", "pushd"):
        return None
    operands = [word.text for word in command.words[1:] if not word.text.startswith("-")]
    return operands[0] if operands else "~"


def _command(command: Command, places: Places, depth: int) -> Iterator[Finding]:
    yield from _redirects(command, places)
    for name, _ in command.assigned:
        if _LOADERS.fullmatch(name):
            yield risky(f"{name} makes other programs run something.")
    if not command.words:
        return
    calls = list(unwrapped(command, places))
    for call in calls:
        yield from _call(call, depth)
    if not calls:
        yield risky("Which program it runs is only known when it runs.")


def _call(call: Call, depth: int) -> Iterator[Finding]:
    first = call.command.words[0]
    if not call.name and (first.dynamic or not first.unset):
        yield risky("Which program it runs is only known when it runs.")
    yield from shell_rules.found(call)
    yield from _paths(call)
    yield from shell_scripts.dangers(call)
    for script in shell_scripts.inner(call):
        yield from _text(script, call.places, depth + 1)


def _redirects(command: Command, places: Places) -> Iterator[Finding]:
    call = Call(name="", args=(), command=command, places=places)
    for redirect in command.redirects:
        text = redirect.target.text
        if redirect.operator in ("<<", "<<<") or re.fullmatch(r"[0-9]*-?", text):
            continue
        if places.is_forbidden(text):
            yield _forbidden(text)
        if redirect.operator != "<":
            yield from shell_rules.written(call, [text])
        elif places.is_secret(text) or places.is_network(text):
            yield risky(f"It reads {text}.")


def _paths(call: Call) -> Iterator[Finding]:
    if call.name in ("echo", "printf"):
        return
    for word in call.args:
        for text in _path_forms(word.text):
            if call.places.is_forbidden(text):
                yield _forbidden(text)
            if call.name not in _MENTIONED and call.places.is_secret(text):
                yield risky(f"{text} may hold secrets.")
            if call.name in _TAKES_FOLDERS and call.places.holds_forbidden(text):
                yield risky(f"The agent's own home lies in {text}.")


def _path_forms(text: str) -> Iterator[str]:
    """The paths that an argument may name: itself, after ``=``, ``@`` or ``:``, after an option."""
    yield text
    for mark in ("=", "@", ":"):
        if mark in text:
            yield text.split(mark, 1)[1]
    if match := re.match(r"-[A-Za-z]([~/.].*)", text):
        yield match[1]
    yield from re.findall(r"[\"']([^\"'\s]*/[^\"'\s]*)[\"']", text)


def _forbidden(text: str) -> Finding:
    return deny(f"{text} belongs to the agent's own home, which its tools may not touch.")
