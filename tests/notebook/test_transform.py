import pytest
from IPython.core.inputtransformer2 import TransformerManager

from claw_nb.notebook.transform import keep_questions, rewrite

AWAIT = "(await get_ipython().run_line_magic('_claw_awaited', 'ask hi'))"


def transformed(cell):
    manager = TransformerManager()
    manager.cleanup_transforms.append(keep_questions)
    return rewrite(manager.transform_cell(cell)).rstrip("\n")


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%claw ask hi", AWAIT),
        ("x = %claw ask hi", f"x = {AWAIT}"),
        ("for i in 'é':\n    %claw ask hi", f"for i in 'é':\n    {AWAIT}"),
        ("try:\n    ü = %claw ask hi\nfinally:\n    pass",
         f"try:\n    ü = {AWAIT}\nfinally:\n    pass"),
        ("%%claw ask\nhow so?",
         "(await get_ipython().run_cell_magic('_claw_awaited', 'ask', 'how so?\\n'))"),
        ("%%claw ask\n", AWAIT.replace("ask hi", "ask")),
        ("%%claw ask hi\n", AWAIT),
        ("%claw sql select 1", AWAIT.replace("ask hi", "sql select 1")),
    ],
)  # fmt: skip
def test_a_top_level_magic_is_awaited(cell, expected):
    assert transformed(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "def f():\n    %claw ask hi",
        "async def f():\n    %claw ask hi",
        "class A:\n    %claw ask hi",
        "f = lambda: get_ipython().run_line_magic('claw', 'ask hi')",
        "[get_ipython().run_line_magic('claw', 'ask hi') for _ in 'a']",
    ],
)
def test_inside_other_code_a_magic_is_not_awaited(cell):
    assert "_claw_awaited" not in transformed(cell)


def test_other_cells_stay_as_they_are():
    for cell in ("x = 1", "print('%claw ask hi')", "def (", "%time 1", "'''\n%claw ask what?\n'''"):
        assert transformed(cell) == TransformerManager().transform_cell(cell).rstrip("\n")


@pytest.mark.parametrize("question", ["what is it?", "who's there?", "really??", 'is "x" (a) y?'])
def test_a_question_mark_belongs_to_the_question(question):
    call = f"(await get_ipython().run_line_magic('_claw_awaited', {'ask ' + question!r}))"
    assert transformed(f"%claw ask {question}") == call
    assert transformed(f"a = 1\nb = %claw ask {question}") == f"a = 1\nb = {call}"


def test_help_of_the_magic_is_still_help():
    assert transformed("%claw?") == "get_ipython().run_line_magic('pinfo', '%claw')"
