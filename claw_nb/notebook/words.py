"""The short texts that every form of an answer shares: titles of steps, durations, the footer."""

from __future__ import annotations

from claw_nb.core.counted import counted
from claw_nb.core.messages import ToolCall, Usage
from claw_nb.notebook.story import Ending, Status, Step

MARKS: dict[Status, str] = {
    "waiting": "○",
    "asking": "?",
    "running": "●",
    "done": "✓",
    "failed": "✗",
    "denied": "⊘",
    "interrupted": "■",
}
STATES: dict[Status, str] = {
    "waiting": "waiting",
    "asking": "waiting for your answer",
    "running": "running",
    "done": "done",
    "failed": "failed",
    "denied": "not allowed",
    "interrupted": "interrupted",
}
_MAIN = ("code", "query", "command", "path", "name", "text", "prompt")
"""The argument that says most about a call, by what the tools call it."""

_LANGUAGES = {"run_python": "python", "bash": "bash", "sql": "sql"}
SHOWN = 6000
"""Characters of one input or output that stay in the notebook; the transcript has the rest."""


def gist(call: ToolCall, *, limit: int = 72) -> str:
    """One line that tells calls of the same tool apart."""
    for name in _MAIN:
        value = call.arguments.get(name)
        if isinstance(value, str) and value.strip():
            lines = value.strip().splitlines()
            line = lines[0].strip()
            more = len(lines) > 1 or len(line) > limit
            return line[: limit - 2] + " …" if more else line
    return ""


def given(call: ToolCall, *, limit: int | None = SHOWN) -> tuple[str, str]:
    """What a call was given, and the language it is written in; whole without a ``limit``."""
    for name in ("code", "query", "command"):
        if isinstance(call.arguments.get(name), str):
            text = cut(call.arguments[name].strip("\n"), limit=limit)
            return text, _LANGUAGES.get(call.name, "")
    lines = [f"{name}: {value}" for name, value in call.arguments.items()]
    return cut("\n".join(lines), limit=limit), ""


def got(step: Step) -> str:
    """What a step came to, in words."""
    if step.result is None:
        return ""
    pictures = len(step.result.parts) - sum(hasattr(part, "text") for part in step.result.parts)
    note = "" if not pictures else "[a picture]" if pictures == 1 else f"[{pictures} pictures]"
    return cut("\n".join(text for text in (step.result.text.strip("\n"), note) if text))


def at_work(step: Step, *, limit: int = 100) -> str:
    """What a running tool tells of its progress, in one line."""
    if step.status != "running":
        return ""
    line = " ".join(step.progress.split())
    return line if len(line) <= limit else line[: limit - 2] + " …"


def cut(text: str, *, limit: int | None = SHOWN) -> str:
    """A text short enough to be saved in every notebook."""
    if limit is None or len(text) <= limit:
        return text
    half = limit // 2
    left = len(text) - 2 * half
    return f"{text[:half]}\n… {left:,} more characters are in the transcript …\n{text[-half:]}"


def duration(ms: float) -> str:
    """A time that a person reads at a glance."""
    if ms < 950:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def footer(ending: Ending, model: str) -> list[str]:
    """How it ended and what it took: the parts of the last line."""
    ended = {
        "end": [],
        "max_turns": ["stopped at the turn limit; `%claw ask go on` continues"],
        "max_tokens": ["the answer reached its length limit"],
        "refused": ["the model refused to answer"],
        "cancelled": ["stopped"],
    }.get(ending.kind, ["failed"])
    return [
        *ended,
        *([model] if model else []),
        counted(ending.turns, "turn"),
        *([counted(ending.tools, "tool call")] if ending.tools else []),
        *spent(ending.usage),
        duration(ending.ms),
    ]


def spent(usage: Usage) -> list[str]:
    """Tokens and money, where they are known."""
    read = usage.input + usage.cache_read + usage.cache_write
    parts = [f"{read:,} tokens in, {usage.output:,} out"] if read or usage.output else []
    if usage.cost:
        parts.append(f"${usage.cost:.4f}" if usage.cost < 0.1 else f"${usage.cost:.2f}")
    return parts
