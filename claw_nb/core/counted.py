"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 row``, ``2 rows``, ``1,200 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
