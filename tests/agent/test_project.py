"""The instructions that a project brings reach the prompt."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from claw_nb.agent.project import MOST, project_instructions


def test_a_folder_without_any_has_none(tmp_path):
    assert project_instructions(tmp_path) == ""


def test_each_name_is_read_and_the_same_words_once(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    (tmp_path / "CLAUDE.md").write_text("Use tabs.\n", encoding="utf-8")
    assert project_instructions(tmp_path).count("Use tabs.") == 1
    (tmp_path / "CLAUDE.md").write_text("And spaces.", encoding="utf-8")
    assert "And spaces." in project_instructions(tmp_path)
    (tmp_path / "AGENTS.md").rename(tmp_path / "Agents.md")
    assert "Use tabs." in project_instructions(tmp_path)


def test_folders_above_count_up_to_the_repository(tmp_path):
    inner = tmp_path / "repo" / "notebooks"
    inner.mkdir(parents=True)
    for folder, text in ((tmp_path, "outside"), (tmp_path / "repo", "top"), (inner, "here")):
        (folder / "AGENTS.md").write_text(text, encoding="utf-8")
    assert "top" not in project_instructions(inner)
    (tmp_path / "repo" / ".git").mkdir()
    found = project_instructions(inner)
    assert "outside" not in found
    assert found.index("top") < found.index("here")


def test_what_is_too_long_is_cut_and_says_so_and_the_nearest_is_kept(tmp_path):
    inner = tmp_path / "a"
    inner.mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("far " * MOST, encoding="utf-8")
    (inner / "AGENTS.md").write_text("near", encoding="utf-8")
    found = project_instructions(inner)
    assert len(found) < MOST + 1_000
    assert "near" in found
    assert "only its beginning is shown" in found


def test_invisible_characters_are_taken_out(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Use\u200b t\U000e0041abs.", encoding="utf-8")
    assert "Use tabs." in project_instructions(tmp_path)


def test_a_link_out_of_the_project_is_not_followed_and_one_inside_is(tmp_path):
    (tmp_path / "key").write_text("a private key", encoding="utf-8")
    top = tmp_path / "repo"
    inner = top / "notebooks"
    inner.mkdir(parents=True)
    (top / ".git").mkdir()
    (top / "docs.md").write_text("Use tabs.", encoding="utf-8")
    (inner / "AGENTS.md").symlink_to(tmp_path / "key")
    (inner / "CLAUDE.md").symlink_to(top / "docs.md")
    found = project_instructions(inner)
    assert "private key" not in found
    assert "Use tabs." in found


def test_a_project_that_is_reached_by_a_link_is_read(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    (tmp_path / "short").symlink_to(tmp_path / "real")
    assert "Use tabs." in project_instructions(tmp_path / "short")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_nobody_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "AGENTS.md")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(project_instructions, tmp_path)
        try:
            assert found.result(timeout=10) == ""
        finally:
            os.close(os.open(tmp_path / "AGENTS.md", os.O_RDWR | os.O_NONBLOCK))
