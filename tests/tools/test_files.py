"""Reading, writing and editing files as an agent does."""

import base64
import os
import stat
import tempfile
from pathlib import Path

import pytest

from claw_nb.core.errors import ToolError
from claw_nb.core.messages import Image
from claw_nb.core.tools import check_arguments
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.files import file_tools

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def tools(root):
    return {tool.name: tool for tool in file_tools(Boundary(root))}


async def text(tools, **arguments):
    return (
        (await tools["read_file"].run(**check_arguments(tools["read_file"], arguments)))
        .parts[0]
        .text
    )


async def edit(tools, path, *pairs):
    edits = [{"old_text": old, "new_text": new} for old, new in pairs]
    return await tools["edit_file"].run(
        **check_arguments(tools["edit_file"], {"path": path, "edits": edits})
    )


async def failure(awaitable):
    with pytest.raises(ToolError) as caught:
        await awaitable
    return caught.value


async def test_a_file_is_read_as_it_is(root, tools):
    (root / "a.txt").write_text("one\ntwo\n")
    assert await text(tools, path="a.txt") == "one\ntwo\n"


async def test_a_page_says_how_to_go_on(root, tools):
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    first = await text(tools, path="a.txt")
    assert first.startswith("line 1\n")
    assert first.endswith("line 2000\n\n[Lines 1 to 2000 of 5000; go on with offset=2001.]")
    assert await text(tools, path="a.txt", offset=4999) == "line 4999\nline 5000\n"
    assert (await text(tools, path="a.txt", offset=10, limit=1)).startswith("line 10\n\n[Lines 10")


async def test_a_page_holds_fifty_kilobytes(root, tools):
    (root / "a.txt").write_text(("é" * 499 + "\n") * 200)
    page = await text(tools, path="a.txt")
    assert 49_000 < len(page.encode()) < 50_100
    assert "go on with offset=51." in page
    (root / "b.txt").write_text("x" * 70_000)
    assert "line 1 is longer than 50,000 bytes" in await text(tools, path="b.txt")


async def test_reading_past_the_end_tells_where_the_end_is(root, tools):
    (root / "a.txt").write_text("one\n")
    error = await failure(text(tools, path="a.txt", offset=9))
    assert (error.kind, error.message) == ("validation", "a.txt has 1 lines; there is no line 9")


async def test_a_missing_file_is_answered_with_its_neighbours(root, tools):
    (root / "data").mkdir()
    (root / "data" / "penguins.csv").write_text("")
    error = await failure(text(tools, path="data/pinguins.csv"))
    assert error.kind == "not_found"
    assert error.hints == ("In data there is: penguins.csv.",)
    error = await failure(text(tools, path="dat/penguins.csv"))
    assert error.hints == ("In . there is: data.",)


async def test_a_folder_is_not_a_file_but_its_names_are_told(root, tools):
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "f.txt").write_text("")
    error = await failure(text(tools, path="d"))
    assert (error.kind, error.hints) == ("validation", ("It holds: e/, f.txt.",))
    assert (await failure(tools["write_file"].run(path="d", content="x"))).kind == "validation"


async def test_a_picture_is_seen(root, tools):
    (root / "plot.png").write_bytes(PNG)
    parts = (await tools["read_file"].run(path="plot.png")).parts
    assert parts[1] == Image(data=base64.b64encode(PNG).decode(), media_type="image/png")


async def test_bytes_are_not_text_and_other_encodings_are_told(root, tools):
    (root / "a.bin").write_bytes(b"ab\0cd")
    assert (await failure(text(tools, path="a.bin"))).kind == "validation"
    (root / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    assert "is not UTF-8" in await text(tools, path="latin.txt")
    assert (await failure(edit(tools, "latin.txt", ("caf", "tea")))).kind == "validation"
    (root / "wide.txt").write_text("wide", encoding="utf-16")
    assert await text(tools, path="wide.txt") == "wide"


async def test_a_written_file_holds_exactly_what_was_given(root, tools):
    said = await tools["write_file"].run(path="new/deep/a.txt", content="é\r\nb")
    assert said == "Created new/deep/a.txt: 2 lines, 5 bytes."
    assert (root / "new/deep/a.txt").read_bytes() == "é\r\nb".encode()
    assert (await tools["write_file"].run(path="new/deep/a.txt", content="")).startswith("Replaced")
    assert [path.name for path in (root / "new/deep").iterdir()] == ["a.txt"]


async def test_a_replaced_file_keeps_its_mode_and_a_link_stays_a_link(root, tools):
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o776)
    (root / "link.sh").symlink_to("run.sh")
    await tools["write_file"].run(path="link.sh", content="new")
    assert (root / "link.sh").is_symlink()
    assert (root / "run.sh").read_text() == "new"
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o776


