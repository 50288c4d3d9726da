"""What a person who is asked would not see in a text."""

from __future__ import annotations

import re

from claw_nb.core.invisible import invisible

_MOST_NAMED = 3


def unseen(text: str) -> str:
    """A sentence about characters that hide or reorder what is shown; empty when there are none."""
    places = sorted({*invisible(text), *(m.start() for m in re.finditer(r"\r(?!\n)", text))})
    if not places:
        return ""
    kinds = list(dict.fromkeys(f"U+{ord(text[at]):04X}" for at in places))
    named = ", ".join(kinds[:_MOST_NAMED]) + (", …" if len(kinds) > _MOST_NAMED else "")
    line = text.count("\n", 0, places[0]) + 1
    return f"It holds characters that can't be seen or that reorder the text: {named}, first in line {line}."
