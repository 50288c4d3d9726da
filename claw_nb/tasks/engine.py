"""Our papermill engine: every cell's output is safe on disk when it ends, with an honest status."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, NotebookExecutionManager, papermill_engines
from papermill.exceptions import PapermillExecutionError
from papermill.log import logger

from claw_nb.core.redact import redact
from claw_nb.core.unfolding import Unfolding
from claw_nb.tasks.masked_outputs import masked, masked_outputs

NAME = "claw_nb"
"""The engine's name in papermill."""

AUTOSAVE_SECONDS = 5
"""How much of a long cell's output a kill may cost."""

_SHOWN = 4_000

Emit = Callable[..., None]


def write_notebook(nb: nbformat.NotebookNode, path: Path) -> None:
    """Replace the file in one step, so that a kill at any moment leaves a valid notebook."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with scratch.open("w", encoding="utf-8") as file:
        file.write(nbformat.v4.writes(nb))  # type: ignore[no-untyped-call]
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


class Progress(NotebookExecutionManager):  # type: ignore[misc]
    """The notebook on its way; ``status`` in each cell's metadata says what truly happened.

    Pending cells were never run. Papermill alone would call them completed after a stop, a
    timeout, or the kernel's death.
    """

    def __init__(self, nb: nbformat.NotebookNode, *, path: Path, emit: Emit) -> None:
        super().__init__(nb, progress_bar=False, autosave_cell_every=AUTOSAVE_SECONDS)
        self.path = path
        self.emit = emit
        self._begun = 0.0
        self._open: set[int] = set(range(len(nb.cells)))

    def save(self, **_: Any) -> None:
        """Write the file as it stands, with the secrets in its outputs masked."""
        write_notebook(masked(self.nb, self._open), self.path)
        self.last_save_time = self.now()

    def notebook_start(self, **_: Any) -> None:
        """Begin with every cell pending and no outputs."""
        super().notebook_start()
        self.nb.metadata.papermill["output_path"] = str(self.path)
        self.emit("notebook.started", cells=len(self.nb.cells), path=str(self.path))

    def cell_start(self, cell: nbformat.NotebookNode, cell_index: int = 0, **_: Any) -> None:
        """A cell begins."""
        self._open.add(cell_index)
        super().cell_start(cell, cell_index)
        self._begun = time.monotonic()
        if cell.cell_type == "code":
            self.emit("cell.started", index=cell_index, id=cell.get("id"))

    def cell_complete(self, cell: nbformat.NotebookNode, cell_index: int = 0, **_: Any) -> None:
        """A cell has ended, well or not."""
        self._settle(cell_index)
        super().cell_complete(cell, cell_index)
        if cell.cell_type == "code":
            ms = round((time.monotonic() - self._begun) * 1000, 1)
            status = cell.metadata.papermill["status"]
            self.emit("cell.finished", index=cell_index, id=cell.get("id"), status=status, ms=ms)

    def notebook_complete(self, **_: Any) -> None:
        """The end, whatever it was; cells keep their status."""
        self.end_time = self.now()
        self.nb.metadata.papermill["end_time"] = self.end_time.isoformat()
        seconds = (self.end_time - self.start_time).total_seconds()
        self.nb.metadata.papermill["duration"] = seconds
        for index in sorted(self._open):
            self._settle(index)
        self.save()

    def changed(self) -> None:
        """Some earlier output was replaced: look at all of them again."""
        self._open.update(range(len(self.nb.cells)))

    def _settle(self, index: int) -> None:
        """Mask the outputs of a cell for good; until then more may join them, and the file has copies."""
        cell = self.nb.cells[index]
        if cell.get("outputs"):
            cell.outputs = masked_outputs(cell.outputs)
        self._open.discard(index)


class Client(PapermillNotebookClient):  # type: ignore[misc]
    """Runs the cells, tells of each output, and leaves no kernel behind when it is stopped."""

    nb_man: Progress

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._streams: dict[str, Unfolding] = {}

    def papermill_execute_cells(self) -> None:
        """Each cell in turn, up to the first that fails."""
        self.nb_man.emit("kernel.started", pid=getattr(self.km.provisioner, "pid", None))
        for index, cell in enumerate(self.nb.cells):
            self.nb_man.cell_start(cell, index)
            try:
                self.execute_cell(cell, index)
            except CellExecutionError as error:
                self.nb_man.cell_exception(self.nb.cells[index], cell_index=index, exception=error)
                return
            except BaseException:
                # A busy kernel would not listen to a polite goodbye.
                self.shutdown_kernel = "immediate"
                self.nb_man.cell_exception(self.nb.cells[index], cell_index=index)
                raise
            finally:
                self._tell_the_rest(index)
                self.nb_man.cell_complete(self.nb.cells[index], cell_index=index)

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """Take one message of the kernel; what it shows becomes an event."""
        if msg["msg_type"] == "update_display_data":
            self.nb_man.changed()
        output = super().process_message(msg, cell, cell_index)
        if output and output.output_type == "stream":
            coming = self._streams.setdefault(output.name, Unfolding())
            self._tell(cell_index, "stream", coming.add(str(output.text)))
        elif output:
            self._tell_the_rest(cell_index)
            self._tell(cell_index, output.output_type, redact(_words(output)))
        return output

    def _tell_the_rest(self, index: int) -> None:
        """What was held back of streams because a secret might have begun in it."""
        for coming in self._streams.values():
            self._tell(index, "stream", coming.rest())

    def _tell(self, index: int, kind: str, text: str) -> None:
        if text or kind != "stream":
            text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
            self.nb_man.emit("output", index=index, type=kind, text=text)


class ClawEngine(Engine):  # type: ignore[misc]
    """What papermill calls: ``execute_notebook(..., engine_name=NAME, path=…, emit=…)``."""

    @classmethod
    def execute_notebook(
        cls, nb: nbformat.NotebookNode, kernel_name: str, *, path: Path, emit: Emit,
        start_timeout: int = 60, execution_timeout: int | None = None, **_: Any,
    ) -> Any:  # fmt: skip
        """Run every cell of ``nb``, saving to ``path`` all the way."""
        progress = Progress(nb, path=path, emit=emit)
        progress.notebook_start()
        client = Client(
            progress,
            timeout=execution_timeout,
            startup_timeout=start_timeout,
            kernel_name=kernel_name,
            log=logger,
        )
        try:
            client.execute()
        finally:
            progress.notebook_complete()
        return progress.nb


papermill_engines.register(NAME, ClawEngine)


def explain(error: Exception, nb_path: Path) -> str:
    """What went wrong in a run, in one line, with the cell where it happened."""
    name = type(error).__name__
    match error:
        case DeadKernelError():
            text = "The kernel died"
        case CellTimeoutError():
            text = "A cell ran longer than the task allows"
        case NoSuchKernel():
            text = f"There is no kernel named {error.name!r} on this machine"
        case OSError(filename=str(path), strerror=str(reason)):
            text = f"The notebook {path} cannot be read: {reason}"
        case PapermillExecutionError():
            text = redact(f"{error.ename}: {error.evalue}")
        case _:
            text = redact(f"{name}: {error}")
    place = _failed_cell(nb_path)
    return f"{text} (cell {place})." if place is not None else text


def _failed_cell(path: Path) -> int | None:
    try:
        nb = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError):
        return None
    for number, cell in enumerate(nb.cells, start=1):
        if cell.metadata.get("papermill", {}).get("status") == "failed":
            return number
    return None


def _words(output: Any) -> str:
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return str(output.data.get("text/plain", ", ".join(output.data)))
