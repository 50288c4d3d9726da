"""What the agent's tools may touch, and what no path leads to."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from claw_nb.core.errors import ToolError
from claw_nb.tools.beneath import read, write
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.files import file_tools


@pytest.fixture
def place(tmp_path):
    """A workspace with an agent's home in it, and a secret beside it."""
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    (root / "notes.txt").write_text("notes\n")
    (root / ".claw").mkdir()
    (root / ".claw" / "vault").write_text("the vault")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("the secret")
    return root


@pytest.fixture
def boundary(place):
    return Boundary(place, forbidden=(place / ".claw",))


def refused(boundary, path):
    with pytest.raises(ToolError) as caught:
        boundary.resolve(path)
    assert caught.value.hints
    return caught.value.kind


@pytest.mark.parametrize(
    "path",
    ["notes.txt", "./notes.txt", "sub/../notes.txt", "sub//..///notes.txt", "../work/notes.txt"],
)
def test_a_path_inside_is_its_real_path(boundary, place, path):
    assert boundary.resolve(path) == place / "notes.txt"
    assert boundary.resolve(str(place / "notes.txt")) == place / "notes.txt"


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "~/.bashrc",
        "~root/.bashrc",
        "/proc/self/environ",
        "/proc/self/cwd/notes.txt",
        "/dev/sda",
        "/sys/kernel",
        "C:\\Windows\\win.ini",
        "c:/Windows/win.ini",
        "\\\\server\\share\\file",
        "//?/C:/file",
        "../work2/file",
    ],
)
def test_a_path_that_leads_outside_is_refused(boundary, path):
    assert refused(boundary, path) == "policy"


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "x" * 5000, "a\ud800b"])
def test_what_cannot_be_a_path_is_invalid(boundary, path):
    assert refused(boundary, path) == "validation"


@pytest.mark.parametrize(
    "path",
    [".claw", ".claw/vault", ".claw/new/file", "sub/../.claw/vault", "./.claw/../.claw/vault"],
)
def test_the_agents_home_is_forbidden_though_it_lies_inside(boundary, path):
    assert refused(boundary, path) == "policy"


def test_a_neighbour_with_the_same_beginning_is_not_the_agents_home(boundary, place):
    assert boundary.resolve(".claw2/x") == place / ".claw2" / "x"


def test_a_home_that_is_made_later_is_forbidden_all_the_same(place):
    boundary = Boundary(place, forbidden=(place / "later",))
    assert refused(boundary, "later/vault") == "policy"
    (place / "later").mkdir()
    assert refused(boundary, "later/vault") == "policy"


def test_a_symlink_leads_where_it_leads(boundary, place):
    (place / "out").symlink_to(place.parent / "outside")
    (place / "file").symlink_to(place.parent / "outside" / "secret.txt")
    (place / "home").symlink_to(".claw")
    (place / "chain").symlink_to("home/vault")
    (place / "dangling").symlink_to(place.parent / "not-yet")
    (place / "fine").symlink_to("notes.txt")
    for path in (
        "out/secret.txt",
        "file",
        "home/vault",
        "chain",
        "dangling",
        "out/new",
        "out/../x",
    ):
        assert refused(boundary, path) == "policy", path
    assert boundary.resolve("fine") == place / "notes.txt"


def test_a_root_that_is_itself_a_symlink_works(place):
    link = place.parent / "link"
    link.symlink_to(place)
    boundary = Boundary(link, forbidden=(link / ".claw",))
    assert boundary.resolve("notes.txt") == place / "notes.txt"
    assert refused(boundary, ".claw/vault") == "policy"


def test_a_mounted_second_way_into_the_home_is_known_by_what_it_is(boundary, place):
    (place / "other").mkdir()
    done = subprocess.run(
        ["mount", "--bind", place / ".claw", place / "other"], capture_output=True, check=False
    )
    if done.returncode:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must be able to mount a folder: {done.stderr}")
        pytest.skip("mounting is not allowed here")
    try:
        assert refused(boundary, "other/vault") == "policy"
    finally:
        subprocess.run(["umount", place / "other"], check=True)


