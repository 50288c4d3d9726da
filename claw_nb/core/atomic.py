"""A small file is written whole, or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from claw_nb.core.errors import StoreError


def write_whole(path: Path, text: str) -> None:
    """Put a text in a file's place at once; its folder is made, and only its owner may read it.

    Whoever reads meanwhile sees the old text or the new one. Raises StoreError, and leaves the
    old file as it was.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a handle
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}",
            hint="Make its folder writable, or make room on the disk.",
        ) from error
