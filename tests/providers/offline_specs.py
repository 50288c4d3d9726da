"""The tools that the offline provider is offered in tests."""

from claw_nb.core.protocols import ToolSpec

NAMES = [
    "list_variables",
    "inspect_variable",
    "run_python",
    "read_file",
    "write_file",
    "bash",
    "sql",
    "remember",
    "recall",
    "schedule_task",
    "list_tasks",
]

TOOLS = tuple(
    ToolSpec(name=name, description=name, parameters={"type": "object", "properties": {}})
    for name in NAMES
)
