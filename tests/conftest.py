"""What every test stands on: an empty home, no keys, no settings of the machine's."""

import os
from pathlib import Path

import pytest

# Runs plain ``async def`` tests, and brings the Jupyter server's fixtures.
pytest_plugins = ["pytest_jupyter.jupyter_server"]

SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data home, which CLAW_HOME names."""
    for name in (*SECRETS, *(n for n in os.environ if n.startswith("CLAW_"))):
        if name not in ("CLAW_SHOTS", "CLAW_AIMOCK"):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "claw-home"))
    return tmp_path / "claw-home"
