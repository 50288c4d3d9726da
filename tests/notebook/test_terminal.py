"""`%claw` in plain IPython: words, no widgets."""

CODE = {"name": "run_python", "arguments": {"code": "value = 42\nprint('drawing')"}}


def test_an_answer_is_printed_once(shell, script, capsys):
    script("It is **42**.")
    shell.run_cell("%claw ask what is it?")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "It is **42**."
    assert "script · 1 turn" in lines[-1]
    assert shell.user_ns["_"].text == "It is **42**."


def test_without_a_terminal_nobody_is_asked(shell, script, capsys):
    script({"calls": [CODE]}, "Ok.")
    shell.run_cell("%claw ask go")
    assert "Nobody is here to approve run_python" in capsys.readouterr().out
    assert "value" not in shell.user_ns


def test_code_runs_in_the_users_namespace(shell, script, capsys):
    script({"calls": [CODE]}, "Ok.")
    shell.run_cell("%claw ask --allow run_python go")
    assert "drawing" in capsys.readouterr().out
    assert shell.user_ns["value"] == 42


def test_a_question_inside_a_function(shell, script):
    script("Yes.")
    shell.run_cell("def f():\n    a = %claw ask really?\n    return a\nx = f().text")
    assert shell.user_ns["x"] == "Yes."


def test_a_table_is_plain_text(shell, capsys):
    shell.run_cell("%claw sql select 1 as one, 'a' as letter")
    assert "one  letter\n1    a" in capsys.readouterr().out