async def test_a_write_that_fails_leaves_the_old_file_and_no_draft(root, tools, monkeypatch):
    (root / "a.txt").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    error = await failure(tools["write_file"].run(path="a.txt", content="new"))
    assert "disk is full" in error.message
    assert (root / "a.txt").read_text() == "old"
    assert len(list(root.iterdir())) == 1


async def test_several_edits_are_made_at_once(root, tools):
    (root / "a.py").write_text("def f():\n    return 1\n\ndef g():\n    return 2\n")
    said = await edit(tools, "a.py", ("return 2", "return 20"), ("return 1", "return 10"))
    assert (root / "a.py").read_text() == "def f():\n    return 10\n\ndef g():\n    return 20\n"
    assert said.startswith("Edited a.py in 2 places.")
    assert "-    return 1\n+    return 10" in said


async def test_each_edit_is_matched_against_the_file_before_all_edits(root, tools):
    (root / "a.txt").write_text("a b")
    await edit(tools, "a.txt", ("a", "b"), ("b", "a"))
    assert (root / "a.txt").read_text() == "b a"


@pytest.mark.parametrize(
    ("pairs", "kind", "words"),
    [
        ([("nowhere", "x")], "conflict", "must match exactly including whitespace and newlines"),
        ([("dup", "x")], "conflict", "stands 2 times in a.txt, at lines 1, 3"),
        ([("one\ndup", "x"), ("one", "y")], "conflict", "overlap"),
        ([("one", "one")], "validation", "as it is"),
        ([("", "x")], "validation", "no old_text"),
        ([], "validation", "at least one edit"),
    ],
)
async def test_an_edit_that_is_not_clear_changes_nothing(root, tools, pairs, kind, words):
    (root / "a.txt").write_text("dup\none\ndup\n")
    error = await failure(edit(tools, "a.txt", *pairs))
    assert error.kind == kind
    assert words in error.message
    assert (root / "a.txt").read_text() == "dup\none\ndup\n"


async def test_overlapping_occurrences_are_two_places(root, tools):
    (root / "a.txt").write_text("aaa")
    assert "2 times" in (await failure(edit(tools, "a.txt", ("aa", "b")))).message


async def test_a_failed_edit_hints_at_the_nearest_line(root, tools):
    (root / "a.py").write_text("x = 1\n\tvalue = compute(x)\n")
    error = await failure(edit(tools, "a.py", ("    value = compute(x)", "y")))
    assert error.hints[0].startswith("Line 2 is like its first line, but for white space")
    error = await failure(edit(tools, "a.py", ("\tvalue = compute(z)", "y")))
    assert error.hints[0] == "The closest line is 2: '\\tvalue = compute(x)'."


async def test_line_ends_and_the_byte_order_mark_stay(root, tools):
    (root / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    await edit(tools, "a.txt", ("one\ntwo\n", "1\n2\n"))
    assert (root / "a.txt").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\nthree\r\n"


async def test_untouched_lines_of_a_mixed_file_stay_byte_for_byte(root, tools):
    (root / "a.txt").write_bytes(b"a\r\nb\nc  \nd\r\ne")
    await edit(tools, "a.txt", ("b\nc  \nd", "B\nC\nD"))
    assert (root / "a.txt").read_bytes() == b"a\r\nB\nC\nD\r\ne"


async def test_typographic_signs_and_trailing_spaces_are_overlooked_with_a_note(root, tools):
    (root / "a.md").write_text("It\u2019s \u201cfine\u201d \u2014 yes  \nnext \n", encoding="utf-8")
    said = await edit(tools, "a.md", ('It\'s "fine" - yes\nnext', "Good"))
    assert (root / "a.md").read_text(encoding="utf-8") == "Good\n"
    assert "matched only after overlooking" in said


async def test_what_would_be_written_is_shown_before_anybody_says_yes(root, tools):
    (root / "a.txt").write_text("old\n")
    said = tools["write_file"].review({"path": "a.txt", "content": "new\n"})
    assert (said.verdict, said.risky) == ("ask", False)
    assert said.preview == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new"
    said = tools["edit_file"].review(
        {"path": "a.txt", "edits": [{"old_text": "old", "new_text": "x"}]}
    )
    assert said.preview.endswith("-old\n+x")
    assert (root / "a.txt").read_text() == "old\n"


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".bashrc",
        ".ssh/authorized_keys",
        "sub/.vscode/tasks.json",
        "tests/conftest.py",
        ".github/workflows/ci.yml",
    ],
)
def test_a_file_that_runs_by_itself_is_asked_about_each_time(tools, path):
    assert tools["write_file"].review({"path": path, "content": "x"}).risky


