"""An answer as Markdown and as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from claw_nb.notebook.inert import inert
from claw_nb.notebook.story import Ending, Item, Remark, Step, Thought, Words
from claw_nb.notebook.words import MARKS, STATES, at_work, duration, footer, gist, given, got


def markdown(items: Iterable[Item], ending: Ending | None = None, *, model: str = "") -> str:
    """Markdown that GitHub, nbconvert and editors show; tool calls fold where HTML is understood."""
    parts = [_markdown(item) for item in items]
    if ending is not None:
        parts.append(f"*{' · '.join(footer(ending, model))}*")
    return "\n\n".join(part for part in parts if part)


def plain(items: Iterable[Item], ending: Ending | None = None, *, model: str = "") -> str:
    """Text for terminals and for those who read mail."""
    parts = [text for text in map(plain_item, items) if text]
    if ending is not None:
        parts.append(f"[{' · '.join(footer(ending, model))}]")
    return "\n".join(parts)


def plain_item(item: Item) -> str:
    """One item as plain text; thoughts are left out."""
    match item:
        case Words(text=text):
            return text.strip()
        case Step():
            return plain_step(item)
        case Remark(text=text):
            return f"[{text}]"
        case Thought():
            return ""


def plain_step(step: Step) -> str:
    """A tool call in one line, and what went wrong below it."""
    head = f"{MARKS[step.status]} {step.call.name}"
    told = gist(step.call)
    told_already = step.status == "done" or (step.status == "denied" and step.answered)
    facts = [] if told_already else [STATES[step.status]]
    facts += [duration(step.ms)] if step.ms and step.ms >= 1 else []
    facts += [step.answered] if step.answered else []
    facts += [now] if (now := at_work(step)) else []
    line = f"{head}  {told}".rstrip() + (f"  ({', '.join(facts)})" if facts else "")
    if step.status == "failed":
        line += "\n" + "\n".join(f"    {row}" for row in got(step).splitlines())
    return line


def _markdown(item: Item) -> str:
    match item:
        case Words(text=text):
            return inert(text).strip()
        case Thought(text=text):
            return _folded("Thinking", _quoted(inert(text)))
        case Remark(text=text):
            return _quoted(inert(text))
        case Step():
            return _step(item)


def _step(step: Step) -> str:
    told = gist(step.call)
    title = f"{MARKS[step.status]} <strong>{escape(step.call.name)}</strong>"
    title += f" <code>{escape(told)}</code>" if told else ""
    title += f" {STATES[step.status]}" if step.status != "done" else ""
    title += f" ({duration(step.ms)})" if step.ms and step.ms >= 1 else ""
    title += f" {escape(now)}" if (now := at_work(step)) else ""
    code, language = given(step.call)
    body = [_fenced(code, language)] if code else []
    output = got(step)
    # A denial tells the model what to do, which the line below says to people.
    told_already = step.status == "denied" and step.answered
    body += [_fenced(output, "text")] if output and not told_already else []
    body += [f"*{inert(' '.join(step.answered.split()))}*"] if step.answered else []
    return _folded(title, "\n\n".join(body))


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _fenced(text: str, language: str) -> str:
    """A fence longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
