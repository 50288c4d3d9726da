"""What SQLite and the disk complain about, as a StoreError with the next step."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from claw_nb.core.errors import StoreError

_READ_ONLY = "Make it writable, or choose another home: `export CLAW_HOME=~/my-claw`."
_FULL = "Free some space; what was saved before is safe, and nothing needs repair."

_SQLITE = {
    sqlite3.SQLITE_BUSY: (
        "is locked by another process",
        "Try again; if it stays, look for a process that hangs with the data home open.",
    ),
    sqlite3.SQLITE_PROTOCOL: (
        "is locked by another process",
        "Try again; if it stays, look for a process that hangs with the data home open.",
    ),
    sqlite3.SQLITE_READONLY: ("cannot be written", _READ_ONLY),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened for writing", _READ_ONLY),
    sqlite3.SQLITE_PERM: ("cannot be written", _READ_ONLY),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", _FULL),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "Check the disk, its space and its quota."),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        "Keep a copy. `claw sessions import` rebuilds the conversations from sessions/*.jsonl.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not a database",
        "Another program wrote it. Move it away, or choose another home with CLAW_HOME.",
    ),
}
_DISK = {
    errno.EROFS: ("is on a read-only disk", _READ_ONLY),
    errno.EACCES: ("cannot be written by you", _READ_ONLY),
    errno.EPERM: ("cannot be written by you", _READ_ONLY),
    errno.ENOSPC: ("cannot grow: the disk is full", _FULL),
    errno.EDQUOT: ("cannot grow: your quota is used up", _FULL),
    errno.ENOTDIR: ("lies under something that is not a folder", _READ_ONLY),
    errno.EEXIST: ("is not a folder", _READ_ONLY),
}


def explained(error: sqlite3.Error, path: Path) -> Exception:
    """The environment's failure as a StoreError; a mistake in our SQL stays as it is."""
    code = getattr(error, "sqlite_errorcode", 0)
    known = _SQLITE.get(code & 0xFF)
    if known is None:
        return error
    what, hint = known
    return StoreError(f"{path} {what} ({error}).", hint=hint, path=str(path), code=code)


@contextmanager
def explain_sqlite(path: Path) -> Iterator[None]:
    """Raise what ``explained`` makes of an error."""
    try:
        yield
    except sqlite3.Error as error:
        better = explained(error, path)
        if better is error:
            raise
        raise better from error


@contextmanager
def explain_disk(path: Path) -> Iterator[None]:
    """Turn an OSError into a StoreError that says which file and what to do."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        what, hint = _DISK.get(
            error.errno or 0, (f"failed: {error.strerror or error}", "Check the disk.")
        )
        raise StoreError(
            f"{error.filename or path} {what}.", hint=hint, path=str(path), code=error.errno
        ) from error
