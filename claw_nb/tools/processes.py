"""Child processes: a clean environment, bounded output, and an end for the whole tree."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from claw_nb.core.errors import ToolError
from claw_nb.core.named_secrets import secret_kind
from claw_nb.core.redact import redact
from claw_nb.tools.lifeline import Lifeline

_HALF = 15_000
"""Bytes kept of the output's beginning, and of its end."""

_GRACE = 0.2
"""Seconds for the last output to arrive when something still holds the pipe open."""

_PROC = Path("/proc")
_MARK = "CLAW_BASH_CALL"
_SECRET_NAME = re.compile(
    r"(?:.*_)?(?:API|ACCESS|SECRET|PRIVATE|AUTH|ENCRYPTION|SIGNING)?_?KEYS?(?:_ID|_BASE64)?"
    r"|.*(?:TOKEN(?!IZER)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|PRIVATE_KEY|APIKEY|COOKIE|DSN).*|.*_(?:PAT|PWD|AUTH)"
    r"|CLAW_.*|BASH_ENV|ENV|PROMPT_COMMAND|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|GLOBIGNORE|CDPATH"
    r"|RIPGREP_CONFIG_PATH",
    re.IGNORECASE,
)
_QUIET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "CLAW_INSIDE_TOOL": "1",
}
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a command ended. ``left_running``: something of it was still there and was ended."""

    code: int
    output: str
    timed_out: bool = False
    left_running: bool = False


def clean(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without what may be secret, by its name or by its value."""
    return {
        name: value
        for name, value in env.items()
        if not _SECRET_NAME.fullmatch(name) and secret_kind(name) is None and redact(value) == value
    } | _QUIET


async def run(
    command: str, *, cwd: Path, timeout: float, env: Mapping[str, str] | None = None
) -> Finished:
    """Run a bash script to its end; on timeout and cancellation its whole tree is killed."""
    shell = shutil.which("bash") or shutil.which("sh")
    if shell is None:
        raise ToolError(
            "there is no bash on this machine", hints=("Use run_python with subprocess.",)
        )
    call = _start(shell, command, cwd, clean(os.environ if env is None else env))
    waiting = asyncio.create_task(asyncio.to_thread(call.wait, timeout))
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        call.cancelled.set()
        call.kill()
        await asyncio.shield(asyncio.gather(waiting, return_exceptions=True))
        raise


def _start(shell: str, command: str, cwd: Path, env: dict[str, str]) -> _Call:
    mark = secrets.token_hex(16)
    options = ["--noprofile", "--norc"] if Path(shell).name.startswith("bash") else []
    try:
        process = subprocess.Popen(
            [shell, *options, "-c", command],
            cwd=cwd,
            env=env | {_MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"the shell did not start: {error.strerror or error}",
            hints=("Check that the workspace folder exists, and that the command isn't too long.",),
        ) from error
    call = _Call(process=process, mark=mark)
    if os.name == "posix":
        with suppress(OSError):  # it is a net below the net: without it the command runs as well
            call.lifeline = Lifeline(shell, process.pid, mark=f"{_MARK}={mark}")
    return call


@dataclass(kw_only=True)
class _Call:
    """One running script. All its processes carry ``mark`` in their environment."""

    process: subprocess.Popen[bytes]
    mark: str
    lifeline: Lifeline | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    _left_out: int = 0

    def wait(self, timeout: float) -> Finished:
        """Until the script ends; runs on a thread of its own."""
        try:
            return self._finish(timeout)
        finally:
            if self.lifeline:
                self.lifeline.let_go()

    def _finish(self, timeout: float) -> Finished:
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()
        timed_out = not self._ends_within(timeout)
        reader.join(0 if timed_out else _GRACE)
        left_running = bool(self._members()) if _PROC.is_dir() else reader.is_alive()
        self.kill()
        reader.join(5)
        return Finished(
            code=_code(self.process.wait()),
            output=self._text(),
            timed_out=timed_out,
            left_running=left_running and not timed_out and not self.cancelled.is_set(),
        )

    def kill(self) -> None:
        """End every process of the tree, those too that have left its group or session."""
        if self.process.returncode is not None:
            return  # reaped: its number may already be another's
        if os.name == "nt":
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(self.process.pid)],
                capture_output=True,
                check=False,
            )
            return
        for _ in range(20):
            members = self._members()  # while the parents live: orphans can't be told any more
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            for pid in members:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if not members:
                return

    def _ends_within(self, timeout: float) -> bool:
        """Wait for the shell without reaping it, where the system can: its number stays its own."""
        if hasattr(os, "pidfd_open"):
            handle = os.pidfd_open(self.process.pid)
            try:
                return bool(select.select([handle], [], [], timeout)[0])
            finally:
                os.close(handle)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout)
            return True
        return False

    def _members(self) -> list[int]:
        """Processes of the tree but for the shell: its descendants, and all with the mark (Linux)."""
        wanted = f"{_MARK}={self.mark}".encode()
        parents: dict[int, int] = {}
        found = set()
        for folder in _PROC.glob("[0-9]*"):
            with suppress(OSError):
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                if state == "Z":
                    continue
                parents[int(folder.name)] = int(parent)
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.add(int(folder.name))
        family = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        return sorted((found | family) - {self.process.pid})

    def _read(self) -> None:
        assert self.process.stdout is not None
        handle = self.process.stdout.fileno()
        with self.process.stdout:
            while chunk := os.read(handle, 65_536):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        room = max(0, _HALF - len(self._head))
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > _HALF:
            self._left_out += len(self._tail) - _HALF
            del self._tail[: len(self._tail) - _HALF]

    def _text(self) -> str:
        head, tail = bytes(self._head), bytes(self._tail)
        if not self._left_out:
            return _plain(head + tail)
        note = f"\n[... {self._left_out:,} bytes left out ...]\n"
        return _plain(head) + note + _plain(tail)


def _plain(output: bytes) -> str:
    text = _ESCAPES.sub("", output.decode("utf-8", "replace")).replace("\r\n", "\n")
    # A progress bar writes over its own line; only what stayed on the screen counts.
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n")).rstrip(
        "\n"
    )


def _code(code: int) -> int:
    return code if code >= 0 else 128 - code
