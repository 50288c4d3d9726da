"""The commands that the interpreter understands: one row each, in the order in which they are tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from claw_nb.providers.offline import (
    plots,
    remembering,
    running,
    runs,
    scheduling,
    variables,
)
from claw_nb.providers.offline.recipe import Asked, Recipe

_FLAGS = re.I | re.S
_SHOW = r"describe|inspect|summari[sz]e|explain|look at|show(?: me)?|tell me about"


@dataclass(frozen=True, kw_only=True)
class Intent:
    """A command: its pattern, the tools it needs, and its recipe (None: not meant after all).

    ``rest`` means that everything after it belongs to it, "and then …" too.
    """

    name: str
    about: str
    example: str
    pattern: re.Pattern[str]
    tools: tuple[str, ...]
    recipe: Callable[[re.Match[str], Asked], Recipe | None]
    rest: bool = False


def _starts(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:please\s+|can you\s+|could you\s+)?(?:{pattern})", _FLAGS)


INTENTS: tuple[Intent, ...] = (
    Intent(
        name="run code",
        about="run Python in the kernel: in a fence, or after `run:`",
        example="run: penguins.groupby('species').size()",
        pattern=re.compile(
            r".*?```(?:python|py)?[ \t]*\n(.+?)```|(?:run|execute|evaluate)[^:\n]{0,20}:\s*(.+)"
            r"|(?:run|execute|evaluate)\s+`(.+)`\s*",
            _FLAGS,
        ),
        tools=("run_python",),
        recipe=running.run_code,
        rest=True,
    ),
    Intent(
        name="SQL",
        about="query the agent's log, memories, tasks and your data frames",
        example="sql: SELECT tool, count(*) FROM tool_calls GROUP BY tool",
        pattern=re.compile(
            r".*?```sql[ \t]*\n(.+?)```|(?:sql|query)\s*:\s*(.+)|(select\s.+)|(with\s+\w+\s+as\s*\(.+)",
            _FLAGS,
        ),
        tools=("sql",),
        recipe=running.run_sql,
        rest=True,
    ),
    Intent(
        name="shell",
        about="run a shell command in the workspace",
        example="shell: ls -l",
        pattern=re.compile(
            r".*?```(?:bash|sh|shell)[ \t]*\n(.+?)```|(?:shell|bash)\s*:\s*(.+)|\$\s+(.+)", _FLAGS
        ),
        tools=("bash",),
        recipe=running.run_shell,
        rest=True,
    ),
    Intent(
        name="remember",
        about="keep a finding, a preference or a decision",
        example="remember that Gentoo penguins are the heaviest #penguins",
        pattern=_starts(r"(?:remember|note|memori[sz]e|keep in mind)(?:\s+(?:that|this))?[:,]?\s+"
                        r"(?P<what>.+)"),
        tools=("remember",),
        recipe=remembering.remember,
        rest=True,
    ),
    Intent(
        name="recall",
        about="search what was kept, with its source",
        example="what do you know about penguins?",
        pattern=_starts(
            r"(?:recall|what do (?:you|we|i) (?:know|remember)(?: about| of)?"
            r"|do you (?:know|remember)(?: anything about| about)?"
            r"|search (?:your |the |my )?memor(?:y|ies) for)[:,]?\s+(?P<what>.+)"
        ),
        tools=("recall",),
        recipe=remembering.recall,
    ),
    Intent(
        name="schedule",
        about="run a notebook, or ask a prompt, later or again and again",
        example="schedule report.ipynb every day at 9",
        pattern=_starts(
            r"schedule\b.+"
            r"|(?:run|execute|ask|repeat)\b.*\b(?:every|daily|hourly|weekly|monthly|weekdays|cron"
            r"|tomorrow|at \d|in \d).*"
            r"|(?:every|daily|hourly|weekly|monthly|on weekdays)\b.*"
        ),
        tools=("schedule_task",),
        recipe=scheduling.schedule,
        rest=True,
    ),
    Intent(
        name="tasks",
        about="list what is scheduled",
        example="list tasks",
        pattern=_starts(
            r"(?:(?:list|show)(?: me)?\s+)?(?:all |my |the )?(?:scheduled )?tasks\s*[.?!]?"
            r"|what(?:'s| is) scheduled\s*\??"
        ),
        tools=("list_tasks",),
        recipe=scheduling.list_tasks,
    ),
    Intent(
        name="last run",
        about="tell what the last run, or the last task, did",
        example="what did you do?",
        pattern=_starts(
            r"what (?:did|have|has) (?:you|the (?:last|latest) (?:scheduled )?(?:run|task)) (?:do|done)\b.*"
            r"|what happened\b.*"
            rf"|(?:{_SHOW})\s+(?:what (?:you|happened)\b.*"
            r"|(?:the |your |my )?(?:last|latest|previous)\s+(?:scheduled\s+|task\s*'?s?\s+)?"
            r"(?:run|answer|task)\b.*)"
        ),
        tools=("sql",),
        recipe=runs.last_run,
    ),
    Intent(
        name="variables",
        about="list the kernel's variables",
        example="list variables",
        pattern=_starts(
            r"(?:list|show(?: me)?)\s+(?:all |the |my )*variables\s*[.?!]?"
            r"|(?:what|which) variables\b.*|what(?:'s| is) in (?:the|my) (?:kernel|namespace)\s*\??"
        ),
        tools=("list_variables",),
        recipe=variables.list_all,
    ),
    Intent(
        name="read a file",
        about="show a file of the workspace",
        example="read notes.md",
        pattern=_starts(
            r"(?:read|open|cat|show(?: me)?)\s+(?:the\s+)?(?:file\s+)?"
            r"(?P<what>`[^`\n]+\.\w{1,8}`|[\w./~-]+\.(?!(?:DataFrame|Series)\b)[A-Za-z]\w{0,7})"
            r"\s*[.?!]?"
        ),
        tools=("read_file",),
        recipe=running.read_file,
    ),
    Intent(
        name="plot",
        about="plot columns of a data frame: scatter, line, histogram, bars, boxes",
        example="plot flipper_length_mm against body_mass_g by species",
        pattern=_starts(
            r"(?:plot|draw|chart|graph|visuali[sz]e|(?:show|make|create|give)(?: me)?\s+(?:a|an|the)"
            r"(?=\s+(?:\w+\s+)?(?:plot|chart|graph|histogram|distribution)))\s+(?P<what>.+)"
            r"|(?P<alone>(?:scatter|histogram|hist|bar|box|line|distribution)\b.+)"
        ),
        tools=("list_variables", "inspect_variable", "run_python"),
        recipe=plots.plot,
    ),
    Intent(
        name="describe",
        about="describe a variable, or the only data frame",
        example="describe penguins",
        pattern=_starts(
            rf"(?:(?:{_SHOW})\s+|what(?:'s| is| are) in\s+|what(?:'s| is)\s+(?=`)"
            r"|compare\s+)(?P<what>.+)"
        ),
        tools=("list_variables", "inspect_variable"),
        recipe=variables.describe,
    ),
)  # fmt: skip
