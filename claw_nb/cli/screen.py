"""A run on a terminal."""

from __future__ import annotations

import click

from claw_nb.core.counted import counted
from claw_nb.core.events import (
    ApprovalResolved,
    CompactionFinished,
    Event,
    MessageAdded,
    PartialDiscarded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    SessionRotated,
    TextAdded,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
)
from claw_nb.core.invisible import visible
from claw_nb.core.redact import redact
from claw_nb.core.unfolding import Unfolding


class Screen:
    """The answer on standard output, everything else on standard error.

    Secrets are masked, and escape sequences are shown and not obeyed. The answer's last word waits
    until it is whole, so that no secret is ever half shown.
    """

    def __init__(self) -> None:
        self._column = 0
        self._coming = Unfolding()

    def show(self, event: Event) -> None:
        """Print what one event adds."""
        match event:
            case TextAdded(text=text):
                self._say(self._coming.add(text))
            case MessageAdded():
                self._say(self._coming.rest())
            case PartialDiscarded():
                self._coming = Unfolding()
                self._aside("answer> cut off, asking again")
            case ToolStarted(call=call):
                self._aside(f"tool> {call.name} started")
            case ToolProgressed(text=text):
                self._aside(f"tool>   {text}")
            case ApprovalResolved(request=request, decision="denied", by=by, why=why) if (
                by != "you"
            ):
                self._aside(f"tool> {request.call.name} denied{f': {why}' if why else ''}")
            case ToolFinished(call=call, result=result, ms=ms):
                how = f"failed ({result.error})" if result.error else "completed"
                self._aside(f"tool> {call.name} {how} in {ms / 1000:.1f} s")
            case RetryScheduled(wait=wait, error=error):
                self._aside(f"retry> in {wait:.0f} s: {error}")
            case CompactionFinished(before=before, after=after, compaction=made) if made:
                self._aside(f"compacted> {before} to about {after} tokens; the whole is kept")
            case SessionRotated(session_id=session_id):
                self._aside(f"session> goes on as {session_id[:13]}, which begins with a summary")
            case RunFinished():
                self._aside("")
                self._aside(footer(event))
            case RunFailed(error=error, hint=hint):
                self._aside(f"claw: {error}")
                if hint:
                    self._aside(hint)
            case _:
                pass

    def _say(self, text: str) -> None:
        if text:
            click.echo(visible(text), nl=False)
            self._column = len(text.rpartition("\n")[2]) or (0 if "\n" in text else self._column)

    def _aside(self, line: str) -> None:
        self._say(self._coming.rest())
        if self._column:
            click.echo()
            self._column = 0
        if line:
            click.secho(visible(redact(line)), err=True, dim=True)


def footer(event: RunFinished) -> str:
    """Turns, tools, tokens, money and time in one line."""
    usage = event.usage
    parts = [counted(event.turns, "turn"), counted(event.tools, "tool call")]
    if usage.input or usage.output:
        parts.append(f"{usage.input + usage.cache_read + usage.cache_write}+{usage.output} tokens")
    if usage.cost:
        parts.append(f"${usage.cost:.4f}")
    parts.append(f"{event.ms / 1000:.1f} s")
    if event.stop != "end":
        parts.append(f"stopped: {event.stop}")
    return " · ".join(parts)
