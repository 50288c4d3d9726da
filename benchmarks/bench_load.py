"""``%load_ext claw_nb`` against an empty extension: CPU seconds, and what it imports."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BOUND = 0.1
HEAVY = (
    "anthropic", "openai", "mcp", "lancedb", "duckdb", "sentence_transformers", "papermill",
    "jupyter_server", "pandas",
)  # fmt: skip

CODE = """
import json, sys, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
begun = time.process_time()
shell.run_line_magic("load_ext", {name!r})
took = time.process_time() - begun
print(json.dumps([took, [name for name in {heavy!r} if name in sys.modules]]))
"""


def cpu(name: str, folder: Path) -> tuple[float, list[str]]:
    code = CODE.format(name=name, heavy=HEAVY)
    env = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    took, loaded = json.loads(done.stdout.splitlines()[-1])
    return took, loaded


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    rounds = 3 if parser.parse_args().quick else 9
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "empty_extension.py").write_text("def load_ipython_extension(shell):\n    pass\n")
        pairs = [(cpu("empty_extension", folder), cpu("claw_nb", folder)) for _ in range(rounds)]
    empty = statistics.median(pair[0][0] for pair in pairs)
    ours = statistics.median(pair[1][0] for pair in pairs)
    loaded = pairs[0][1][1]
    print(f"%load_ext claw_nb: {ours:.3f} s CPU, empty extension {empty:.3f} s")
    print(f"difference {ours - empty:.3f} s (bound {BOUND}); heavy imports: {loaded or 'none'}")
    return int(ours - empty > BOUND or bool(loaded))


if __name__ == "__main__":
    sys.exit(main())
