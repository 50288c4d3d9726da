"""The agent's own commands, which it may not use on itself: ``claw`` and ``python -m claw_nb``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from claw_nb.tools.shell_calls import Call, Finding, deny, risky

_ONLY_TELLS = re.compile(
    r"(?:--debug ?)?(?:(?:[a-z]+ ){0,2}(?:--help|-h)|--version"
    r"|(?:sessions|memory|config|task)(?: (?:list|show|logs|next|search|get)(?: .*)?)?(?: --json)?|store path)?"
)
_RUNNERS = frozenset(
    {"uv", "uvx", "pipx", "poetry", "pdm", "hatch", "pixi", "conda", "mamba", "micromamba", "rye"}
)
_NAMES = frozenset({"claw", "claw-nb", "claw_nb"})
_PYTHON = re.compile(r"python[0-9.]*|pypy3?|ipython3?|coverage|pdb")
_CODE = re.compile(r"\bclaw_nb\b|\bclaw\b.*\bconfig\b|\bCLAW_")


def own(call: Call) -> Iterator[Finding]:
    """What speaks against a call of the agent's own commands."""
    given = _given(call)
    if given is not None and (call.repeated or not _ONLY_TELLS.fullmatch(" ".join(given))):
        yield deny(
            "It would change the agent's own rules and memory from a shell. Use the tools remember, "
            "recall, sql, schedule_task and list_tasks, or ask the user to run it."
        )
    if _PYTHON.fullmatch(call.name) and given is None:
        code = [*call.texts, *(r.target.text for r in call.command.redirects if "<<" in r.operator)]
        if any(re.search(r"\s|\(", text) and _CODE.search(text) for text in code):
            yield risky("Its code uses the agent's own parts.")


def _given(call: Call) -> Sequence[str] | None:
    """The arguments for ``claw``, when that is what is called."""
    if call.name in _NAMES:
        return call.texts
    for at, text in enumerate(call.texts):
        if call.name in _RUNNERS and text in _NAMES:
            return call.texts[at + 1 :]
        module = text if at and call.texts[at - 1] == "-m" else text.removeprefix("-m")
        is_module = module != text or (at > 0 and call.texts[at - 1] == "-m")
        runs = _PYTHON.fullmatch(call.name) or call.name in _RUNNERS
        if runs and is_module and re.fullmatch(r"claw_nb(?:_server)?(?:\..*)?", module):
            rest = call.texts[at + 1 :]
            return rest if module in ("claw_nb", "claw_nb.cli") else ["-m", module, *rest]
    return None
