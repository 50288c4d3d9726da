"""`%claw` in a real kernel, as a front end sees it."""

import pytest

CODE = {"name": "run_python", "arguments": {"code": "value = 6 * 7\nprint('drawing')\nvalue"}}
SLOW = {"text": "A long story. " * 300, "pause": 0.05}


def test_a_question_is_answered_in_one_display(kernel):
    kernel.answers({"text": "It is **42**. " * 20, "pause": 0.02})
    cell = kernel.run("%claw ask --new what is it?")
    assert cell.status == "ok"
    assert len(cell.outputs) == 1
    assert cell.updates > 2
    assert cell.text.startswith("It is **42**. It is")
    assert "<strong>42</strong>" in cell.mime("text/html")[0]


def test_the_answer_is_an_object(kernel):
    kernel.answers({"calls": [CODE]}, {"text": "Done.", "usage": {"input": 3, "output": 4}})
    kernel.run("%claw ask --new --allow run_python go")
    facts = kernel.run(
        "(_.text, [c.name for c in _.tool_calls], _.usage.output, len(_.session_id))"
    )
    assert facts.text == "('Done.', ['run_python'], 4, 32)"
    kernel.answers({"text": "Saved."})
    assert kernel.run("a = %claw ask --new hi").text.startswith("Saved.")
    assert kernel.run("print(a.to_markdown())").text.startswith("Saved.\n\n*script")
    shown = kernel.run("a")
    assert shown.text.startswith("Saved.")
    assert set(shown.outputs[0]["data"]) == {"text/html", "text/markdown", "text/plain"}


def test_code_runs_in_the_users_namespace_and_shows_its_output_in_order(kernel):
    kernel.answers({"text": "First.", "calls": [CODE]}, "Last.")
    cell = kernel.run("%claw ask --new --allow run_python go")
    lines = cell.text.splitlines()
    assert [lines[0], *lines[2:5]] == ["First.", "drawing", "42", "Last."]
    assert "✓ run_python" in lines[1]
    assert kernel.run("value").text == "42"


def test_plots_are_shown_and_reach_the_model(kernel):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 3]);"
    call = {"name": "run_python", "arguments": {"code": code}}
    kernel.answers({"calls": [call]}, "A line.")
    cell = kernel.run("%claw ask --new --allow run_python draw")
    assert len(cell.mime("image/png")) == 1
    assert kernel.run("[p.media_type for m in _.messages for r in m.parts"
                      " for p in getattr(r, 'parts', ()) if hasattr(p, 'media_type')]").text == (
        "['image/png']"
    )  # fmt: skip


def test_an_error_in_the_agents_code_does_not_fail_the_cell(kernel):
    call = {"name": "run_python", "arguments": {"code": "print('before')\n1 / 0"}}
    kernel.answers({"calls": [call]}, "It failed.")
    cell = kernel.run("%claw ask --new --allow run_python go")
    assert cell.status == "ok"
    assert "ZeroDivisionError" in cell.text
    assert "\x1b" not in cell.text
    assert not cell.error


def test_the_agents_code_may_await(kernel):
    code = "import asyncio\nawait asyncio.sleep(0.01)\n'woke'"
    kernel.answers({"calls": [{"name": "run_python", "arguments": {"code": code}}]}, "Ok.")
    assert "'woke'" in kernel.run("%claw ask --new --allow run_python go").text


def test_history_holds_what_the_user_typed(kernel):
    kernel.answers({"calls": [CODE]}, "Ok.")
    kernel.run("%claw ask --new --allow run_python go")
    assert kernel.run("%history -l 1").text.endswith("--allow run_python go")


# -- asking before harm ----------------------------------------------------------------------------


@pytest.mark.parametrize(("reply", "ran"), [("y", True), ("n not now", False), ("", False)])
def test_a_typed_answer_decides(kernel, reply, ran):
    kernel.answers({"calls": [CODE]}, "Ok.")
    cell = kernel.run("%claw ask --new go", reply=reply)
    assert cell.prompts == [
        "Allow run_python? [y]es once, yes for this [s]ession, always this [t]ool here, [n]o: "
    ]
    assert ("drawing" in cell.text.splitlines()) == ran
    assert ("denied by you" in cell.text) == (not ran)


