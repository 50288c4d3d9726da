"""Opening files beneath a folder one name at a time, so that no symlink is ever followed.

A path is checked first and opened later; whoever swaps a folder for a symlink in between would
lead the tool elsewhere. So each name is opened relative to the folder before it, with O_NOFOLLOW,
as ``openat2`` with RESOLVE_BENEATH would. Where the system can't (Windows), paths are opened as
they are.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from claw_nb.core.errors import ToolError
from claw_nb.tools.boundary import Boundary

_BY_HANDLE = {os.open, os.stat, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def folder_of(boundary: Boundary, real: Path, *, create: bool = False) -> Iterator[int | None]:
    """A handle of the folder that holds ``real``; None where handles don't serve.

    Raises OSError; a symlink on the way is ELOOP or ENOTDIR.
    """
    if not _BY_HANDLE:
        if create:
            real.parent.mkdir(parents=True, exist_ok=True)
        yield None
        return
    forbidden = boundary.forbidden_identities()
    handle = os.open(boundary.root, _FOLDER)
    try:
        for name in real.relative_to(boundary.root).parts[:-1]:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=handle)
            inner = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
            found = os.fstat(handle)
            if (found.st_dev, found.st_ino) in forbidden:
                raise ToolError("that folder belongs to the agent's own home", kind="policy")
        yield handle
    finally:
        os.close(handle)


def read(boundary: Boundary, real: Path, *, most: int) -> tuple[bytes, os.stat_result]:
    """A regular file's bytes, at most ``most``, and what it is. Raises OSError and ToolError."""
    with folder_of(boundary, real) as folder:
        flags = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0)  # a pipe must not block us
        handle = os.open(_name(real, folder), flags, dir_fd=folder)
    with open(handle, "rb") as file:  # noqa: PTH123 - pathlib knows no handles
        found = os.fstat(handle)
        _check_kind(boundary, real, found)
        return file.read(most), found


def write(boundary: Boundary, real: Path, content: bytes) -> Path:
    """Put a whole file in its place at once, keeping its mode; folders on the way are made.

    Raises OSError and ToolError, and leaves the old file as it was.
    """
    with folder_of(boundary, real, create=True) as folder:
        old = _replaced(boundary, real, folder)
        mode = None if old is None else stat.S_IMODE(old.st_mode)
        draft = f".{real.name[:100]}.{secrets.token_hex(8)}.tmp"
        name = draft if folder is not None else str(real.with_name(draft))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
        handle = os.open(name, flags, 0o666 if mode is None else mode, dir_fd=folder)
        try:
            with open(handle, "wb") as file:  # noqa: PTH123 - pathlib knows no handles
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                if old is not None and folder is not None:
                    with suppress(PermissionError):  # only root gives files away
                        os.fchown(file.fileno(), old.st_uid, old.st_gid)
                    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            os.replace(name, _name(real, folder), src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise
    return real


def _name(real: Path, folder: int | None) -> str:
    return real.name if folder is not None else str(real)


def _replaced(boundary: Boundary, real: Path, folder: int | None) -> os.stat_result | None:
    """What the file is that will be replaced, or None when there is none."""
    try:
        found = os.stat(_name(real, folder), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check_kind(boundary, real, found)
    if not os.access(_name(real, folder), os.W_OK, dir_fd=folder):
        raise PermissionError(f"{boundary.shown(real)} is read-only")
    return found


def _check_kind(boundary: Boundary, real: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(boundary.shown(real))
    if stat.S_ISLNK(found.st_mode):
        raise ToolError(
            f"{boundary.shown(real)} has just become a symlink",
            kind="conflict",
            hints=("Look at the folder again.",),
        )
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{boundary.shown(real)} is not a regular file", kind="validation")
    if (found.st_dev, found.st_ino) in boundary.forbidden_identities():
        raise ToolError(f"{boundary.shown(real)} belongs to the agent's home", kind="policy")
    boundary.check_links(real, found)
