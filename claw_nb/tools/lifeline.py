"""A shell that outlives the process which started it would run on unseen: it is ended."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

_WATCH = """read -r done && exit
marked=$(grep -lsz "^$2$" /proc/[0-9]*/environ)
kill -KILL -- "-$1"
for file in $marked; do file=${file#/proc/}; kill -KILL "${file%%/*}"; done
"""
"""A line says that all is well; the end of the pipe without one says that we are gone."""


class Lifeline:
    """A watcher that kills a process group when this process ends without having let go of it.

    With the group ends what has left it, where ``/proc`` shows ``mark`` in its environment.

    The kernel could do that (PR_SET_PDEATHSIG), but it counts the thread that started the child,
    and only the child itself would end.
    """

    def __init__(self, shell: str, group: int, *, mark: str) -> None:
        ours, self._held = os.pipe()
        try:
            self._watcher = subprocess.Popen(
                [shell, "-c", _WATCH, "lifeline", str(group), mark],
                stdin=ours,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,
            )
        except OSError:
            os.close(self._held)
            raise
        finally:
            os.close(ours)

    def let_go(self) -> None:
        """The group has ended by other means."""
        with suppress(OSError):
            os.write(self._held, b"done\n")
        os.close(self._held)
        self._watcher.wait()
