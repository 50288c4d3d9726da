"""Run every benchmark: each prints ratios that were measured side by side, and its bound."""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    here = Path(__file__).parent
    broken = []
    for script in sorted(here.glob("bench_*.py")):
        print(f"== {script.stem}", flush=True)
        if subprocess.run([sys.executable, str(script), *sys.argv[1:]], check=False).returncode:
            broken.append(script.stem)
    for name in broken:
        print(f"bound broken: {name}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
