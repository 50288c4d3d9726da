"""The names, parameters and effects that docs and the offline provider rely on."""

import json

from claw_nb.tools.boundary import Boundary
from claw_nb.tools.files import file_tools
from claw_nb.tools.memory import memory_tools
from claw_nb.tools.python import python_tools
from claw_nb.tools.schedule import schedule_tools
from claw_nb.tools.shell import shell_tools
from claw_nb.tools.sql import sql_tools
from claw_nb.tools.variables import variable_tools


def test_the_tools_are_as_promised(tmp_path):
    boundary = Boundary(tmp_path)
    made = (
        *variable_tools(None),
        *python_tools(None),
        *file_tools(boundary),
        *shell_tools(boundary),
        *sql_tools(None),
        *memory_tools(None, None),
        *schedule_tools(None, None),
    )
    assert {
        tool.name: (
            tool.effect,
            ", ".join(
                name if name in tool.parameters["required"] else f"{name}={schema.get('default')!r}"
                for name, schema in tool.parameters["properties"].items()
            ),
        )
        for tool in made
    } == {
        "list_variables": ("read", ""),
        "inspect_variable": ("read", "name, budget=4000"),
        "run_python": ("execute", "code"),
        "read_file": ("read", "path, offset=1, limit=2000"),
        "write_file": ("write", "path, content"),
        "edit_file": ("write", "path, edits"),
        "bash": ("execute", "command, timeout=120"),
        "sql": ("read", "query, limit=50"),
        "remember": ("write", "text, category='fact', tags=None"),
        "recall": ("read", "query, limit=5"),
        "schedule_task": (
            "write",
            "name, notebook=None, prompt=None, cron=None, every=None, at=None, timezone=None",
        ),
        "list_tasks": ("read", ""),
    }
    assert [tool.name for tool in made if tool.sequential] == ["run_python"]
    for tool in made:
        json.dumps(tool.parameters)
        assert tool.description.split("\n")[0].endswith(".")
        for schema in tool.parameters["properties"].values():
            assert schema["description"]
