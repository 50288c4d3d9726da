"""The report of a run: one HTML file that needs no network, with what ran and how at its top."""

from __future__ import annotations

import html
import json
import os
import platform
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter
from traitlets.config import Config

from claw_nb import __version__
from claw_nb.core.redact import redact
from claw_nb.tasks.schedule import moment

_NOTHING = "data:,"
"""What is loaded where the template would reach for the network."""

_STYLE = """
<style>
.claw-run { border: 1px solid #cfd8dc; border-left: 4px solid #2e7d32; border-radius: 4px;
  padding: .6em 1em; margin: 0 0 1em; font-size: .9em; }
.claw-run.failed { border-left-color: #c62828; }
.claw-run table { margin: .3em 0 0 !important; border-collapse: collapse; }
.claw-run th { text-align: left !important; padding: .1em 1.5em .1em 0 !important;
  font-weight: 600; vertical-align: top; white-space: nowrap; }
.claw-run td { text-align: left !important; padding: .1em 0 !important;
  overflow-wrap: anywhere; max-width: 60em; }
</style>
"""


def write_report(
    notebook: Path, report: Path, spec: Mapping[str, Any], *, error: str | None
) -> Path | None:
    """Write the report of an executed notebook; None when there is no notebook to show."""
    if not notebook.exists():
        return None
    nb = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    nb.metadata["title"] = spec["task"]
    header = _header(nb, spec, error=error)
    nb.cells.insert(0, nbformat.v4.new_markdown_cell(header))  # type: ignore[no-untyped-call]
    # Widgets draw themselves only with scripts from the network; their text form stays.
    nb.metadata.pop("widgets", None)
    body, _ = _exporter(hide_code=spec["hide_code"]).from_notebook_node(nb)
    scratch = report.with_name(f".{report.name}.{os.getpid()}")
    scratch.write_text(body, encoding="utf-8")
    scratch.replace(report)
    return report


def _exporter(*, hide_code: bool) -> HTMLExporter:
    config = Config()
    config.HTMLExporter.require_js_url = _NOTHING
    config.HTMLExporter.jquery_url = _NOTHING
    config.HTMLExporter.mathjax_url = _NOTHING
    config.HTMLExporter.embed_images = True
    config.NbConvertBase.display_data_priority = [
        "text/html", "text/markdown", "image/svg+xml", "text/latex", "image/png", "image/jpeg",
        "application/javascript", "text/plain",
    ]  # fmt: skip
    exporter = HTMLExporter(config=config)  # type: ignore[no-untyped-call]
    exporter.mermaid_js_url = exporter.mermaid_layout_elk_js_url = _NOTHING
    exporter.exclude_input = exporter.exclude_input_prompt = hide_code
    exporter.exclude_output_prompt = hide_code
    return exporter


def _header(nb: nbformat.NotebookNode, spec: Mapping[str, Any], *, error: str | None) -> str:
    ran = nb.metadata.get("papermill", {})
    kernel = nb.metadata.get("kernelspec", {}).get("display_name", "")
    language = nb.metadata.get("language_info", {}).get("version", "")
    facts = {
        "Result": error or "All cells ran.",
        "Notebook": spec["notebook"],
        "Started": _local(ran.get("start_time")),
        "Duration": f"{ran['duration']:.1f} s" if ran.get("duration") is not None else "",
        "Due": "run by hand" if spec["trigger"] == "manual" else f"{moment(spec['due']):%F %T} UTC",
        "Run": spec["run"],
        "Kernel": f"{kernel} {language}".strip(),
        "Machine": f"{platform.node()}, {platform.system()}, claw_nb {__version__}",
    }
    for name, value in spec["parameters"].items():
        facts[f"Parameter {name}"] = json.dumps(value, ensure_ascii=False, default=str)
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{_cell(value)}</td></tr>"
        for name, value in facts.items()
        if value
    )
    kind = "claw-run failed" if error else "claw-run"
    title = f"<h1>{html.escape(spec['task'])}</h1>"
    return f'{_STYLE}\n<div class="{kind}">{title}<table>{rows}</table></div>'


def _cell(value: str) -> str:
    # A blank line or a Markdown sign would end the raw HTML that this stands in.
    return html.escape(redact(value)).replace("\n", "<br>")


def _local(stamp: str | None) -> str:
    return f"{datetime.fromisoformat(stamp).astimezone():%F %T %Z}" if stamp else ""
