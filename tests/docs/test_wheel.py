"""The wheel holds what it should, and only what git knows."""

import configparser
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version

import pytest

import claw_nb
from tests.docs.test_repository import ROOT, files


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_holds_both_packages_the_config_and_the_tour(wheel):
    assert {
        "claw_nb/__init__.py",
        "claw_nb/py.typed",
        "claw_nb/demo/00_tour.ipynb",
        "claw_nb/demo/data/README.md",
        "claw_nb_server/__init__.py",
    } <= set(wheel.namelist())
    assert any(
        name.endswith("jupyter_server_config.d/claw_nb_server.json") for name in wheel.namelist()
    )


def test_the_wheel_holds_only_what_git_knows(wheel):
    known = {path.relative_to(ROOT).as_posix() for path in files()}

    def source(name):
        for start, folder in (
            ("claw_nb/demo/", "notebooks/"),
            ("claw_nb_server/", "extension/claw_nb_server/"),
        ):
            if name.startswith(start):
                return folder + name.removeprefix(start)
        return name

    inside = {
        source(name) for name in wheel.namelist() if not name.split("/")[0].startswith("claw_nb-")
    }
    assert sorted(inside - known) == []


def test_the_wheel_has_the_claw_command(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    points = configparser.ConfigParser()
    points.read_string(wheel.read(name).decode())
    assert points["console_scripts"]["claw"] == "claw_nb.cli:main"


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert claw_nb.__version__ == project["version"] == version("claw-nb")
