import itertools

import pytest

from claw_nb.memory.memories import Memories

DAY = 86_400_000_000
NOW = 1_790_000_000_000_000


class Clock:
    """Stands still until it's told."""

    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now

    def forward(self, *, days):
        self.now += int(days * DAY)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def log():
    return []


@pytest.fixture
def remembering(tmp_path, clock, log):
    """Opens the memories of one home, again and again, with whichever settings."""
    numbers = itertools.count(1)

    def open_(**given):
        return Memories(
            tmp_path / "memory",
            tmp_path / "locks" / "memory.lock",
            **{
                "clock": clock,
                "new_id": lambda: f"{next(numbers):04d}",
                "log": log.append,
            }
            | given,
        )

    return open_


@pytest.fixture
def memories(remembering):
    return remembering()
