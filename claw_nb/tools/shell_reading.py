"""Commands that only read, and only in the workspace: they run unasked.

Everything here is a list of what is known to be harmless. A program, an option or a path that
isn't in it is asked about.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from claw_nb.tools import shell_disk
from claw_nb.tools.shell_commands import Command, Script
from claw_nb.tools.shell_options import READERS, Reader
from claw_nb.tools.shell_paths import Places

_MOST_FOLDERS = 8
_UNWANTED = {
    "jq": re.compile(r"env|import|include|modulemeta", re.IGNORECASE),
    "strings": re.compile(r"^@"),
    "date": re.compile(r"^[0-9.]{8,}$"),
}
"""``jq`` can show the environment, ``strings`` read options from a file, ``date`` set the clock."""


def only_reads(script: Script, places: Places) -> bool:
    """Whether each command is known to read only, with paths in the workspace."""
    if not (script.plain and script.commands):
        return False
    views: Sequence[Places] = (places,)
    for command in script.commands:
        if not views or not all(_Reading(places=view).allows(command) for view in views):
            return False
        if command.name == "cd":
            views = _moved(command, views)
    return bool(views)


def _moved(command: Command, views: Sequence[Places]) -> Sequence[Places]:
    """Where later commands may run: ``cd`` may fail, or hold for its part of a pipe only.

    Nothing comes back when that isn't certain.
    """
    if len(command.words) != 2 or command.words[1].text == "-":
        return ()
    found = list(views)
    for view in views:
        target = view.spelled(command.words[1].text)
        straight = os.path.normpath(target)
        if shell_disk.GLOB.search(target) or straight != shell_disk.real(target):
            return ()
        found.append(replace(view, where=straight))
    return found if len(found) <= _MOST_FOLDERS else ()


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """Judges commands that run in one folder."""

    places: Places

    def allows(self, command: Command) -> bool:
        """Whether a command only reads."""
        if not command.words or command.assigned:
            return False
        if any(word.dynamic or word.unset for word in command.words):
            return False
        name, texts = command.words[0].text, [word.text for word in command.words[1:]]
        reader = READERS.get(name)
        if reader is None or self._is_shadowed(name) or not self._inputs(command):
            return False
        if name in ("echo", "printf"):
            starts_option = texts[:1] != [] and name == "printf" and texts[0].startswith("-")
            globs = [text for text in texts if shell_disk.GLOB.search(text)]
            return not starts_option and all(self._is_inside(text) for text in globs)
        if not self._options(reader, texts):
            return False
        unwanted = _UNWANTED.get(name)
        if unwanted and any(unwanted.search(text) for text in texts):
            return False
        return self._paths(reader, name, texts)

    def _inputs(self, command: Command) -> bool:
        for redirect in command.redirects:
            target, operator = redirect.target, redirect.operator
            if target.dynamic or target.unset:
                return False
            silent = target.text == "/dev/null"
            stream = operator in (">&", "<&") and re.fullmatch(r"[0-9]", target.text)
            if not (silent or stream or (operator == "<" and self._is_inside(target.text))):
                return False
        return True

    def _options(self, reader: Reader, texts: Sequence[str]) -> bool:
        return all(
            reader.options.fullmatch(text)
            for text in texts
            if text.startswith("-") and text not in ("-", "--")
        )

    def _paths(self, reader: Reader, name: str, texts: Sequence[str]) -> bool:
        forms = [form for text in texts for form in _forms(text)]
        if not all(self._is_inside(form, names_only=reader.names_only) for form in forms):
            return False
        if reader.recursive and (reader.recursive == "always" or _is_recursive(texts)):
            tops = list(reader.tops(texts)) or ["."]
            return "--" not in texts and all(self._is_clean(top) for top in tops)
        folders = [text for text in texts if not reader.names_only and self._holds_folder(text)]
        return all(self._is_clean(text) for text in folders)

    def _is_shadowed(self, name: str) -> bool:
        """Whether the search path would find the program in the workspace."""
        for folder in os.environ.get("PATH", "").split(":"):
            found = Path(shell_disk.real(os.path.join(self.places.root, folder)), name)  # noqa: PTH118
            if self.places.lies_inside(str(found)) and found.exists():
                return True
        return False

    def _is_inside(self, text: str, *, names_only: bool = False) -> bool:
        """Whether every path that a word may become leads to something harmless in the workspace."""
        if text == "/dev/null":
            return True
        found = shell_disk.expanded(self.places.spelled(text))
        return found is not None and all(
            self._is_harmless(path, names_only=names_only) for path in found
        )

    def _is_harmless(self, path: str, *, names_only: bool) -> bool:
        places, target = self.places, shell_disk.real(path)
        if not places.lies_inside(target) or places.is_forbidden(target):
            return False
        secret = places.is_secret(path) or shell_disk.has_other_names(target)
        return names_only or not secret

    def _holds_folder(self, text: str) -> bool:
        found = shell_disk.expanded(self.places.spelled(text)) or ()
        return any(Path(path).is_dir() for path in found if "\0" not in path)

    def _is_clean(self, text: str) -> bool:
        """Whether nothing in a folder is secret, has names elsewhere, or leads out."""
        for path in shell_disk.expanded(self.places.spelled(text)) or ():
            if self.places.holds_forbidden(shell_disk.real(path)):
                return False
            for entry in shell_disk.walked(path) if Path(path).is_dir() else ():
                if entry is None or self.places.is_secret(entry.path):
                    return False
                if entry.is_symlink() and not self._is_harmless(entry.path, names_only=False):
                    return False
                if shell_disk.has_other_names(entry.path):
                    return False
        return True


def _is_recursive(texts: Sequence[str]) -> bool:
    return any(re.fullmatch(r"-\w*r.*|--recursive", text) for text in texts)


def _forms(text: str) -> Iterator[str]:
    """A word as a path, and what stands in it behind an option."""
    yield text
    if match := re.match(r"--[\w-]+=(.*)", text, re.DOTALL):
        yield match[1]
    if match := re.match(r"-[A-Za-z]+([/.~].*)", text, re.DOTALL):
        yield match[1]
