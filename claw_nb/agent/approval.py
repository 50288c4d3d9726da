"""May this call run: the tool's own policy first, then the grant, then a person."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from claw_nb.core.errors import ToolError
from claw_nb.core.events import ApprovalRequest
from claw_nb.core.messages import ToolCall
from claw_nb.core.protocols import Answer
from claw_nb.core.tools import Review, Tool


def review(tool: Tool, arguments: Mapping[str, Any]) -> Review:
    """What the tool's policy says; without one, only reading is free."""
    if tool.review is not None:
        return tool.review(arguments)
    return Review(verdict="allow" if tool.effect == "read" else "ask")


def digest(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """A hash of the exact call, so that a yes to one call is a yes to no other."""
    body = json.dumps([tool.name, arguments], sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(body.encode()).hexdigest()


def request_for(
    tool: Tool, call: ToolCall, arguments: Mapping[str, Any], said: Review
) -> ApprovalRequest:
    """The question that a person is asked."""
    return ApprovalRequest(
        call=call,
        effect=tool.effect,
        reason=said.reason or _REASONS[tool.effect],
        digest=digest(tool, arguments),
        preview=said.preview,
        resource=(tool.resource(arguments) or "") if tool.resource else "",
        risky=said.risky,
    )


_REASONS = {
    "read": "it reads",
    "write": "it changes files or what is kept",
    "execute": "it runs code",
    "send": "it sends something out",
}


def refusal(said: Review) -> ToolError:
    """What the model is told when the policy refuses for good."""
    return ToolError(
        said.reason or "this call is not allowed",
        kind="policy",
        hints=("Do not try to get round the rule; choose another way or tell the user.",),
    )


async def ask_nobody(request: ApprovalRequest) -> Answer:
    """The answer where no person can be asked."""
    why = (
        f"Nobody is here to approve {request.call.name}. "
        "A scheduled task can be given the tool when it is made (--allow)."
    )
    return Answer(decision="denied", by="headless", why=why)
