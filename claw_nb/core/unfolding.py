"""Text that is shown while it comes: no secret in it is ever half shown."""

from __future__ import annotations

import re

from claw_nb.core.named_secrets import opens_a_value
from claw_nb.core.redact import known_secrets, redact

_OPENERS = re.compile(r"\bauthorization[\"']?[ \t]{0,4}[:=]|\bbearer[ ]|\bcookie:")
_LONGEST_PEM = 20_000
_LONGEST_LINE = 8_000
"""Characters of a line that are looked at again when it goes on."""


def unsettled(text: str) -> int:
    """Where the end of a growing text begins that may yet turn out to be (part of) a secret."""
    line = text.rfind("\n") + 1
    lowered = text[line:].replace("İ", "I").lower()
    starts = [_last_word(text)]
    if (opener := _OPENERS.search(lowered)) is not None:
        starts.append(line + opener.start())
    if (named := opens_a_value(lowered)) is not None:
        starts.append(line + named)
    begun = text.rfind("-----BEGIN ", max(0, len(text) - _LONGEST_PEM))
    if begun >= 0 and not re.search(r"-----END [A-Z0-9 ]{1,40}-----\s", text[begun:]):
        starts.append(begun)
    end = min(starts)
    for secret in known_secrets():
        if secret.isascii() and not any(char.isspace() for char in secret):
            continue  # it is all in the last word
        first = max(0, end - len(secret) + 1)
        end = next((at for at in range(first, end) if _meets(text, secret, at)), end)
    return end


def _meets(text: str, secret: str, at: int) -> bool:
    return text.startswith(secret, at) or secret.startswith(text[at : at + len(secret)])


def _last_word(text: str) -> int:
    at = len(text)
    while at and not text[at - 1].isspace() and text[at - 1] < "\u2e80":
        at -= 1
    return at


class Unfolding:
    """A text that is shown while it comes and can't be taken back: no secret is ever half shown."""

    def __init__(self) -> None:
        self._line = ""
        self._shown = 0

    def add(self, text: str) -> str:
        """What can be shown now that ``text`` has come."""
        self._line += text
        return self._let_go(unsettled(self._line))

    def rest(self) -> str:
        """What was held back, at the end; the next text begins anew."""
        out = self._let_go(len(self._line))
        self._line, self._shown = "", 0
        return out

    def _let_go(self, end: int) -> str:
        settled = redact(self._line[:end])
        out = settled[self._shown :]
        line = max(self._line.rfind("\n", 0, end), self._line.rfind("\r", 0, end)) + 1
        line = end if end - line > _LONGEST_LINE else line
        self._shown = max(self._shown, len(settled)) - (
            len(redact(self._line[:line])) if line else 0
        )
        self._line = self._line[line:]
        return out
