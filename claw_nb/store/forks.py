"""Fork safety: SQLite connections are closed before a fork, so that none is in two processes.

SQLite keeps its file locks per process and remembers them per file, so a child that inherits an
open connection believes that it holds locks which it does not hold.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_PATIENCE = 20.0
"""Seconds that a fork waits for running transactions; longer than SQLite waits for a lock."""

_PAUSE = 0.0005


class Connections(Protocol):
    """Something with connections to close."""

    def close_connections(self) -> None:
        """Close them; they reopen at their next use."""
        ...


_watched: weakref.WeakSet[Connections] = weakref.WeakSet()
_inside: dict[int, int] = {}
"""Threads that use a connection now, and how deep."""
_forking = threading.Event()


def watch(connections: Connections) -> None:
    """Close these before every fork from now on."""
    _watched.add(connections)


def enter() -> None:
    """From here to ``leave`` no other thread's fork happens."""
    me = threading.get_ident()
    depth = _inside.get(me, 0)
    # First say so and then look, as a fork first says so and then looks: one of us sees the other.
    # No lock, for this is on the way of every transaction.
    _inside[me] = depth + 1
    while _forking.is_set() and not depth:
        del _inside[me]
        time.sleep(_PAUSE)
        _inside[me] = 1


def leave() -> None:
    """The end of what ``enter`` began."""
    me = threading.get_ident()
    if _inside[me] > 1:
        _inside[me] -= 1
    else:
        del _inside[me]


@contextmanager
def no_fork() -> Iterator[None]:
    """No fork of another thread happens in here."""
    enter()
    try:
        yield
    finally:
        leave()


def _before() -> None:
    me, deadline = threading.get_ident(), time.monotonic() + _PATIENCE
    _forking.set()
    while _inside.keys() - {me} and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    for connections in list(_watched):
        connections.close_connections()


def _in_child() -> None:
    # The other threads are gone, whatever they were at.
    for thread in _inside.keys() - {threading.get_ident()}:
        del _inside[thread]
    _forking.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_forking.clear, after_in_child=_in_child)
