"""Writing so that it survives: whole, synced, and in the folder too."""

from __future__ import annotations

import os
from pathlib import Path


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file and wait until it is on the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Wait until a file that another library wrote is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk (a no-op where folders can't be opened)."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_lines(path: Path) -> int:
    """A handle to append lines with, to a file that others may be appending to.

    A line that a killed writer left torn is closed first, so that only that one is lost.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(handle).st_size
        if size:
            os.lseek(handle, size - 1, os.SEEK_SET)
            if os.read(handle, 1) != b"\n":
                os.write(handle, b"\n")
    except BaseException:
        os.close(handle)
        raise
    return handle


def write_line(handle: int, line: bytes) -> None:
    """Append one line, whole, or as much of it as the disk takes before it refuses."""
    rest = memoryview(line + b"\n")
    while rest:
        # A full disk shortens a write before it refuses one.
        rest = rest[os.write(handle, rest) :]