def test_yes_for_the_session_is_asked_for_once(kernel):
    kernel.answers({"calls": [CODE]}, {"calls": [CODE]}, "Ok.")
    assert len(kernel.run("%claw ask --new go", reply="s").prompts) == 1


@pytest.mark.parametrize(
    ("button", "ran"),
    [("Allow once", True), ("Allow for this session", True), ("Deny", False)],
)
def test_a_button_decides_while_the_cell_runs(lab, button, ran):
    lab.answers({"calls": [CODE]}, "Ok.")
    cell = lab.run("%claw ask --new go", click=button)
    assert cell.status == "ok"
    assert cell.prompts == []
    assert ("drawing" in cell.text.splitlines()) == ran
    assert not cell.mime("application/vnd.jupyter.widget-view+json")


FORGET = """
from claw_nb.workspace import Workspace
work = Workspace.open()
for rule in work.store.rules.list():
    work.store.rules.forget(rule.id)
work.close()
"""


def test_always_holds_in_new_conversations_until_it_is_forgotten(lab):
    lab.answers({"calls": [CODE]}, "Ok.")
    lab.run("%claw ask --new go", click="Always allow here")
    lab.answers({"calls": [CODE]}, "Ok.")
    cell = lab.run("%claw ask --new go again")
    assert "drawing" in cell.text.splitlines()
    assert "always allowed here by a rule" in cell.text
    lab.run(FORGET)
    lab.answers({"calls": [CODE]}, "Ok.")
    assert "drawing" not in lab.run("%claw ask --new once more", click="Deny").text.splitlines()


def test_vs_code_names_its_notebook_and_gets_buttons(kernel):
    if not kernel.hears_clicks:
        pytest.skip("this ipykernel delivers no click while a cell runs; input() asks there")
    kernel.answers({"calls": [CODE]}, "Ok.")
    kernel.run("__vsc_ipynb_file__ = '/somewhere/book.ipynb'")
    cell = kernel.run("%claw ask --new go", click="Allow once")
    assert cell.prompts == []
    assert "drawing" in cell.text.splitlines()


@pytest.mark.parametrize("where", ["kernel", "lab"])
def test_silence_is_a_no(where, request):
    front = request.getfixturevalue(where)
    front.answers({"calls": [CODE]}, "Ok.", "Still here.")
    front.run(
        "import dataclasses\n"
        "work = get_ipython().magics_manager.registry['Claw'].surface.workspace\n"
        "kept, work.settings = work.settings, dataclasses.replace(work.settings, approval_timeout=0.5)"
    )
    cell = front.run("%claw ask --new go", reply=None)
    front.run("work.settings = kept")
    assert "nobody answered within 0.5 seconds" in cell.text
    assert "drawing" not in cell.text.splitlines()
    assert "Still here." in front.run("%claw ask hello?").text


def test_without_anybody_to_ask_the_answer_is_no(lab):
    lab.answers({"calls": [CODE]}, "Ok.")
    cell = lab.run("%claw ask --new go", stdin=False)
    assert "Nobody is here to approve run_python" in cell.text
    assert cell.status == "ok"


def test_a_grant_runs_without_anybody(lab):
    lab.answers({"calls": [CODE]}, "Ok.")
    cell = lab.run("%claw ask --new --allow run_python go", stdin=False)
    assert "drawing" in cell.text.splitlines()


# -- where nothing can be awaited ------------------------------------------------------------------


def test_inside_a_function_the_answer_comes_too(kernel):
    kernel.answers({"calls": [CODE]}, "Done.")
    cell = kernel.run(
        "def f(what):\n    a = %claw ask --new do {what}\n    return a.text, threading.active_count()\n"
        "import threading\nbefore = threading.active_count()\ntext, after = f('it')\n"
        "text, after - before",
        reply="y",
    )
    assert len(cell.prompts) == 1
    assert cell.text.splitlines()[-1] == "('Done.', 0)"
    assert "drawing" in cell.text.splitlines()
    assert kernel.run("value").text == "42"


def test_inside_an_async_function_and_a_loop(kernel):
    kernel.answers("One.", "Two.", "Three.")
    cell = kernel.run(
        "%claw new\nasync def f():\n    a = %claw ask again\n    return a\n"
        "for n in range(2):\n    %claw ask {n}\n(await f()).text"
    )
    assert cell.status == "ok"
    assert cell.text.splitlines()[-1] == "'Three.'"


