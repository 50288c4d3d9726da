"""What a person types, or a pipe brings: one entry at a time, of one line or more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

Read = Callable[[str], str]
"""Read a line after a prompt; EOFError when there are no more."""

FENCE = '"""'


def is_terminal() -> bool:
    """Whether a person can answer here."""
    # Python sets stdin to None when the process was started without one.
    return sys.stdin is not None and sys.stdin.isatty()


def entry(read: Read, *, prompt: str, more: str) -> str:
    """The next entry. A line that ends in a backslash goes on, and so does text in ``\"\"\"``."""
    text = read(prompt)
    if text.lstrip().startswith(FENCE):
        return _fenced(text.lstrip().removeprefix(FENCE), read, more)
    while text.endswith("\\"):
        try:
            text = f"{text[:-1]}\n{read(more)}"
        except EOFError:
            return text[:-1]
    return text


def _fenced(begin: str, read: Read, more: str) -> str:
    lines = [begin]
    while not lines[-1].rstrip().endswith(FENCE):
        try:
            lines.append(read(more))
        except EOFError:
            return "\n".join(lines).strip("\n")
    lines[-1] = lines[-1].rstrip().removesuffix(FENCE)
    return "\n".join(lines).strip("\n")


def from_pipe(_prompt: str) -> str:
    """A line of what is piped in."""
    line = sys.stdin.readline() if sys.stdin is not None else ""
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


def from_terminal(words: Sequence[str], earlier: Sequence[str]) -> Read:
    """Lines typed at a terminal, edited with readline where there is one.

    Tab completes ``words``, the arrow keys bring back what was said ``earlier``, and Alt-Enter
    begins a new line.
    """
    try:
        import readline  # noqa: PLC0415
    except ModuleNotFoundError:
        return input

    def complete(text: str, state: int) -> str | None:
        at_start = readline.get_begidx() == 0
        found = [word for word in words if at_start and word.startswith(text)]
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    if "libedit" in (readline.__doc__ or ""):
        readline.parse_and_bind("bind ^I rl_complete")
    else:
        readline.parse_and_bind("tab: complete")
        readline.parse_and_bind(r'"\e\C-m": "\C-v\C-j"')
    for text in earlier:
        readline.add_history(text)
    return input
