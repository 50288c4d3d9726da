"""An answer in a notebook that was executed and exported without anybody watching."""

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter, MarkdownExporter


@pytest.fixture
def execute(tmp_path, monkeypatch, script):
    root = str(__import__("pathlib").Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root}/extension")
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "claw"))
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", str(tmp_path / "script.yaml"))
    monkeypatch.setenv("CLAW_EMBEDDER", "none")

    def run(*cells):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        resources = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(book, timeout=120, kernel_name="python3", resources=resources).execute()
        return book

    return run


CODE = {"name": "run_python", "arguments": {"code": "print('drawing')"}}


def test_an_exported_answer_reads_without_a_kernel(execute, script):
    script({"text": "Look:", "calls": [CODE]}, "It is **done**.")
    book = execute("%load_ext claw_nb", "%claw ask --allow run_python do it")
    html, _ = HTMLExporter().from_notebook_node(book)
    assert "<strong>done</strong>" in html
    assert "run_python" in html
    text, _ = MarkdownExporter().from_notebook_node(book)
    assert "drawing" in text
    assert "done" in text


def test_a_failed_run_fails_the_notebook(execute, script):
    script({"error": {"kind": "auth", "message": "no key"}})
    with pytest.raises(CellExecutionError, match="No key"):
        execute("%load_ext claw_nb", "%claw ask hello")
