"""A file as the model reads it: a page of its lines, or a picture."""

from __future__ import annotations

import base64
from pathlib import Path

from claw_nb.core.errors import ToolError
from claw_nb.core.messages import Image, Text
from claw_nb.core.tools import ToolOutput
from claw_nb.tools.beneath import read
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.oserrors import told

MOST_LINES = 2_000
MOST_BYTES = 50_000

_MOST_READ = 64_000_000
_MOST_PICTURE = 3_750_000
"""Bytes; in base64 that is the 5 MB that model services take."""

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def page(boundary: Boundary, real: Path, *, offset: int, limit: int) -> ToolOutput:
    """Lines ``offset`` to ``offset + limit - 1``, or the picture; raises ToolError."""
    shown = boundary.shown(real)
    with told(boundary, real):
        content, found = read(boundary, real, most=_MOST_READ)
    media_type = _picture(content)
    if media_type:
        return _image(content, media_type, shown)
    text = _decoded(content, shown)
    whole = len(content) == found.st_size or found.st_size == 0
    return ToolOutput(parts=(Text(text=_lines(text, shown, offset, limit, whole=whole)),))


def _lines(text: str, shown: str, offset: int, limit: int, *, whole: bool) -> str:
    if not text:
        return f"({shown} is empty)"
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = f"{len(lines)}" if whole else f"more than {len(lines)}"
    if offset > len(lines):
        raise ToolError(
            f"{shown} has {total} lines; there is no line {offset}",
            kind="validation",
            hints=(f"Read from a line between 1 and {len(lines)}.",),
        )
    kept, size = [], 0
    for line in lines[offset - 1 : offset - 1 + limit]:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > MOST_BYTES:
            break
        kept.append(line)
    if not kept:
        cut = lines[offset - 1].encode("utf-8", "replace")[:MOST_BYTES].decode("utf-8", "ignore")
        note = f"line {offset} is longer than {MOST_BYTES:,} bytes and is cut here"
        return f"{cut}\n\n[{note}; read the rest with run_python or bash.]"
    last = offset + len(kept) - 1
    if last == len(lines) and whole:
        return "\n".join(kept) + ("\n" if text.endswith("\n") else "")
    note = f"[Lines {offset} to {last} of {total}; go on with offset={last + 1}.]"
    return "\n".join((*kept, "", note))


def _decoded(content: bytes, shown: str) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if content.startswith(mark):
            return content.decode(encoding, "replace").replace("\r\n", "\n")
    if b"\0" in content[:8_192]:
        raise ToolError(
            f"{shown} is not text, nor a picture that can be shown",
            kind="validation",
            hints=("Read it with run_python and the library for its format.",),
        )
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if "\ufffd" in text and "\ufffd".encode() not in content:
        text += f"\n[{shown} is not UTF-8: what can't be read stands as \ufffd.]"
    return text


def _picture(content: bytes) -> str | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURES if content.startswith(start)), None)


def _image(content: bytes, media_type: str, shown: str) -> ToolOutput:
    if len(content) > _MOST_PICTURE:
        raise ToolError(
            f"the picture {shown} has {len(content):,} bytes, more than {_MOST_PICTURE:,}",
            kind="validation",
            hints=("Make a smaller copy of it with run_python and read that.",),
        )
    picture = Image(data=base64.b64encode(content).decode("ascii"), media_type=media_type)
    return ToolOutput(parts=(Text(text=f"{shown}: {media_type}, {len(content):,} bytes"), picture))
