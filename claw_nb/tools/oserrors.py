"""What the operating system says about a file, as the model is told it."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from claw_nb.core.errors import ToolError
from claw_nb.tools.boundary import Boundary

_MOST_NAMES = 30


@contextmanager
def told(boundary: Boundary, real: Path) -> Iterator[None]:
    """Turn an OSError about ``real`` into a ToolError with what to do next."""
    try:
        yield
    except OSError as error:
        raise _told(boundary, real, error) from error


def _told(boundary: Boundary, real: Path, error: OSError) -> ToolError:
    shown = boundary.shown(real)
    if isinstance(error, FileNotFoundError):
        return ToolError(f"{shown} does not exist", kind="not_found", hints=_near(boundary, real))
    if isinstance(error, IsADirectoryError):
        return ToolError(
            f"{shown} is a folder, not a file",
            kind="validation",
            hints=(f"It holds: {_names(real)}.",),
        )
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return ToolError(
            f"{shown} can't be opened: a part of the path is a symlink or a file, not a folder",
            kind="policy" if error.errno == errno.ELOOP else "not_found",
            hints=("Look at the folder again; its links may have changed.",),
        )
    if isinstance(error, PermissionError):
        return ToolError(
            f"{shown} may not be opened: {error.strerror or error}",
            kind="policy",
            hints=("Ask the user to change its permissions, or choose another file.",),
        )
    if error.errno == errno.ENAMETOOLONG:
        return ToolError(f"{shown[:100]}... is too long a name", kind="validation")
    if error.errno == errno.ENOSPC:
        return ToolError(
            f"{shown} was not written: the disk is full",
            hints=("Nothing was changed. Tell the user.",),
        )
    return ToolError(f"{shown}: {error.strerror or error}", kind="system")


def _near(boundary: Boundary, real: Path) -> tuple[str, ...]:
    parent = real.parent
    while parent != boundary.root and not parent.is_dir():
        parent = parent.parent
    wanted = real.relative_to(parent).parts[0]
    names: list[str] = []
    with suppress(OSError):
        names = sorted(path.name for path in parent.iterdir())
    close = difflib.get_close_matches(wanted, names, n=3)
    where = boundary.shown(parent)
    if close:
        return (f"In {where} there is: {', '.join(close)}.",)
    return (f"The folder {where} holds: {_names(parent)}.", "Check the path and its spelling.")


def _names(folder: Path) -> str:
    try:
        names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    except OSError as error:
        return f"nothing that can be read ({error.strerror})"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "nothing") + more