async def call(boundary, name, **arguments):
    (found,) = [tool for tool in file_tools(boundary) if tool.name == name]
    return await found.run(**arguments)


async def failure(boundary, name, **arguments):
    with pytest.raises(ToolError) as caught:
        await call(boundary, name, **arguments)
    return caught.value


async def test_a_hard_link_to_a_file_outside_is_neither_read_nor_written(boundary, place):
    os.link(place.parent / "outside" / "secret.txt", place / "innocent.txt")
    os.link(place / ".claw" / "vault", place / "sub" / "innocent.txt")
    for path in ("innocent.txt", "sub/innocent.txt"):
        assert (await failure(boundary, "read_file", path=path)).kind == "policy"
        assert (await failure(boundary, "write_file", path=path, content="x")).kind == "policy"
        edits = [{"old_text": "the", "new_text": "my"}]
        assert (await failure(boundary, "edit_file", path=path, edits=edits)).kind == "policy"
    assert (place.parent / "outside" / "secret.txt").read_text() == "the secret"
    assert (place / ".claw" / "vault").read_text() == "the vault"


async def test_a_hard_link_between_files_inside_is_read(boundary, place):
    os.link(place / "notes.txt", place / "sub" / "twin.txt")
    assert (await call(boundary, "read_file", path="sub/twin.txt")).parts[0].text == "notes\n"


async def test_a_pipe_or_a_device_is_not_opened_and_blocks_nobody(boundary, place):
    os.mkfifo(place / "pipe")
    assert (await failure(boundary, "read_file", path="pipe")).kind == "validation"
    assert (await failure(boundary, "write_file", path="pipe", content="x")).kind == "validation"


def test_a_folder_swapped_for_a_symlink_after_the_check_is_not_followed(boundary, place):
    (place / "sub" / "secret.txt").write_text("harmless")
    real = boundary.resolve("sub/secret.txt")
    shutil.rmtree(place / "sub")
    (place / "sub").symlink_to(place.parent / "outside")
    with pytest.raises(OSError, match="Not a directory|symbolic"):
        read(boundary, real, most=100)
    with pytest.raises(OSError, match="Not a directory|symbolic"):
        write(boundary, real, b"overwritten")
    assert (place.parent / "outside" / "secret.txt").read_text() == "the secret"


def test_a_file_swapped_for_a_symlink_after_the_check_is_not_followed(boundary, place):
    real = boundary.resolve("notes.txt")
    real.unlink()
    real.symlink_to(place.parent / "outside" / "secret.txt")
    with pytest.raises(OSError, match="symbolic"):
        read(boundary, real, most=100)
    with pytest.raises(ToolError, match="symlink"):
        write(boundary, real, b"overwritten")
    assert (place.parent / "outside" / "secret.txt").read_text() == "the secret"


def test_the_home_moved_into_place_after_the_check_is_not_opened(boundary, place):
    (place / "sub" / "vault").write_text("harmless")
    real = boundary.resolve("sub/vault")
    shutil.rmtree(place / "sub")
    (place / ".claw").rename(place / "sub")
    moved = Boundary(place, forbidden=(place / "sub",))
    with pytest.raises(ToolError) as caught:
        read(moved, real, most=100)
    assert caught.value.kind == "policy"


def test_where_case_is_ignored_a_home_that_does_not_exist_yet_is_forbidden_in_any_case(place):
    boundary = Boundary(place, forbidden=(place / "Later",))
    assert boundary.resolve("later/vault")
    boundary._ignores_case = True
    assert refused(boundary, "later/vault") == "policy"


@pytest.mark.skipif(os.name == "nt", reason="names are made of other characters there")
def test_odd_but_honest_names_are_fine(boundary, place):
    for name in ("a b.txt", "x:y", "$HOME", "-rf", "日本語.txt", "con", "a\\b", "…"):
        assert boundary.resolve(name) == Path(place / name)
