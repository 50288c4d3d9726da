"""One run as a process of its own: started, listened to, stopped with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claw_nb.core.clock import Clock, now
from claw_nb.core.records import Run, Task
from claw_nb.store.runs import Outcome
from claw_nb.tasks.ending import end
from claw_nb.tasks.listener import Listener, Reason

CHILD = (sys.executable, "-m", "claw_nb.tasks.child")
"""The process of a run: reads what to do as one JSON line, and ends when its input does."""

ASK = ("claw_nb", "ask", "--json")
"""The module and its first arguments that answer a prompt, as ``python -m`` would run it."""

_LONGEST_LINE = 64 * 1024 * 1024


@dataclass(kw_only=True)
class Runner:
    """Runs notebooks and prompts in child processes; what a run leaves stands in ``runs/<id>/``.

    The child gets ``CLAW_HOME``, ``CLAW_RUN_ID`` and ``CLAW_AGENT`` (whose task it is), and so does
    the kernel that it starts.
    """

    home: Path
    child: Sequence[str] = CHILD
    ask: Sequence[str] = ASK
    clock: Clock = now
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)

    async def __call__(self, task: Task, run: Run, stop: asyncio.Event) -> Outcome:
        """Do one run to its end; never raises for what the run itself does wrong."""
        folder = self.home / "runs" / run.id
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        if stop.is_set():
            return Outcome(status="cancelled", error="It was stopped before it began.")
        process = await self._start(task, run)
        with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
            listener = Listener(log=log, clock=self.clock)
            listener.note({"event": "started", "task": task.name, "pid": process.pid})
            return await self._see_through(process, task, folder, listener, stop, run)

    async def _start(self, task: Task, run: Run) -> asyncio.subprocess.Process:
        env = {
            **self.env, "CLAW_HOME": str(self.home), "CLAW_RUN_ID": run.id,
            "CLAW_AGENT": task.agent_id,
        }  # fmt: skip
        return await asyncio.create_subprocess_exec(
            *self.child,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            start_new_session=True,
            limit=_LONGEST_LINE,
        )

    async def _see_through(
        self, process: asyncio.subprocess.Process, task: Task, folder: Path,
        listener: Listener, stop: asyncio.Event, run: Run,
    ) -> Outcome:  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stderr
        spec = json.dumps(self._spec(task, run, folder), ensure_ascii=False)
        # The run's own words end with it; its errors' stream may be held open by what it started.
        talking = asyncio.create_task(listener.hear(process.stdout))
        complaining = asyncio.create_task(listener.hear_errors(process.stderr))
        stopping = asyncio.create_task(stop.wait())
        limit = None if task.timeout_minutes is None else task.timeout_minutes * 60
        reason: Reason | None = None
        try:
            # The pipe stays open: its end tells the child that nobody waits for it any more.
            with contextlib.suppress(ConnectionError):
                process.stdin.write(spec.encode() + b"\n")
                await process.stdin.drain()
            await asyncio.wait(
                {talking, stopping}, timeout=limit, return_when=asyncio.FIRST_COMPLETED
            )
            reason = None if talking.done() else _reason(task, stopped=stop.is_set())
        finally:
            stopping.cancel()
            ending = end(process, talking, complaining, groups=listener.kernels)
            await asyncio.shield(asyncio.ensure_future(ending))
        outcome = listener.outcome(process.returncode, reason=reason)
        listener.note({"event": "ended", "status": outcome.status, "error": outcome.error})
        return outcome

    def _spec(self, task: Task, run: Run, folder: Path) -> dict[str, Any]:
        """What the child is told to do."""
        target = task.target
        if "prompt" in target:
            module, *arguments = self.ask
            arguments += ["--workspace", str(target.get("folder") or self.home)]
            return {"module": module, "arguments": [*arguments, "--", target["prompt"]]}
        return {
            "notebook": target["notebook"],
            "parameters": dict(target.get("parameters") or {}),
            "kernel": target.get("kernel"),
            "cell_timeout": target.get("cell_timeout"),
            "hide_code": bool(target.get("hide_code")),
            "folder": str(folder),
            "task": task.name,
            "run": run.id,
            "due": run.due,
            "trigger": run.trigger,
        }


def _reason(task: Task, *, stopped: bool) -> Reason:
    if stopped:
        return "cancelled", "It was stopped."
    return "error", f"It was stopped after {task.timeout_minutes:g} minutes, the limit of its task."
