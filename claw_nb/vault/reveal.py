"""The secret behind a name: in the environment, the system's keyring, or the vault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from claw_nb.core.errors import ConfigError
from claw_nb.core.redact import add_secret
from claw_nb.vault.safe import SCHEME, Vault

KEYRING = "claw-nb"
"""The keyring's service under which a name without one is looked for."""


def reveal(value: str, *, home: Path, env: Mapping[str, str] = os.environ) -> str:
    """What ``env:NAME``, ``keyring:NAME``, ``keyring:SERVICE/NAME`` or ``claw://NAME`` stands for.

    ``claw://`` names are looked up in the vault of the data home. Any other text is the secret itself. It is masked from then on wherever something is written.
    Raises ConfigError or NotFound, which name the name and never the secret.
    """
    scheme, _, name = value.partition(":")
    match scheme:
        case "env":
            found = env.get(name, "")
            if not found:
                raise ConfigError(
                    f"the variable {name} is not set, and {value} asks for it",
                    hint=f"Set {name}, or give another name for the key.",
                )
        case "keyring":
            found = _in_keyring(name)
        case "claw" if value.startswith(SCHEME):
            found = Vault(home, env=env).open(value.removeprefix(SCHEME))
        case _:
            found = value
    add_secret(found)
    return found


def _in_keyring(name: str) -> str:
    service, slash, user = name.rpartition("/")
    if not slash:
        service, user = KEYRING, name
    store = f"`keyring set {service} {user}`"
    # It looks for the system's keyring when it is imported.
    try:
        import keyring  # noqa: PLC0415
        import keyring.errors  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ConfigError(
            f"keyring:{name} needs the package keyring, which is not installed",
            hint="Install it: pip install 'claw-nb[keyring]'. Or use a variable: env:NAME.",
        ) from None
    try:
        found = keyring.get_password(service, user)
    except keyring.errors.NoKeyringError:
        raise ConfigError(
            f"keyring:{name} cannot be looked up: this system has no keyring",
            hint="Use a variable instead: env:NAME.",
        ) from None
    except keyring.errors.KeyringError as error:
        raise ConfigError(
            f"keyring:{name} cannot be looked up: {type(error).__name__}",
            hint="Unlock the system's keyring and try again, or use a variable: env:NAME.",
        ) from None
    if not found:
        raise ConfigError(
            f"the system's keyring holds nothing named {user} for {service}",
            hint=f"Store it with {store}.",
        )
    return found
