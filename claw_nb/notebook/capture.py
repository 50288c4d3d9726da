"""What code prints and displays, noted while the user sees it."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

from claw_nb.core.messages import Image
from claw_nb.core.redact import redact

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
Mask = Callable[[str], str]

_PICTURES = ("image/png", "image/jpeg")
_active: ContextVar[Notes | None] = ContextVar("claw_capture", default=None)


def plain(text: str) -> str:
    """Text without terminal colours and cursor movements."""
    return _ANSI.sub("", text)


class Notes:
    """The output of one execution, in order; ``before_output`` is called before the first of it."""

    def __init__(self, before_output: Callable[[], None]) -> None:
        self.images: list[Image] = []
        self._text: list[str] = []
        self._before_output = before_output
        self._any = False

    @property
    def text(self) -> str:
        """Everything that was said, without colours."""
        return plain("".join(self._text))

    def add(self, text: str) -> None:
        """Note a text."""
        if text:
            self._announce()
            self._text.append(text)

    def displayed(self, data: Mapping[str, Any]) -> None:
        """Note a display: its pictures, or else its plain text."""
        self._announce()
        pictures = [kind for kind in _PICTURES if kind in data]
        for kind in pictures[:1]:
            value = data[kind]
            code = base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
            self.images.append(Image(data=code.replace("\n", ""), media_type=kind))
        if not pictures and data.get("text/plain"):
            start = "\n" if self._text and not self._text[-1].endswith("\n") else ""
            self._text.append(f"{start}{data['text/plain']}\n")

    def _announce(self) -> None:
        if not self._any:
            self._any = True
            self._before_output()


class _Echo:
    """A stream that passes everything on and notes what the watched context writes.

    What the agent's code writes is shown with its secrets masked.
    """

    def __init__(self, stream: TextIO, notes: Notes, mask: Mask) -> None:
        self._stream = stream
        self._notes = notes
        self._mask = mask

    def write(self, text: str) -> int:
        if _active.get() is self._notes:
            self._notes.add(text)
            self._stream.write(self._mask(text))
            return len(text)
        return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _masked(data: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    return {
        kind: mask(value) if kind.startswith("text/") and isinstance(value, str) else value
        for kind, value in data.items()
    }


@contextmanager
def noting(
    shell: InteractiveShell, before_output: Callable[[], None], mask: Mask = redact
) -> Iterator[Notes]:
    """Note what the current context outputs; other tasks of the loop are left out.

    ``mask`` makes of a text what is shown of it.
    """
    notes = Notes(before_output)
    publisher: Any = shell.display_pub
    publish = publisher.publish
    held = publisher.__dict__.get("publish")

    def watched(data: Any, *args: Any, **kwargs: Any) -> Any:
        if _active.get() is not notes or kwargs.get("update"):
            return publish(data, *args, **kwargs)
        notes.displayed(data)
        # A terminal's publisher prints, which is not to be noted twice.
        inner = _active.set(None)
        try:
            return publish(_masked(data, mask), *args, **kwargs)
        finally:
            _active.reset(inner)

    token = _active.set(notes)
    out, err = sys.stdout, sys.stderr
    publisher.publish = watched
    # The echoes stand in for text streams: every other attribute is the stream's own.
    sys.stdout, sys.stderr = _Echo(out, notes, mask), _Echo(err, notes, mask)
    try:
        yield notes
    finally:
        sys.stdout, sys.stderr = out, err
        if held is None:
            del publisher.publish
        else:
            publisher.publish = held
        _active.reset(token)
