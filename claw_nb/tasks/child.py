"""The process of one run: ``python -m claw_nb.tasks.child``, told what to do on its input.

One JSON line says what; the input then stays open, and its end means that the parent has died. JSON
lines on the output say what happens.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, TextIO

from claw_nb.core.redact import add_named, redact_json

PATIENCE = 6.0
"""Seconds to save and shut down after the parent has died, before the process ends itself."""

# jsonschema compiles a whole grammar for international URIs when this can be imported, which costs
# more than everything else that a notebook run imports. Nothing here validates such URIs.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


def main() -> int:
    """Do what the input says; the exit code is 0 when it went well."""
    spec: dict[str, Any] = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_watch, args=(sys.stdin,), daemon=True).start()
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - for the whole process
    try:
        if "module" in spec:
            return _run_module(spec["module"], spec["arguments"])
        return _run_notebook(spec, _events())
    except KeyboardInterrupt:
        return 130


def _run_module(module: str, arguments: list[str]) -> int:
    """What ``python -m module arguments`` would do, in this process."""
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _run_notebook(spec: Mapping[str, Any], emit: Callable[..., None]) -> int:
    add_named(os.environ)
    from claw_nb.tasks.notebooks import run_notebook  # noqa: PLC0415 - after the line above

    return run_notebook(spec, emit)


def _events() -> Callable[..., None]:
    """A function that says an event; whatever else is printed goes to the errors' stream."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def emit(event: str, **facts: Any) -> None:
        line = json.dumps(redact_json({"event": event, **facts}), ensure_ascii=False, default=str)
        with lock:
            channel.write(line + "\n")
            channel.flush()

    return emit


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _watch(parent: TextIO) -> None:
    """Wait for the end of the input, then stop as if asked to; at last without asking."""
    while parent.read(4096):
        pass
    timer = threading.Timer(PATIENCE, os._exit, (143,))
    timer.daemon = True
    timer.start()
    signal.raise_signal(signal.SIGTERM) if sys.platform == "win32" else os.kill(
        os.getpid(), signal.SIGTERM
    )


if __name__ == "__main__":
    sys.exit(main())
