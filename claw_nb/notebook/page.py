"""An answer as HTML: words rendered, thoughts and tool calls folded, a footer."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from claw_nb.notebook import prose
from claw_nb.notebook.story import Ending, Item, Remark, Step, Thought, Words
from claw_nb.notebook.style import framed
from claw_nb.notebook.words import MARKS, STATES, at_work, duration, footer, gist, given, got


def page(
    items: Iterable[Item], ending: Ending | None = None, *, model: str = "", busy: bool = False
) -> str:
    """The HTML of some items in a row; ``busy`` while more is to come."""
    body = [_item(item) for item in items]
    if busy and not body:
        body = ['<div class="claw-wait">Thinking …</div>']
    if ending is not None:
        body.append(_footer(ending, model))
    return framed("".join(body), label="Answer", busy=busy) if body else ""


def _item(item: Item) -> str:
    match item:
        case Words(text=text):
            return f'<div class="claw-words">{prose.html(text)}</div>' if text.strip() else ""
        case Thought(text=text):
            inside = f'<div class="claw-box">{prose.html(text)}</div>'
            return f'<details class="claw-thought"><summary>Thinking</summary>{inside}</details>'
        case Remark(text=text):
            return f'<div class="claw-remark" role="note">{escape(text)}</div>'
        case Step():
            return _step(item)


def _step(step: Step) -> str:
    facts = [STATES[step.status]] if step.status != "done" else []
    facts += [duration(step.ms)] if step.ms and step.ms >= 1 else []
    facts += [now] if (now := at_work(step)) else []
    told = gist(step.call)
    title = (
        f'<span class="claw-mark" aria-hidden="true">{MARKS[step.status]}</span> '
        f"<strong>{escape(step.call.name)}</strong>"
        + (f" <code>{escape(told)}</code>" if told else "")
        + (f' <span class="claw-facts">{escape(" · ".join(facts))}</span>' if facts else "")
    )
    return (
        f'<details class="claw-step claw-{step.status} tex2jax_ignore mathjax_ignore">'
        f"<summary>{title}</summary>"
        f'<div class="claw-box">{_inside(step)}</div></details>'
    )


def _inside(step: Step) -> str:
    code, language = given(step.call)
    output = got(step)
    parts = []
    if code:
        parts.append(_labelled("Input", prose.code(code, language)))
    if step.preview and step.preview.strip() != code.strip():
        kind = "diff" if step.preview.lstrip().startswith(("---", "@@", "+++")) else ""
        parts.append(_labelled("Change", prose.code(step.preview, kind)))
    # A denial tells the model what to do, which the line below says to people.
    if output and not (step.status == "denied" and step.answered):
        parts.append(_labelled("Output" if step.status == "done" else "Result", escape(output)))
    if step.answered:
        parts.append(f'<div class="claw-facts">{escape(_sentence(step.answered))}</div>')
    return "".join(parts) or '<div class="claw-facts">Nothing to show.</div>'


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _labelled(label: str, body: str) -> str:
    return f'<div class="claw-label">{label}</div><pre tabindex="0">{body}</pre>'


def _footer(ending: Ending, model: str) -> str:
    ended = ending.kind != "end"
    parts = [escape(part) for part in footer(ending, model)]
    if ended:
        parts[0] = f'<span class="claw-ended">{parts[0]}</span>'
    line = " · ".join(parts)
    return f'<div class="claw-footer tex2jax_ignore mathjax_ignore" role="contentinfo">{line}</div>'
