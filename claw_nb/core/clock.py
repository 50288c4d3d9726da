"""Time and ids as arguments: the real ones here, scripted ones in tests."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

Clock = Callable[[], int]
"""UTC microseconds since 1970."""

NewId = Callable[[], str]
"""A fresh unique id that sorts by time."""


def now() -> int:
    """UTC microseconds since 1970."""
    return time.time_ns() // 1000


_lock = threading.Lock()
_latest = [0]


def new_id() -> str:
    """A UUIDv7 (RFC 9562) in 32 hex digits, rising within a process."""
    with _lock:
        stamp = max(
            time.time_ns() // 1_000_000 << 12 | time.time_ns() % 1_000_000 >> 8, _latest[0] + 1
        )
        _latest[0] = stamp
    millis, sub = stamp >> 12, stamp & 0xFFF
    tail = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1) | (1 << 63)
    return f"{millis:012x}7{sub:03x}{tail:016x}"
