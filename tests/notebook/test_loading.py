"""`%load_ext claw_nb`: light, silent, and undone by `%unload_ext`."""

import subprocess
import sys

LOAD = """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
before = set(sys.modules)
shell.run_line_magic("load_ext", "claw_nb")
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""
HEAVY = {
    "anthropic", "click", "duckdb", "ipywidgets", "jupyter_server", "lancedb", "markdown_it", "mcp",
    "nbformat", "numpy", "openai", "pandas", "papermill", "pyarrow", "rich", "sentence_transformers",
}  # fmt: skip


def test_loading_imports_nothing_heavy_says_nothing_and_writes_nothing(tmp_path):
    home = tmp_path / "claw"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        capture_output=True,
        text=True,
        check=True,
        env={"CLAW_HOME": str(home), "HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
    )
    loaded = set(done.stdout.split())
    assert "claw_nb" in loaded
    assert loaded & HEAVY == set()
    assert list(home.iterdir()) == []


def test_unloading_leaves_the_shell_as_it_was(shell):
    shell.run_line_magic("unload_ext", "claw_nb")
    assert "claw" not in shell.magics_manager.magics["line"]
    assert "claw" not in shell.magics_manager.magics["cell"]
    assert not any("claw" in repr(found) for found in shell.input_transformers_post)
    assert not any("claw" in repr(found) for found in shell.configurables)
    assert "%claw" not in shell.strdispatchers["complete_command"].strs
    shell.run_line_magic("load_ext", "claw_nb")
    assert "claw" in shell.magics_manager.magics["line"]


def test_loading_twice_is_loading_once(shell):
    number = len(shell.input_transformers_post)
    shell.run_line_magic("reload_ext", "claw_nb")
    shell.run_line_magic("load_ext", "claw_nb")
    assert len(shell.input_transformers_post) == number
