"""What the disk says of a path: what its globs take in, where links lead, what a folder holds."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase

_MOST_MATCHES = 2_000
_MOST_WALKED = 20_000
GLOB = re.compile(r"[*?\[]")


def expanded(path: str) -> list[str] | None:
    """The path itself and all that its globs may take in; None when that is too much.

    It errs on the side of more: a bracket counts as a star, and quoted globs count as globs.
    """
    if not GLOB.search(path):
        return [path]
    found = [""]
    for part in path.split("/"):
        if part and GLOB.search(part):
            found = [f"{folder}/{name}" for folder in found for name in _fitting(folder, part)]
        elif part:
            found = [f"{folder}/{part}" for folder in found]
        if len(found) > _MOST_MATCHES:
            return None
    return [path, *found]


def _fitting(folder: str, pattern: str) -> Iterator[str]:
    loose = re.sub(r"\[.*\]", "*", pattern)
    try:
        names = os.listdir(folder or "/")  # noqa: PTH208 - names, spelled as they are
    except (OSError, ValueError):
        return
    for name in (".", "..", *names) if pattern.startswith(".") else names:
        if name.startswith(".") <= pattern.startswith(".") and fnmatchcase(name, loose):
            yield name


def real(path: str) -> str:
    """Where a path leads; ``link/..`` is the folder above the link's target, as for programs."""
    return path if "\0" in path else os.path.realpath(path)


def has_other_names(path: str) -> bool:
    """Whether a file has hard links, which may lie anywhere."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def walked(folder: str) -> Iterator[os.DirEntry[str] | None]:
    """All that lies in a folder; None stands for what can't be looked at, or is too much."""
    todo, seen = [folder], 0
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > _MOST_WALKED:
                        yield None
                        return
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except OSError:
            yield None
