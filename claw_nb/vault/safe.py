"""Secrets at rest: one file of names, each value sealed with AES-256-GCM."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claw_nb.core.atomic import write_whole
from claw_nb.core.errors import ConfigError, InvalidInput, NotFound, StoreError
from claw_nb.core.locks import FileLock

SCHEME = "claw://"
KEY_VARIABLE = "CLAW_VAULT_KEY"
"""Holds the key (32 bytes in base64) where it should not lie beside the vault."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_VERSION = 1


class Vault:
    """The vault of a data home: ``vault`` holds the sealed secrets, ``vault.key`` the key.

    A name and the key's id are sealed in with each secret, so that no entry can be put in
    another's place. Both files can only be read by their owner.
    """

    def __init__(self, home: Path, *, env: Mapping[str, str] = os.environ) -> None:
        self._file = home / "vault"
        self._key_file = home / "vault.key"
        self._lock = home / "vault.lock"
        self._env = env

    def names(self) -> dict[str, str]:
        """When each secret was kept (RFC 3339), by name."""
        return {name: entry["kept"] for name, entry in sorted(self._entries().items())}

    def keep(self, name: str, secret: str) -> None:
        """Keep a secret under a name, in place of an older one. Raises InvalidInput, StoreError."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{name!r} is no name for a secret",
                hint="Use up to 100 letters, digits and . _ / -, such as github/token.",
            )
        if not secret:
            raise InvalidInput("the secret is empty", hint="Type it when you are asked for it.")
        with FileLock(self._lock):
            entries = self._entries()
            key = self._key() or self._new_key(entries)
            nonce = os.urandom(12)
            sealed = AESGCM(key).encrypt(nonce, secret.encode(), _bound(name, key))
            entries[name] = {
                "key": _id(key),
                "nonce": base64.b64encode(nonce).decode(),
                "sealed": base64.b64encode(sealed).decode(),
                "kept": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            self._write(entries)

    def open(self, name: str) -> str:
        """The secret of that name. Raises NotFound, or ConfigError when the key does not fit."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        entry = self._entries().get(name)
        if entry is None:
            raise NotFound(
                f"the vault holds nothing named {name}", hint=f"Keep it: `claw vault set {name}`."
            )
        key = self._key()
        if key is None or _id(key) != entry["key"]:
            raise ConfigError(
                f"the key that {name} was sealed with is not here",
                hint=f"Bring back {self._key_file} or {KEY_VARIABLE}, or set the secret again.",
            )
        try:
            nonce, sealed = (base64.b64decode(entry[part]) for part in ("nonce", "sealed"))
            return AESGCM(key).decrypt(nonce, sealed, _bound(name, key)).decode()
        except (InvalidTag, ValueError):
            raise ConfigError(
                f"the vault's entry {name} was damaged or moved",
                hint=f"Set it again: `claw vault set {name}`.",
            ) from None

    def drop(self, name: str) -> None:
        """Forget a secret. Raises NotFound."""
        with FileLock(self._lock):
            entries = self._entries()
            if entries.pop(name, None) is None:
                raise NotFound(
                    f"the vault holds nothing named {name}", hint="`claw vault list` shows names."
                )
            self._write(entries)

    def _entries(self) -> dict[str, dict[str, Any]]:
        try:
            held = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(
                f"{self._file} cannot be read: {type(error).__name__}",
                hint="Bring it back from a copy, or remove it and set the secrets again.",
            ) from None
        fields = {"key", "nonce", "sealed", "kept"}
        secrets = held.get("secrets") if isinstance(held, dict) else None
        if (
            not isinstance(secrets, dict)
            or held.get("version") != _VERSION
            or not all(
                isinstance(each, dict) and fields <= each.keys() for each in secrets.values()
            )
        ):
            raise StoreError(
                f"{self._file} is not a vault that this release can read",
                hint="Use the release that wrote it, or remove it and set the secrets again.",
            )
        return dict(secrets)

    def _write(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        write_whole(self._file, json.dumps({"version": _VERSION, "secrets": entries}, indent=2))

    def _key(self) -> bytes | None:
        given = self._env.get(KEY_VARIABLE)
        where = KEY_VARIABLE if given else str(self._key_file)
        try:
            key = base64.b64decode(given or self._key_file.read_bytes(), validate=True)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            key = b""
        if len(key) != 32:
            raise ConfigError(
                f"{where} does not hold the vault's key", hint="It is 32 bytes in base64."
            )
        return key

    def _new_key(self, entries: Mapping[str, object]) -> bytes:
        if entries:
            raise ConfigError(
                f"the vault's key {self._key_file} is gone",
                hint=f"Bring it back, or remove {self._file} and set the secrets again.",
            )
        key = os.urandom(32)
        write_whole(self._key_file, base64.b64encode(key).decode())
        return key


def _id(key: bytes) -> str:
    return hashlib.sha256(b"claw_nb vault key id" + key).hexdigest()[:16]


def _bound(name: str, key: bytes) -> bytes:
    return f"claw_nb vault {_VERSION} {_id(key)} {name}".encode()
