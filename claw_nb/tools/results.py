"""Reading on in a result that was too long to be sent whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from claw_nb.core.errors import NotFound, ToolError
from claw_nb.core.tools import Tool, tool

ReadResult = Callable[[str], Awaitable[str]]
"""The whole text of a kept result by its handle; raises NotFound."""

USUAL = 20_000


def result_tools(read: ReadResult, *, most: int = 50_000) -> tuple[Tool, ...]:
    """``read_result`` over a function; one call gives at most ``most`` characters."""

    @tool()
    async def read_result(
        handle: Annotated[str, "The handle that the shortened result names."],
        offset: Annotated[int, "The first character, from 0."] = 0,
        limit: Annotated[int, "Characters at most."] = min(USUAL, most),
    ) -> str:
        """Read on in a tool's result of which only the beginning and the end were shown."""
        if offset < 0 or limit < 1:
            raise ToolError("offset counts from 0 and limit from 1", kind="validation")
        try:
            text = await read(handle.strip())
        except NotFound as error:
            raise ToolError(
                error.message, kind="not_found", hints=(error.hint, "Or call the tool again.")
            ) from error
        if offset >= len(text):
            raise ToolError(
                f"the result has {len(text):,} characters", kind="validation",
                hints=(f"Choose an offset below {len(text)}.",),
            )  # fmt: skip
        end = min(offset + min(limit, most), len(text))
        left = f"\n\n[{len(text) - end:,} characters follow: offset={end}]"
        return text[offset:end] + (left if end < len(text) else "")

    return (read_result,)
