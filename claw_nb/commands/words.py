"""Moments and texts as people read them in a table."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(micros: int | None) -> str:
    """A UTC microsecond count in local time, to the minute."""
    if not micros:
        return ""
    return datetime.fromtimestamp(micros / 1e6, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def iso(micros: int | None) -> str | None:
    """A UTC microsecond count as RFC 3339, for JSON."""
    return None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC).isoformat()


def clipped(text: str, width: int = 60) -> str:
    """One line of at most ``width`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
