"""Work that a blocked cell waits for."""

import asyncio
import threading

import pytest

from claw_nb.notebook.bridge import MainThread
from claw_nb.notebook.interrupt import Interrupts
from claw_nb.notebook.running import blocking


def test_work_that_cannot_be_shown_does_not_go_on_unseen():
    bridge, ended = MainThread(), threading.Event()

    async def work():
        bridge.post(lambda: 1 / 0)
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(ZeroDivisionError):
        blocking(work(), Interrupts(), bridge, lambda: None)
    assert ended.wait(10)
