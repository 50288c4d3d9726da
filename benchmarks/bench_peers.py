"""Beside pydantic-ai, on the same scripted replies: CPU a turn and a tool call, memory, imports.

The peer runs in an environment of its own, made under the cache folder at the first run. Ours
keeps every event on the disk meanwhile; the peer keeps nothing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEER = "pydantic-ai-slim==2.68.0"
BOUND = 3.0
"""The peer's CPU a turn is at least so many times ours."""

NAMES = {
    "turn": "CPU a turn with one tool call, ms",
    "call": "CPU a further tool call, ms",
    "import": "CPU to import, ms",
    "memory": "memory at most, MB",
}


def peer_python() -> Path:
    """The peer's interpreter; its environment is made when it isn't there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "claw-nb" / "benchmarks" / PEER.replace("==", "-")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "installed"
    if not done.exists():
        print(f"installing {PEER} in {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PEER], check=True)
        done.touch()
    return python


def measured(python: Path | str, worker: str) -> dict[str, float]:
    """One run of a worker in a fresh process."""
    path = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path)} if "claw" in worker else None
    script = HERE / "peers" / f"{worker}.py"
    done = subprocess.run([python, script], capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        raise SystemExit(f"{worker} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    rounds = 1 if parser.parse_args().quick else 5
    peer = peer_python()
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(measured(sys.executable, "claw_worker"))
        theirs.append(measured(peer, "pydantic_ai_worker"))
    print(f"{'':<36}{'claw_nb':>10}{'peer':>10}{'ratio':>8}")
    for name, words in NAMES.items():
        us, them = (statistics.median(row[name] for row in rows) for rows in (ours, theirs))
        print(f"{words:<36}{us:>10.2f}{them:>10.2f}{them / us:>7.1f}x")
    # Side by side, so that what else the machine does weighs on both.
    ratio = statistics.median(b["turn"] / a["turn"] for a, b in zip(ours, theirs, strict=True))
    print(f"a turn of {PEER} costs {ratio:.1f} of ours, everything of ours kept (bound {BOUND})")
    return int(ratio < BOUND)


if __name__ == "__main__":
    sys.exit(main())
