"""What may not be remembered: secrets, and characters that nobody sees."""

from __future__ import annotations

from claw_nb.core.errors import InvalidInput
from claw_nb.core.invisible import invisible
from claw_nb.core.redact import redact

LONGEST = 16_384
"""Characters in one memory at most: a memory is a note, not a file."""


def check(text: str) -> str:
    """The text without white space around it; raises InvalidInput when it may not be kept."""
    text = text.strip()
    if not text:
        raise InvalidInput("there is nothing to remember", hint="Give the text of the memory.")
    if len(text) > LONGEST:
        raise InvalidInput(
            f"a memory has at most {LONGEST} characters, and this text has {len(text)}",
            hint="Remember what matters in it, and where the whole text is kept.",
        )
    if hidden := invisible(text):
        raise InvalidInput(
            f"this text holds the invisible character U+{ord(text[hidden[0]]):04X} "
            f"at position {hidden[0] + 1}",
            hint="Remove it: what nobody can see is not remembered.",
        )
    if redact(text) != text:
        raise InvalidInput(
            "this text holds a secret, and secrets are not remembered",
            hint="Keep it with `claw vault set NAME`, and remember the name claw://NAME instead.",
        )
    return text
