"""What `%claw ask` gives back: the answer as an object, in `_` or in a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.getipython import get_ipython
from IPython.display import display

from claw_nb.core.messages import Message, ToolCall, Usage
from claw_nb.core.redact import redact
from claw_nb.notebook import masked
from claw_nb.notebook.display import TerminalView, bundle
from claw_nb.notebook.render import markdown
from claw_nb.notebook.words import footer

if TYPE_CHECKING:
    from claw_nb.notebook.display import CellView
    from claw_nb.notebook.story import Item, Story


def _cell() -> int:
    """The number of the running cell."""
    shell = get_ipython()
    return int(shell.execution_count) if shell else 0


class Answer:
    """The answer to one question. It has been shown already; shown again, it appears in full.

    Secrets are masked in it, as they are in the transcript.
    """

    def __init__(self, view: CellView | TerminalView) -> None:
        self._story: Story = view.story
        self._in_terminal = isinstance(view, TerminalView)
        self._cell = _cell()

    @property
    def text(self) -> str:
        """The last words of the agent, in Markdown."""
        said = [message.text for message in self._story.messages if message.role == "assistant"]
        return redact(next((text for text in reversed(said) if text.strip()), ""))

    @property
    def messages(self) -> tuple[Message, ...]:
        """What this run added to the conversation, the question first."""
        return tuple(masked.message(message) for message in self._story.messages)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools that the agent asked for, in order."""
        return tuple(call for message in self.messages for call in message.tool_calls)

    @property
    def usage(self) -> Usage:
        """Tokens and, where prices are known, US dollars."""
        return self._story.ending.usage if self._story.ending else Usage()

    @property
    def session_id(self) -> str:
        """The conversation that it belongs to."""
        return self._story.started.session_id if self._story.started else ""

    @property
    def model(self) -> str:
        """Who answered."""
        return self._story.started.model if self._story.started else ""

    def to_markdown(self) -> str:
        """The whole answer with its tool calls and footer."""
        return markdown(self._items(), self._story.ending, model=self.model)

    def _items(self) -> list[Item]:
        return [masked.masked(item) for item in self._story.ordered()]

    def _ipython_display_(self) -> None:
        """Nothing in the cell that asked, because it has shown the answer while it came."""
        if self._cell != _cell():
            data = bundle(self._items(), self._story, ending_shown=True, busy=False)
            display(dict(data), raw=True)
        elif self._in_terminal and self._story.ending:
            print(" · ".join(footer(self._story.ending, self.model)))  # noqa: T201

    def __repr__(self) -> str:
        return f"<Answer of {len(self.text)} characters, {len(self.tool_calls)} tool calls>"
