"""Running code in a real IPython shell as the agent does."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from claw_nb.core.errors import ToolError
from claw_nb.core.messages import Image
from claw_nb.core.protocols import Execution
from claw_nb.notebook.kernel import NotebookKernel
from claw_nb.tools.python import python_tools


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    InteractiveShell.clear_instance()


@pytest.fixture
def run(shell):
    (tool,) = python_tools(NotebookKernel(shell))

    async def text(code):
        return "\n".join(part.text for part in (await tool.run(code=code)).parts)

    return text


async def failure(awaitable):
    with pytest.raises(ToolError) as caught:
        await awaitable
    return caught.value


async def test_variables_stay_in_the_users_kernel(run, shell):
    assert await run("x = 6 * 7\nprint('hello')\nx") == "hello\n42"
    assert shell.user_ns["x"] == 42
    assert await run("y = 1") == "(the code ran and showed nothing)"


async def test_long_output_is_shortened_in_the_middle(run):
    text = await run("print('first'); print('x' * 100_000); print('last')")
    assert len(text) < 31_000
    assert text.startswith("first")
    assert text.endswith("last")
    assert "characters left out" in text


async def test_an_error_keeps_the_tracebacks_end_what_was_printed_and_a_hint(run):
    error = await failure(run("print('so far')\nimport math\nmath.sqrt(missing)"))
    assert error.kind == "system"
    assert "NameError: name 'missing' is not defined" in error.message
    assert error.message.endswith("Output before the error:\nso far")
    assert "\x1b" not in error.message
    assert "list_variables" in error.hints[0]


@pytest.mark.parametrize(
    ("code", "words", "hint"),
    [
        ("1 +", "SyntaxError", "Nothing of this code has run"),
        ("import no_such_package", "ModuleNotFoundError", "isn't installed"),
        ("{}['a']", "KeyError", "inspect_variable"),
        ("raise ValueError('odd')", "ValueError: odd", "What stands before the failing line"),
    ],
)
async def test_hints_fit_the_error(run, code, words, hint):
    error = await failure(run(code))
    assert words in error.message
    assert hint in error.hints[0]


async def test_a_deep_traceback_keeps_its_last_lines(run):
    calls = "\n".join(f"def f{n}():\n    return f{n + 1}()" for n in range(30))
    error = await failure(run(f"{calls}\ndef f30():\n    return 1 / 0\nf0()"))
    assert "ZeroDivisionError" in error.message
    assert "lines left out" in error.message
    assert len(error.message.splitlines()) < 40


class Told:
    """A kernel whose answers are given."""

    def __init__(self, execution):
        self.namespace = {}
        self.execution = execution

    async def execute(self, code, *, timeout=None):
        return self.execution


async def test_pictures_are_kept_and_a_stopped_run_is_a_timeout():
    (tool,) = python_tools(Told(Execution(images=(Image(data="aGk="),))))
    assert (await tool.run(code="plot()")).parts == (Image(data="aGk="),)
    (tool,) = python_tools(
        Told(Execution(error="TimeoutError: the code was stopped after 5 seconds."))
    )
    assert (await failure(tool.run(code="x"))).kind == "timeout"
    (tool,) = python_tools(Told(Execution(error="\x1b[31mKeyError\x1b[0m: 'a'")))
    assert (await failure(tool.run(code="x"))).message == "KeyError: 'a'"


def test_the_code_is_shown_before_it_runs_and_never_beside_other_code():
    (tool,) = python_tools(Told(Execution()))
    said = tool.review({"code": "print(1)"})
    assert (said.verdict, said.preview, said.risky) == ("ask", "print(1)", False)
    assert (tool.effect, tool.sequential) == ("execute", True)


async def test_no_code_is_no_call():
    (tool,) = python_tools(Told(Execution()))
    assert (await failure(tool.run(code="  \n"))).kind == "validation"


@pytest.mark.parametrize(
    "code", ["x = 1 #\u202e", "a\u200bb = 1", "ok()\rrm()", "x\x1b[8m = 1", "x\x08y"]
)
def test_code_that_hides_something_is_asked_about_each_time(code):
    (tool,) = python_tools(Told(Execution()))
    said = tool.review({"code": code})
    assert said.risky
    assert "can't be seen" in said.reason


@pytest.mark.parametrize("code", ["print('héllo 👩\u200d🔬')", "a = 1\r\nb = 2", "x = '\t'"])
def test_code_in_any_language_is_like_any_other(code):
    (tool,) = python_tools(Told(Execution()))
    assert not tool.review({"code": code}).risky
