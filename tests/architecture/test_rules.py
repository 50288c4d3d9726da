"""Each rule is shown code that keeps it and code that breaks it."""

import pytest

from tests.architecture import rules

OWNERS = {"duckdb": ("claw_nb.store",), "numpy": ("claw_nb.store", "claw_nb.memory")}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("claw_nb.store", "import duckdb"),
        ("claw_nb.store.views", "from duckdb import sql"),
        ("claw_nb.memory.recall", "import numpy as np\nimport json"),
        ("claw_nb.agent.loop", "import asyncio\nfrom claw_nb.core import events"),
        ("claw_nb.agent.loop", "if TYPE_CHECKING:\n    import duckdb"),
    ],
)
def test_an_owner_may_import_its_package(module, source):
    assert rules.unowned(module, source, OWNERS) == []


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("claw_nb.agent.loop", "import duckdb", "owned by claw_nb.store"),
        ("claw_nb.storefront", "import duckdb", "owned by claw_nb.store"),
        (
            "claw_nb.agent",
            "def f():\n    import numpy.linalg",
            "owned by claw_nb.store, claw_nb.memory",
        ),
        ("claw_nb.store", "import requests", "owned by nobody"),
        (
            "claw_nb.store",
            "if TYPE_CHECKING:\n    pass\nelse:\n    import requests",
            "owned by nobody",
        ),
    ],
)
def test_a_stranger_may_not(module, source, complaint):
    (found,) = rules.unowned(module, source, OWNERS)
    assert complaint in found


def test_a_module_has_at_most_300_lines():
    assert rules.too_long("x = 1\n" * 300) == []
    assert rules.too_long("x = 1\n" * 301) != []


@pytest.mark.parametrize(
    "name", ["Session", "DataFrameSummary", "Database", "Metadata", "Basement", "SQLError"]
)
def test_a_class_is_named_by_a_noun(name):
    assert rules.empty_class_names(f"class {name}: ...") == []


@pytest.mark.parametrize(
    "name",
    [
        "SessionManager",
        "BaseTool",
        "RunInfo",
        "ToolMixin",
        "DataThing",
        "HTTPService",
        "_ProviderImpl",
    ],
)
def test_an_empty_word_in_a_class_name_is_found(name):
    assert rules.empty_class_names(f"def f():\n    class {name}: ...") != []


def test_a_module_is_not_a_drawer():
    assert rules.empty_module_name("claw_nb.store.views") == []
    for module in ("claw_nb.utils", "claw_nb.store._helpers", "claw_nb.utils.text"):
        assert rules.empty_module_name(module) != []


def test_imports_are_absolute():
    assert rules.relative_imports("from claw_nb.core import events") == []
    for source in (
        "from . import events",
        "from .events import Event",
        "def f():\n    from .. import x",
    ):
        assert rules.relative_imports(source) != []


def test_imports_are_at_the_top():
    assert rules.lazy_imports("import json\n\ndef f(): ...") == []
    assert rules.lazy_imports("try:\n    import json\nexcept ImportError:\n    json = None") == []
    for source in (
        "def f():\n    import json",
        "async def f():\n    from json import loads",
        "class A:\n    def f(self):\n        if True:\n            import json",
    ):
        assert rules.lazy_imports(source) != []


@pytest.mark.parametrize(
    "source",
    [
        '"""One idea."""',
        '"""One idea: a thing, e.g. this.\n\nAnd more."""',
        '"""Reads config.toml, as version 1.2 wrote it."""',
    ],
)
def test_a_docstring_begins_with_a_sentence(source):
    assert rules.first_line(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "",
        "x = 1",
        '"""No full stop"""',
        '"""\nSentence later."""',
        '"""Two ideas. In one line."""',
        '"""Broken\nhere."""',
    ],
)
def test_another_beginning_is_found(source):
    assert rules.first_line(source) != []


def test_only_the_standard_library_is_not_third_party():
    assert rules.third_party("import json, asyncio.tasks\nfrom claw_nb.core import events") == set()
    assert rules.third_party("import yaml\nfrom rich.table import Table") == {"yaml", "rich"}
