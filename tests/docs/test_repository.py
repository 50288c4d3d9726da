"""Links lead somewhere, and no file tells where it was made."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Put together here, so that this file doesn't hold them.
MACHINE = [
    "/" + "root/",
    "/" + "work/main",
    "/" + "work/shared",
    "/" + "opt/pypi",
    "/" + "opt/wheels",
    "/" + "home/runner",
    "/" + "Users/",
    "pypi" + ".org",
    "files.python" + "hosted",
    "registry." + "npmjs",
    "deb." + "debian",
    "index" + "-url",
]


def files() -> list[Path]:
    """What git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        return [path for path in ROOT.rglob("*") if path.is_file()]
    return [
        path for name in sorted(set(listed.stdout.split("\0"))) if (path := ROOT / name).is_file()
    ]


def broken_links(text: str, folder: Path) -> list[str]:
    """Relative links of a Markdown text that lead nowhere."""
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [
        target
        for target in targets
        if not re.match(r"[a-z]+:|#", target) and not (folder / target.split("#")[0]).exists()
    ]


MARKDOWN = [path for path in files() if path.suffix == ".md"]


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(path):
    assert broken_links(path.read_text(encoding="utf-8"), path.parent) == []


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "here.md").touch()
    text = "[a](here.md#x) [b](gone.md) [c](https://example.org) `[d](code.md)` ![e](no.png)"
    assert broken_links(text, tmp_path) == ["gone.md", "no.png"]


def machine_traces(text: str) -> list[str]:
    return [trace for trace in MACHINE if trace in text]


def test_no_file_names_a_machine_or_a_registry():
    found = {}
    for path in files():
        try:
            traces = machine_traces(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        if traces:
            found[path.relative_to(ROOT).as_posix()] = traces
    assert found == {}


def test_a_trace_of_a_machine_is_found():
    assert machine_traces("see /" + "root/x") == ["/" + "root/"]
