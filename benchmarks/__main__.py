"""Run every benchmark: each prints ratios that were measured side by side, and its bound."""

import subprocess
import sys
from pathlib import Path


def measured(script: Path) -> bool:
    """Whether every bound held."""
    command = [sys.executable, str(script), *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    here = Path(__file__).parent
    broken = []
    for script in sorted(here.glob("bench_*.py")):
        print(f"== {script.stem}", flush=True)
        if not measured(script):
            # Other work on the machine only ever makes a ratio worse: a bound is broken when it
            # is so twice.
            print("measured again:", flush=True)
            if not measured(script):
                broken.append(script.stem)
    for name in broken:
        print(f"bound broken: {name}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
