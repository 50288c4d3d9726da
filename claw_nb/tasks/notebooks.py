"""A notebook run from its file to its report, inside the run's own process."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import papermill
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME as NATIVE_KERNEL
from jupyter_client.kernelspec import get_kernel_spec
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillException

from claw_nb.tasks import engine
from claw_nb.tasks.engine import Emit
from claw_nb.tasks.report import write_report


def run_notebook(spec: Mapping[str, Any], emit: Emit) -> int:
    """Run it, write ``notebook.ipynb`` and ``report.html``, say how it went; 0 when well."""
    source, folder = Path(spec["notebook"]), Path(spec["folder"])
    path = folder / "notebook.ipynb"
    emit("saved", notebook=str(path))
    begun = time.monotonic()
    error: str | None = None
    try:
        kernel, language = _kernel(source, spec["kernel"])
        papermill.execute_notebook(
            str(source),
            None,
            parameters=dict(spec["parameters"]),
            engine_name=engine.NAME,
            kernel_name=kernel,
            language=language,
            progress_bar=False,
            cwd=str(source.parent),
            path=path,
            emit=emit,
            execution_timeout=spec["cell_timeout"],
        )
    except (
        PapermillException,
        DeadKernelError,
        RuntimeError,
        ValueError,
        OSError,
        KeyError,
    ) as problem:
        error = engine.explain(problem, path)
    except KeyboardInterrupt:
        error = "The run was stopped."
        raise
    finally:
        report = write_report(path, folder / "report.html", spec, error=error)
        if report:
            emit("saved", report=str(report))
    took = time.monotonic() - begun
    if error:
        emit("finished", status="error", error=error)
        return 1
    emit("finished", status="success", result=f"The notebook ran in {took:.1f} s.")
    return 0


def _kernel(source: Path, wanted: str | None) -> tuple[str, str]:
    """The kernel to run with and its language, for notebooks that don't name them too."""
    metadata = json.loads(source.read_text(encoding="utf-8")).get("metadata", {})
    named = metadata.get("kernelspec", {})
    kernel = wanted or named.get("name") or NATIVE_KERNEL
    said = metadata.get("language_info", {}).get("name") or named.get("language")
    # NoSuchKernel is a KeyError.
    return kernel, (not wanted and said) or get_kernel_spec(kernel).language
