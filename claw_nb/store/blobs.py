"""Payloads too big for a row: files named by the hash of their content, written once."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from claw_nb.core.clock import NewId
from claw_nb.core.errors import NotFound, StoreError
from claw_nb.store.disk import sync_folder, write_synced
from claw_nb.store.trouble import explain_disk


class Blobs:
    """``blobs/ab/cdef….json``."""

    def __init__(self, folder: Path, *, new_id: NewId) -> None:
        self.folder = folder
        self._new_id = new_id

    def path(self, digest: str) -> Path:
        """Where the content with this SHA-256 (hex) is."""
        return self.folder / digest[:2] / f"{digest[2:]}.json"

    def save(self, content: str) -> str:
        """Keep the text, on the disk when this returns, and return its digest."""
        encoded = content.encode()
        digest = hashlib.sha256(encoded).hexdigest()
        path = self.path(digest)
        with explain_disk(path):
            try:
                # Used again: a sweep spares what is young, for its row is not committed yet.
                os.utime(path)
                return digest
            except FileNotFoundError:
                pass
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f".{self._new_id()}")
            try:
                write_synced(fresh, encoded)
                os.replace(fresh, path)  # noqa: PTH105
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
            sync_folder(path.parent)
        return digest

    def find(self, beginning: str) -> str:
        """The digest that begins so; NotFound when there is none."""
        if re.fullmatch(r"[0-9a-f]{16,64}", beginning):
            for path in (self.folder / beginning[:2]).glob(f"{beginning[2:]}*.json"):
                return beginning[:2] + path.stem
        raise NotFound(
            f"There is nothing kept as {beginning[:70]!r}.",
            hint="Give the handle exactly as the result named it.",
        )

    def load(self, digest: str) -> str:
        """The text with this digest; NotFound when it is gone, StoreError when it was changed."""
        path = self.path(digest)
        with explain_disk(path):
            try:
                encoded = path.read_bytes()
            except FileNotFoundError as error:
                raise NotFound(
                    f"The payload {digest[:12]} is missing from {self.folder}.",
                    hint="Put the folder back from a backup.",
                ) from error
        if hashlib.sha256(encoded).hexdigest() != digest:
            raise StoreError(
                f"{path} is damaged: its content does not match its name.",
                hint="Put it back from a backup.",
            )
        return encoded.decode()
