"""What a run looks like, from its events alone."""

import re

from inline_snapshot import snapshot

from claw_nb.core.events import (
    ApprovalRequest,
    ApprovalRequested,
    ApprovalResolved,
    MessageAdded,
    PartialDiscarded,
    RetryScheduled,
    RunFailed,
    RunFinished,
    RunStarted,
    TextAdded,
    ThinkingAdded,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from claw_nb.core.messages import Message, Text, Thinking, ToolCall, ToolResult, Usage
from claw_nb.notebook import prose
from claw_nb.notebook.approval import question_html, question_text
from claw_nb.notebook.display import EVERY, CellView, TerminalView
from claw_nb.notebook.words import SHOWN, duration

STARTED = RunStarted(
    run_id="r", session_id="s", agent="main", provider="scripted", model="tiny", prompt="hi"
)
CALL = ToolCall(id="1", name="run_python", arguments={"code": "x = 1\nx"})
USAGE = Usage(input=1200, output=34, cost=0.0123)
ENDED = RunFinished(stop="end", turns=2, tools=1, usage=USAGE, ms=1234)


def said(*parts):
    return MessageAdded(message=Message(role="assistant", parts=parts))


def result(text, error=None):
    got = ToolResult(call_id="1", name="run_python", parts=(Text(text=text),), error=error)
    return ToolFinished(call=CALL, result=got, ms=12)


RUN = (
    STARTED,
    TurnStarted(turn=1),
    ThinkingAdded(text="I need "),
    ThinkingAdded(text="code."),
    TextAdded(text="Let me "),
    TextAdded(text="look."),
    said(Thinking(text="I need code."), Text(text="Let me look."), CALL),
    ToolStarted(call=CALL, effect="execute"),
    result("1"),
    TurnStarted(turn=2),
    TextAdded(text="It is **1**."),
    said(Text(text="It is **1**.")),
    ENDED,
)


class Screen:
    """A front end: what each display shows, and how often it was told."""

    def __init__(self):
        self.now = 0.0
        self.shown = {}
        self.sent = 0
        self.view = CellView(self.publish, clock=lambda: self.now)

    def publish(self, bundle, display_id, update):
        assert update == (display_id in self.shown)
        self.shown[display_id] = bundle
        self.sent += 1

    def feed(self, *events):
        for event in events:
            self.view.feed(event)

    @property
    def plain(self):
        return [bundle["text/plain"] for bundle in self.shown.values()]

    @property
    def html(self):
        return "".join(bundle["text/html"] for bundle in self.shown.values())


def test_a_run_as_plain_text_and_as_markdown():
    screen = Screen()
    screen.feed(*RUN)
    assert screen.plain == snapshot(
        [
            """\
Let me look.
✓ run_python  x = 1 …  (12 ms)
It is **1**.
[tiny · 2 turns · 1 tool call · 1,200 tokens in, 34 out · $0.0123 · 1.2 s]\
"""
        ]
    )
    (bundle,) = screen.shown.values()
    assert bundle["text/markdown"] == snapshot(
        """\
<details><summary>Thinking</summary>

> I need code.

</details>

Let me look.

<details><summary>✓ <strong>run_python</strong> <code>x = 1 …</code> (12 ms)</summary>

```python
x = 1
x
```

```text
1
```

</details>

It is **1**.

*tiny · 2 turns · 1 tool call · 1,200 tokens in, 34 out · $0.0123 · 1.2 s*\
"""
    )


def test_a_run_as_html():
    screen = Screen()
    screen.feed(*RUN)
    bare = re.sub(r"<style>.*?</style>", "", screen.html)
    assert bare == snapshot(
        """\
<div class="claw" role="region" aria-label="Answer"><details class="claw-thought"><summary>Thinking</summary><div class="claw-box"><p>I need code.</p>
</div></details><div class="claw-words"><p>Let me look.</p>
</div><details class="claw-step claw-done tex2jax_ignore mathjax_ignore"><summary><span class="claw-mark" aria-hidden="true">✓</span> <strong>run_python</strong> <code>x = 1 …</code> <span class="claw-facts">12 ms</span></summary><div class="claw-box"><div class="claw-label">Input</div><pre tabindex="0"><span class="n">x</span> <span class="o">=</span> <span class="mi">1</span>
<span class="n">x</span></pre><div class="claw-label">Output</div><pre tabindex="0">1</pre></div></details><div class="claw-words"><p>It is <strong>1</strong>.</p>
</div><div class="claw-footer tex2jax_ignore mathjax_ignore" role="contentinfo">tiny · 2 turns · 1 tool call · 1,200 tokens in, 34 out · $0.0123 · 1.2 s</div></div>\
"""
    )


def test_at_most_ten_updates_a_second_and_nothing_is_lost():
    screen = Screen()
    screen.feed(STARTED, TurnStarted(turn=1))
    begun = screen.sent
    for number in range(999):
        screen.now += 0.002
        screen.feed(TextAdded(text=f"{number} "))
    assert screen.sent - begun <= 2.0 / EVERY + 1
    assert screen.view.due() is not None
    screen.view.render()
    assert screen.view.due() is None
    assert screen.plain[0].endswith("997 998")


def test_the_end_equals_the_transcript_whatever_the_deltas_were():
    screen = Screen()
    screen.feed(STARTED, TurnStarted(turn=1), TextAdded(text="Hel"), said(Text(text="Hello, all.")))
    screen.feed(RunFinished(stop="end", turns=1, tools=0, usage=Usage(), ms=5))
    assert screen.plain == ["Hello, all.\n[tiny · 1 turn · 5 ms]"]


def test_a_cut_answer_is_taken_back():
    screen = Screen()
    screen.feed(STARTED, TurnStarted(turn=1), TextAdded(text="Wrong"), PartialDiscarded(turn=1))
    screen.feed(RetryScheduled(attempt=1, wait=2, kind="overloaded", error="busy"))
    screen.feed(TextAdded(text="Right"), said(Text(text="Right")), ENDED)
    assert "Wrong" not in screen.html
    assert screen.plain[0].splitlines()[:2] == ["[busy. Asking again in 2 s.]", "Right"]


def test_what_code_shows_stands_between_the_words_around_it():
    screen = Screen()
    screen.feed(*RUN[:8])
    screen.view.divide()
    screen.shown["a plot"] = {"text/plain": "plot"}
    screen.feed(*RUN[8:])
    assert screen.plain == [
        "Let me look.\n✓ run_python  x = 1 …  (12 ms)",
        "plot",
        "It is **1**.\n[tiny · 2 turns · 1 tool call · 1,200 tokens in, 34 out · $0.0123 · 1.2 s]",
    ]


def test_a_question_takes_a_place_and_gives_it_to_the_call():
    screen = Screen()
    request = ApprovalRequest(call=CALL, effect="execute", reason="it runs code", digest="d")
    screen.feed(*RUN[:7])
    place = screen.view.hold("1")
    screen.shown[place] = {"text/plain": "buttons"}
    screen.feed(ApprovalRequested(request=request))
    assert screen.plain == ["Let me look.", "buttons"]
    screen.view.release()
    screen.feed(ApprovalResolved(request=request, decision="once", by="you"), *RUN[7:])
    assert screen.plain[1].startswith("✓ run_python  x = 1 …  (12 ms, allowed once by you)\nIt is")


def test_a_broken_run_leaves_no_call_running():
    screen = Screen()
    failed = RunFailed(
        kind="cancelled", error="stopped", hint="", turns=1, tools=0, usage=Usage(), ms=9
    )
    screen.feed(*RUN[:8], failed)
    assert screen.plain == [
        "Let me look.\n■ run_python  x = 1 …  (interrupted)\n[stopped · tiny · 1 turn · 9 ms]"
    ]
    assert 'aria-busy="true"' not in screen.html


def test_a_failed_call_tells_why():
    screen = Screen()
    screen.feed(*RUN[:8], result("NameError: x", error="system"), ENDED)
    assert "✗ run_python  x = 1 …  (failed, 12 ms)\n    NameError: x" in screen.plain[0]


def test_long_output_is_cut_in_the_notebook():
    screen = Screen()
    screen.feed(*RUN[:8], result("a" * 5 * SHOWN), ENDED)
    (bundle,) = screen.shown.values()
    assert "24,000 more characters are in the transcript" in bundle["text/markdown"]
    assert len(bundle["text/markdown"]) < 2 * SHOWN


def test_the_terminal_shows_each_thing_once():
    written = []
    view = TerminalView(written.append)
    for event in RUN:
        view.feed(event)
    assert "".join(written) == snapshot(
        """\
Let me look.
✓ run_python  x = 1 …  (12 ms)
It is **1**.
"""
    )


def test_the_terminal_shows_an_answer_that_did_not_stream():
    written = []
    view = TerminalView(written.append)
    for event in (STARTED, TurnStarted(turn=1), said(Text(text="All at once.")), ENDED):
        view.feed(event)
    assert "".join(written) == "All at once.\n"


def test_html_of_a_model_is_text():
    shown = prose.html("<script>x</script> [a](javascript:x) [b](https://b.example 'c')")
    assert shown == snapshot(
        '<p>&lt;script&gt;x&lt;/script&gt; [a](javascript:x) <a href="https://b.example" title="c" rel="noopener noreferrer" target="_blank">b</a></p>\n'
    )


def test_pictures_from_elsewhere_are_links():
    shown = prose.html("![p](https://e.example/p.png?q=secret) ![q](data:image/png;base64,AAAA)")
    assert '<img src="data:image/png;base64,AAAA" alt="q">' in shown
    assert shown.count("<img") == 1
    assert 'href="https://e.example/p.png?q=secret"' in shown


def test_formulas_reach_mathjax_untouched_and_money_does_not():
    assert prose.html(r"$\mathbf{a}_i \cdot b_*$ and \(x_1*y*\)") == (
        "<p>$\\mathbf{a}_i \\cdot b_*$ and \\(x_1*y*\\)</p>\n"
    )
    assert prose.html("$5 or $10").count("mathjax_ignore") == 2


def test_durations_read_at_a_glance():
    assert [duration(ms) for ms in (3, 949, 1200, 59_940, 61_000)] == [
        "3 ms", "949 ms", "1.2 s", "59.9 s", "1 min 1 s",
    ]  # fmt: skip


def test_a_question_shows_the_whole_call():
    code = "\n".join(f"step({number})" for number in range(2_000))
    call = ToolCall(id="1", name="run_python", arguments={"code": code})
    asked = ApprovalRequest(call=call, effect="execute", reason="it runs code", digest="d")
    assert len(code) > SHOWN
    assert "step(1000)" in question_text(asked)
    assert "1000" in question_html(asked)
