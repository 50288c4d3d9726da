"""The items of a run as they may be shown: with their secrets masked, and hidden characters told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from claw_nb.core.invisible import visible
from claw_nb.core.messages import Message, Text, ToolCall, ToolResult
from claw_nb.core.redact import known_secrets, redact, redact_json
from claw_nb.core.unfolding import unsettled
from claw_nb.core.wire import message_from_json, to_json
from claw_nb.notebook.story import Item, Remark, Step, Thought, Words


class Masks:
    """Masks items, each once: a cell is rendered again and again while its answer comes."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[Item, int, Item]] = {}

    def of(self, items: list[Item], *, growing: bool = False) -> list[Item]:
        """The items masked; the last one may be ``growing``, and what it may yet turn into is held."""
        shown = [self._one(item) for item in items[:-1] if items]
        if items:
            last = items[-1]
            open_ended = growing and isinstance(last, (Words, Thought))
            shown.append(_masked_so_far(last) if open_ended else self._one(last))
        return shown

    def _one(self, item: Item) -> Item:
        known = len(known_secrets())
        found = self._done.get(id(item))
        # The item is kept with its mask, so that no other item takes over its id.
        if found is None or found[1] != known:
            found = self._done[id(item)] = (item, known, masked(item))
        return found[2]


def masked(item: Item) -> Item:
    """One item with its secrets masked."""
    match item:
        case Words(text=text) | Thought(text=text) | Remark(text=text):
            return replace(item, text=redact(text))
        case Step(result=result):
            return replace(
                item,
                call=_call(item.call),
                result=None if result is None else _result(result),
                preview=_told(item.preview),
                progress=_told(item.progress),
                answered=_told(item.answered),
            )


def message(of: Message) -> Message:
    """A message as the transcript keeps it."""
    return message_from_json(redact_json(to_json(of)))


def _masked_so_far(item: Item) -> Item:
    assert isinstance(item, (Words, Thought))
    return replace(item, text=redact(item.text[: unsettled(item.text)]))


def _told(text: str) -> str:
    return visible(redact(text))


def _call(call: ToolCall) -> ToolCall:
    return replace(call, arguments=_seen(redact_json(call.arguments)))


def _seen(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(key)): _seen(item) for key, item in value.items()}
    return [_seen(item) for item in value] if isinstance(value, list) else value


def _result(result: ToolResult) -> ToolResult:
    parts = tuple(
        replace(part, text=_told(part.text)) if isinstance(part, Text) else part
        for part in result.parts
    )
    return replace(result, parts=parts)
