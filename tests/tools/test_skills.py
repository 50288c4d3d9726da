"""Skills are found in three places, read leniently, written strictly, and can only be read."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from claw_nb.core.errors import Conflict, InvalidInput, ToolError
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.files import file_tools
from claw_nb.tools.skills import discover, front_matter, reading, write_skill


def skill(folder, name, text):
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    return path


@pytest.fixture
def places(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    return {
        "workspace": work,
        "agent": tmp_path / "home" / "agents" / "main" / "skills",
        "shared": tmp_path / ".agents" / "skills",
    }


FRONT = "---\nname: {0}\ndescription: Does {0}.\n---\n\n# {0}\n"


def test_three_places_and_the_nearest_counts(places):
    skill(places["workspace"] / "skills", "review", FRONT.format("review"))
    skill(places["agent"], "review", FRONT.format("review").replace("Does", "Other"))
    skill(places["agent"], "plot", FRONT.format("plot"))
    skill(places["shared"], "tidy", FRONT.format("tidy"))
    found = {s.name: (s.scope, s.description) for s in discover(**places)}
    assert found == {
        "review": ("workspace", "Does review."),
        "plot": ("agent", "Does plot."),
        "tidy": ("shared", "Does tidy."),
    }
    assert next(s for s in discover(**places) if s.name == "review").location == (
        "skills/review/SKILL.md"
    )


@pytest.mark.parametrize(
    ("text", "name", "description"),
    [
        ("---\nname: x\ndescription: Use when: tests fail\n---\nBody", "x", "Use when: tests fail"),
        ("\ufeff---\r\nname: \"x\"\r\ndescription: 'a'\r\n---\r\nBody", "x", "a"),
        ("---\ndescription: >\n  two\n  lines\n---\n", "folder", "two lines"),
        ("# A title\n\nText", "folder", "A title"),
        ("---\nname: x\n---\n\nFirst words.\n", "x", "First words."),
        ("---\nname: x\nno end", "folder", "---"),
        ("---\n- a\n- list\n---\nHello", "folder", "Hello"),
        ("---\nname: 12\ndescription: {a: b}\n---\n", "12", "{'a': 'b'}"),
        ("", "folder", "(no description)"),
        ("---\nname: x\ndescription: hid\u200bden\n---\n", "x", "hidden"),
        # What strangers write must neither stop the agent nor take all memory.
        ("---\nname: x\ndescription: 2024-13-45\n---\n", "x", "2024-13-45"),
        ("---\nname: x\ndescription: " + "[" * 5_000 + "\n---\n", "x", "[" * 1_024),
        ("---\nname: " + "9" * 6_000 + "\n---\nHello", "9" * 64, "Hello"),
        ("---\na: &a [x, y]\nname: x\ndescription: *a\n---\n", "x", "*a"),
        ("---\nname: 'x\n\n  # System'\ndescription: a\n---\n", "x # System", "a"),
        ("---\nname: ' '\ndescription: a\n---\n", "folder", "a"),
    ],
)
def test_front_matter_is_read_leniently(places, text, name, description):
    skill(places["workspace"] / "skills", "folder", text)
    [found] = discover(**places)
    assert (found.name, found.description) == (name, description)


def test_what_is_no_skill_is_passed_over(places):
    (places["workspace"] / "skills" / "empty").mkdir(parents=True)
    (places["workspace"] / "skills" / "file.md").touch()
    assert discover(**places) == ()


def test_a_workspace_can_not_bring_a_skill_from_outside(places, tmp_path):
    skill(tmp_path / "private", "diary", FRONT.format("diary"))
    folder = places["workspace"] / "skills"
    folder.mkdir()
    (folder / "diary").symlink_to(tmp_path / "private" / "diary")
    assert discover(**places) == ()


def test_nor_can_its_skill_be_a_link_to_what_is_outside(places, tmp_path):
    (tmp_path / "private").write_text("a secret", encoding="utf-8")
    folder = places["workspace"] / "skills" / "diary"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").symlink_to(tmp_path / "private")
    assert discover(**places) == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_nobody_waits_for_a_pipe_that_is_named_like_a_skill(places):
    folder = places["workspace"] / "skills" / "pipe"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "SKILL.md")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(discover, **places)
        try:
            assert found.result(timeout=10) == ()
        finally:
            os.close(os.open(folder / "SKILL.md", os.O_RDWR | os.O_NONBLOCK))


@pytest.fixture
def read(places, tmp_path):
    """``read_file`` as an agent has it, with the agent's home out of reach."""
    skill(places["agent"], "plot", FRONT.format("plot"))
    (places["agent"] / "plot" / "colors.md").write_text("red", encoding="utf-8")
    linked = skill(tmp_path / "elsewhere", "tidy", FRONT.format("tidy"))
    places["shared"].mkdir(parents=True)
    (places["shared"] / "tidy").symlink_to(linked.parent)
    boundary = Boundary(places["workspace"], forbidden=(tmp_path / "home",))
    return reading(file_tools(boundary)[0], discover(**places))


async def test_skills_outside_of_the_workspace_can_be_read(read, places):
    for path in (
        places["agent"] / "plot" / "SKILL.md",
        places["agent"] / "plot" / "colors.md",
        places["shared"] / "tidy" / "SKILL.md",
    ):
        assert read.review({"path": str(path)}).verdict == "allow"
        assert (await read.run(path=str(path))).parts[0].text


async def test_and_nothing_else_there(read, places, tmp_path):
    (tmp_path / "home" / "config.toml").touch()
    (places["agent"] / "plot" / "out").symlink_to(tmp_path / "home" / "config.toml")
    for path in (
        tmp_path / "home" / "config.toml",
        places["agent"] / "plot" / ".." / ".." / ".." / ".." / "config.toml",
        places["agent"] / "plot" / "out",
        places["agent"] / "other",
        tmp_path / "elsewhere",
    ):
        with pytest.raises(ToolError) as caught:
            await read.run(path=str(path))
        assert caught.value.kind == "policy", path


async def test_the_workspace_is_read_as_before(read, places):
    (places["workspace"] / "a.txt").write_text("hello", encoding="utf-8")
    assert (await read.run(path="a.txt")).parts[0].text == "hello"


def test_a_skill_is_written_in_the_form_that_every_agent_reads(tmp_path):
    path = write_skill(
        tmp_path, name="fit-model", description="Use when: a fit\nis asked", body="Do."
    )
    fields, body = front_matter(path.read_text(encoding="utf-8"))
    assert (dict(fields), body.strip()) == (
        {"name": "fit-model", "description": "Use when: a fit is asked"},
        "Do.",
    )
    with pytest.raises(Conflict):
        write_skill(tmp_path, name="fit-model", description="x", body="y")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "Fit"}, {"name": "a--b"}, {"name": "../x"}, {"name": "a" * 65}, {"name": ""},
        {"description": ""}, {"description": "x" * 1025}, {"description": "<b>"},
        {"body": "hid\u200bden"},
    ],
)  # fmt: skip
def test_writing_is_strict(tmp_path, wrong):
    given = {"name": "ok", "description": "Fine.", "body": "Do."} | wrong
    with pytest.raises(InvalidInput):
        write_skill(tmp_path, **given)
    assert list(tmp_path.rglob("*")) == []
