"""Fork safety: SQLite connections are closed before a fork, so that none is in two processes.

SQLite keeps its file locks per process and remembers them per file, so a child that inherits an
open connection believes that it holds locks which it does not hold.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_PATIENCE = 20.0
"""Seconds that a fork waits for running transactions; longer than SQLite waits for a lock."""


class Connections(Protocol):
    """Something with connections to close."""

    def close_connections(self) -> None:
        """Close them; they reopen at their next use."""
        ...


class _Gate:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.changed = threading.Condition()
        self.inside: dict[int, int] = {}
        self.forking = False


_gate = _Gate()
_watched: weakref.WeakSet[Connections] = weakref.WeakSet()


def watch(connections: Connections) -> None:
    """Close these before every fork from now on."""
    _watched.add(connections)


@contextmanager
def no_fork() -> Iterator[None]:
    """No fork happens while another thread is in here."""
    gate, me = _gate, threading.get_ident()
    with gate.changed:
        if me not in gate.inside:
            gate.changed.wait_for(lambda: not gate.forking)
        gate.inside[me] = gate.inside.get(me, 0) + 1
    try:
        yield
    finally:
        with gate.changed:
            gate.inside[me] = gate.inside.get(me, 1) - 1
            if not gate.inside[me]:
                del gate.inside[me]
                gate.changed.notify_all()


def _before() -> None:
    me = threading.get_ident()
    with _gate.changed:
        _gate.forking = True
        _gate.changed.wait_for(lambda: not set(_gate.inside) - {me}, timeout=_PATIENCE)
    for connections in list(_watched):
        connections.close_connections()


def _in_parent() -> None:
    with _gate.changed:
        _gate.forking = False
        _gate.changed.notify_all()


def _in_child() -> None:
    # The other threads are gone, whatever they held.
    _gate.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