def test_with_autoawait_off(kernel):
    kernel.answers({"calls": [CODE]}, "Done.")
    kernel.run("%autoawait off")
    cell = kernel.run("%claw ask --new go", reply="y")
    assert cell.status == "ok"
    assert "drawing" in cell.text.splitlines()
    assert cell.text.count("Done.") == 1


# -- Stop ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    ["%claw ask --new go", "def f():\n    %claw ask --new go\nf()"],
    ids=["awaited", "blocking"],
)
def test_stop_ends_the_run_and_the_next_question_works(kernel, question):
    kernel.answers(SLOW)
    cell = kernel.run(question, when="A long story. A long", then=kernel.manager.interrupt_kernel)
    assert cell.status == "error"
    assert cell.error["evalue"].startswith("stopped.")
    assert "[stopped · script" in cell.text
    assert cell.text.count("A long story.") < 300
    kernel.answers("Hello again.")
    assert kernel.run("%claw ask --new hello").text.startswith("Hello again.")


@pytest.mark.parametrize(
    "code", ["import time\ntime.sleep(50)", "import asyncio\nawait asyncio.sleep(50)"]
)
def test_stop_interrupts_the_agents_code(kernel, code):
    kernel.answers({"calls": [{"name": "run_python", "arguments": {"code": code}}]}, "Never.")
    cell = kernel.run(
        "%claw ask --new --allow run_python go", when="●", then=kernel.manager.interrupt_kernel
    )
    assert cell.status == "error"
    assert "[stopped" in cell.text
    assert "Never." not in cell.text
    kernel.answers("Hello again.")
    assert "Hello again." in kernel.run("%claw ask --new hello").text


@pytest.mark.parametrize(("where", "sign"), [("kernel", "Allow run_python?"), ("lab", "VBox(")])
def test_stop_while_a_question_waits(where, sign, request):
    front = request.getfixturevalue(where)
    front.answers({"calls": [CODE]}, "Never.")
    interrupt = front.manager.interrupt_kernel
    cell = front.run("%claw ask --new go", reply=None, when=sign, then=interrupt)
    assert cell.status == "error"
    assert "Never." not in cell.text
    assert not cell.mime("application/vnd.jupyter.widget-view+json")
    front.answers("Hello again.")
    assert "Hello again." in front.run("%claw ask --new hello").text


def test_queued_cells_do_not_run_after_stop(kernel):
    kernel.answers(SLOW)
    first = kernel.start("%claw ask --new go")
    second = kernel.start("queued = True")
    kernel.finish(first, when="A long story.", then=kernel.manager.interrupt_kernel)
    kernel.finish(second)
    assert kernel.run("'queued' in globals()").text == "False"


