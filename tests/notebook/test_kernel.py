"""Running code for the agent in a shell."""

import asyncio

from claw_nb.core.protocols import Execution, Kernel
from claw_nb.notebook.kernel import NotebookKernel


def execute(shell, code, **given):
    with shell.builtin_trap:
        return asyncio.run(NotebookKernel(shell).execute(code, **given))


def test_it_is_a_kernel_for_the_tools(shell):
    shell.run_cell("a = 1\n_hidden = 2\nimport math")
    kernel = NotebookKernel(shell)
    assert isinstance(kernel, Kernel)
    assert set(kernel.namespace) == {"a", "math"}


def test_output_is_shown_and_returned_once(shell, capsys):
    assert execute(shell, "print('said')\nb = 2\nb + 1") == Execution(text="said\n3\n")
    assert capsys.readouterr().out == "said\n3\n"
    assert shell.user_ns["b"] == 2


def test_magics_work_and_a_semicolon_is_silent(shell):
    assert execute(shell, "%precision 3\n1;") == Execution()


def test_awaiting_works(shell):
    assert execute(shell, "import asyncio\nawait asyncio.sleep(0)\n'done'").text == "'done'\n"


def test_a_traceback_begins_at_the_code(shell):
    error = execute(shell, "def f():\n    return 1 / 0\nf()").error
    assert "ZeroDivisionError" in error
    assert "claw_nb" not in error
    assert "\x1b" not in error
    assert "return 1 / 0" in error


def test_bad_syntax_and_exits_are_results(shell):
    assert "SyntaxError" in execute(shell, "def (").error
    assert "SystemExit" in execute(shell, "raise SystemExit").error


def test_a_time_limit_stops_waiting_code(shell):
    found = execute(shell, "import asyncio\nawait asyncio.sleep(50)", timeout=0.1)
    assert found.error == "TimeoutError: the code was stopped after 0.1 seconds."


def test_the_codes_own_timeout_is_its_own(shell):
    assert "mine" in execute(shell, "raise TimeoutError('mine')", timeout=5).error
    waiting = "import asyncio\nawait asyncio.wait_for(asyncio.sleep(50), 0.01)"
    assert "wait_for" in execute(shell, waiting, timeout=50).error


def test_the_streams_are_given_back(shell, capsys):
    execute(shell, "print('inside')")
    print("outside")
    assert capsys.readouterr().out == "inside\noutside\n"
