"""A tool's result that is too long for the conversation: kept elsewhere, its ends shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from claw_nb.core.errors import ClawError
from claw_nb.core.messages import Image, Text

Keep = Callable[[str, str], str]
"""``keep(tool, text)`` stores a result and returns a handle to read it by; raises ClawError."""

HEAD, TAIL = 3 / 16, 1 / 16
"""The shares of the limit that are shown of the beginning and of the end."""

Parts = tuple[Text | Image, ...]


async def shortened(name: str, parts: Parts, *, limit: int, keep: Keep | None) -> Parts:
    """The parts of a tool's result with its words in at most ``limit`` characters."""
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    if len(text) <= limit:
        return parts
    note = await _kept(name, text, keep)
    head, tail = int(limit * HEAD), int(limit * TAIL)
    lines = text.count("\n") + 1
    words = (
        f"{text[:head]}\n\n[… {len(text) - head - tail:,} of {len(text):,} characters "
        f"({lines:,} lines) are left out here. {note} …]\n\n{text[len(text) - tail :]}"
    )
    return (Text(text=words), *(part for part in parts if isinstance(part, Image)))


async def _kept(name: str, text: str, keep: Keep | None) -> str:
    if keep is None:
        return "They are not kept: ask for less at once."
    try:
        handle = await asyncio.to_thread(keep, name, text)
    except ClawError as error:
        return f"They could not be kept ({error.message}): ask for less at once."
    return (
        f'The whole result is kept as "{handle}": read on with read_result(handle="{handle}", '
        "offset=…, limit=…), counted in characters."
    )
