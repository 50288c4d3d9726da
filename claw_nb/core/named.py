"""Secrets told by name: ``env:NAME``, ``keyring:NAME``, ``claw://NAME``."""

from __future__ import annotations

NAMED = ("env:", "keyring:", "claw://")


def is_named(value: str) -> bool:
    """Whether a setting holds the name of a secret rather than the secret."""
    return value.startswith(NAMED)