@pytest.mark.parametrize(
    ("path", "asks"),
    [
        (".env", True),
        (".env.local", True),
        ("keys/id_ed25519", True),
        ("server.pem", True),
        ("credentials.json", True),
        (".env.example", False),
        ("id_rsa.pub", False),
        ("env.py", False),
        ("notes.md", False),
        ("keyboard.txt", False),
        ("tokens.csv", False),
    ],
)
def test_a_file_that_may_hold_secrets_is_read_only_with_a_yes(tools, path, asks):
    said = tools["read_file"].review({"path": path})
    assert (said.verdict == "ask") is asks
    assert said.risky is asks


async def test_two_names_of_one_file_are_one_resource(root, tools):
    (root / "a.txt").write_text("x")
    (root / "b.txt").symlink_to("a.txt")
    resource = tools["edit_file"].resource
    assert resource({"path": "./a.txt"}) == resource({"path": "b.txt"})


NOBODY = 65534


@pytest.fixture
def as_nobody():
    """A folder that is everybody's, and a user who is not root: root may write everything."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        root = os.getuid() == 0
        if root:
            os.setresuid(NOBODY, NOBODY, 0)
        yield Path(folder)
        if root:
            os.setresuid(0, 0, 0)


async def test_a_read_only_file_is_not_replaced(as_nobody):
    tools = {tool.name: tool for tool in file_tools(Boundary(as_nobody))}
    (as_nobody / "a.txt").write_text("old")
    (as_nobody / "a.txt").chmod(0o444)
    assert (await failure(tools["write_file"].run(path="a.txt", content="x"))).kind == "policy"
    assert (as_nobody / "a.txt").read_text() == "old"


def test_what_hides_in_a_file_is_said_before_it_is_written(root, tools):
    (root / "old.txt").write_text("one\u200b\ntwo\n")
    said = tools["write_file"].review({"path": "a.py", "content": "ok\nx = 1 #\u202e"})
    assert said.risky
    assert "U+202E, first in line 2" in said.reason
    edits = [{"old_text": "two", "new_text": "2\u2066"}]
    assert tools["edit_file"].review({"path": "old.txt", "edits": edits}).risky
    edits = [{"old_text": "two", "new_text": "2"}]
    assert not tools["edit_file"].review({"path": "old.txt", "edits": edits}).risky
    assert not tools["write_file"].review({"path": "b.txt", "content": "é 👩\u200d🔬"}).risky


def test_the_question_shows_the_whole_change_or_says_what_is_cut(root, tools):
    content = "\n".join(f"line {number}" for number in range(5_000))
    said = tools["write_file"].review({"path": "a.txt", "content": content})
    assert "+line 2500" in said.preview
    assert not said.risky
    said = tools["write_file"].review({"path": "a.txt", "content": "x\n" * 100_000})
    assert said.risky
    assert "characters are cut" in said.reason


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        (".config/systemd/user/x.service", True),
        (".config/autostart/x.desktop", True),
        (".envrc", True),
        ("sub/.envrc", True),
        ("jupyter_server_config.py", True),
        (".jupyter/jupyter_lab_config.py", True),
        ("lib/sitecustomize.py", True),
        ("usercustomize.py", True),
        (".git/info/attributes", True),
        (".config/app/x.toml", False),
        ("jupyter_notes.py", False),
        ("envrc.md", False),
    ],
)
def test_files_that_run_by_themselves_are_asked_about_each_time(tools, path, runs):
    assert tools["write_file"].review({"path": path, "content": "x"}).risky is runs