def test_the_interrupt_handler_is_given_back(kernel):
    kernel.answers("Ok.")
    before = kernel.run("import signal; signal.getsignal(signal.SIGINT)").text
    kernel.run("%claw ask --new go")
    assert kernel.run("signal.getsignal(signal.SIGINT)").text == before


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("%claw aks hello", "Did you mean `%claw ask`"),
        ("%claw what is this", "write `%claw ask what is this`"),
        ("%claw ask", "There is no question."),
        ("%%claw ask\n", "There is no question."),
        ("%claw ask --modle x y", "Did you mean --model?"),
        ("%claw sql", "There is no SQL."),
        ("%claw sql selec 1", "syntax error"),
        ("%claw sessions --nope", "See `%claw sessions --nope --help`"),
        ("%claw sessions show 'x", "Close the quotes."),
        ("%claw ask --session nosuch hi", "nosuch"),
        ("%claw ask --provider nosuch hi", "nosuch"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_message(kernel, line, told):
    cell = kernel.run(line)
    assert cell.status == "error"
    assert told in cell.text
    assert "Traceback" not in cell.text
    assert cell.error["ename"] == "CellFailure"


def test_debug_shows_the_traceback(kernel):
    assert "Traceback (most recent call last)" in kernel.run("%claw ask --debug --modle x y").text


def test_a_failing_provider_fails_the_cell_with_its_hint(kernel):
    kernel.answers({"error": {"kind": "auth", "message": "no key", "hint": "Set the key."}})
    cell = kernel.run("%claw ask --new go")
    assert cell.status == "error"
    assert "No key" in cell.text
    assert "Set the key." in cell.text


# -- the rest --------------------------------------------------------------------------------------


def test_the_conversation_goes_on_until_a_new_one(kernel):
    kernel.answers("One.", "Two.", "Three.")
    kernel.run("a = %claw ask first")
    kernel.run("b = %claw ask second")
    kernel.run("%claw new")
    kernel.run("c = %claw ask third")
    assert kernel.run("a.session_id == b.session_id != c.session_id").text == "True"


def test_sql_sees_the_log_and_the_users_frames(kernel):
    kernel.answers("One.")
    kernel.run("%claw ask --new remember this question")
    kernel.run("import pandas as pd; df = pd.DataFrame({'x': [1, 2, 3]})")
    assert kernel.run("%claw sql select sum(x) as total from df").text == "total\n6"
    rows = kernel.run("r = %claw sql select text from messages where role = 'user'\nr.df()")
    assert "remember this question" in rows.text


def test_a_long_table_says_what_is_left_out(kernel):
    cell = kernel.run("%%claw sql --limit 2\nselect range as n\nfrom range(1000)")
    assert cell.text == "n\n0\n1\n2 of 1,000 rows; --limit shows more, .df() has them all."
    assert cell.mime("text/html")[0].count("<tr>") == 3


def test_a_chart_is_a_picture_with_a_name(kernel):
    cell = kernel.run("%claw sql --chart select range as n, n * n as square from range(9)")
    assert "<svg" in cell.mime("text/html")[0]
    assert 'aria-label="line chart of square by n"' in cell.mime("text/html")[0]


def test_commands_are_shown_as_tables(kernel):
    kernel.answers("One.")
    kernel.run("%claw ask --new a question of mine")
    cell = kernel.run("%claw sessions list")
    assert "a question of mine" in cell.text
    assert "<table" in cell.mime("text/html")[0]
    assert kernel.run("%claw sessions list --json").text.startswith("[")


def test_help_lists_every_word(kernel):
    for line in ("%claw", "%claw help", "%claw --help"):
        assert "%claw ask QUESTION" in kernel.run(line).text
    assert "List sessions" in kernel.run("%claw sessions --help").text


def test_tab_completes_words_options_and_sessions(kernel):
    kernel.answers("One.")
    kernel.run("a = %claw ask --new hi")
    ident = kernel.run("print(a.session_id)").text

    def complete(code):
        kernel.client.complete(code)
        while True:
            message = kernel.client.get_shell_msg(timeout=30)
            if message["msg_type"] == "complete_reply":
                return message["content"]["matches"]

    assert complete("%claw sess") == ["sessions"]
    assert "--model" in complete("%claw ask --mo")
    assert complete("%claw sessions show " + ident[:20]) == [ident]
    assert "run_python" in complete("%claw ask --allow run_")


def test_config_claw_shows_the_options(kernel):
    assert "Claw.approval" in kernel.run("%config Claw").text
    kernel.run('%config Claw.approval = "deny"')
    kernel.answers({"calls": [CODE]}, "Ok.")
    assert "Nobody is here" in kernel.run("%claw ask --new go", reply="y").text
    kernel.run('%config Claw.approval = "auto"')


def test_a_secret_of_the_kernel_is_shown_and_kept_nowhere(kernel):
    code = "password = 'hunter2' + 'Zebra99'\nprint('it is', password)\npassword"
    call = {"name": "run_python", "arguments": {"code": code}}
    kernel.answers({"calls": [call]}, {"text": "It is hunter2Zebra99, you see."})
    cell = kernel.run("%claw ask --new --allow run_python go")
    assert "[REDACTED:secret], you see." in cell.text
    assert "it is [REDACTED:secret]\n'[REDACTED:secret]'" in cell.text
    assert "hunter2Zebra99" not in str(cell.outputs)
    kernel.run("%claw ask --new again")
    kept = [path for path in kernel.home.rglob("*") if path.is_file()]
    assert [path for path in kept if b"hunter2Zebra99" in path.read_bytes()] == []
