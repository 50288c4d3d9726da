"""What both sides are measured by: CPU of the process, and the most memory that it held."""

import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable

TURNS = 30
ROUNDS = 7
CALLS = 9
"""Tool calls of one turn, beside turns with a single one: the difference is the cost of eight."""


def begin() -> Callable[[], float]:
    """Start counting; the result says the milliseconds of CPU since."""
    begun = time.process_time()
    return lambda: (time.process_time() - begun) * 1000


async def measured(run: Callable[[int], Awaitable[None]]) -> float:
    """Milliseconds of CPU a turn, the least of several rounds after one to warm up."""
    await run(TURNS)
    found = []
    for _ in range(ROUNDS):
        took = begin()
        await run(TURNS)
        found.append(took() / TURNS)
    return min(found)


def report(imported: float, one: float, many: float) -> None:
    """Print what was measured as JSON."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes, but bytes on macOS.
    megabytes = most / (2**20 if sys.platform == "darwin" else 2**10)
    call = (many - one) / (CALLS - 1)
    print(json.dumps({"import": imported, "turn": one, "call": call, "memory": megabytes}))
