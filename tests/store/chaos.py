"""The processes of the kill test: ``python chaos.py writer|compactor HOME NAME [POINT]``."""

import os
import signal
import sys
import time
from pathlib import Path

from claw_nb.core.clock import new_id, now
from claw_nb.core.records import LogRow
from claw_nb.store import Store


def write(store: Store, name: str) -> None:
    """Append until killed; a row's number is written to the acknowledgements once it is durable."""
    acks = os.open(store.home / f"{name}.acks", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    number = 0
    while True:
        text = "x" * (number % 300)
        row = LogRow(id=new_id(), ts=now(), kind="note", name=f"{name}-{number}", text=text)
        store.append([row])
        os.write(acks, f"{name}-{number}\n".encode())
        number += 1
        time.sleep(0.0005)


def compact(store: Store, point: str) -> None:
    """Compact until the point is reached, and die there as if killed from outside."""

    def crash(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    while True:
        store.compact(force=True, crash=crash)
        time.sleep(0.01)


if __name__ == "__main__":
    role, home, name = sys.argv[1:4]
    opened = Store.open(Path(home))
    if role == "writer":
        write(opened, name)
    else:
        compact(opened, name)
