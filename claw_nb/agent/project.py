"""The instructions that a project brings: AGENTS.md and CLAUDE.md."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from claw_nb.core.plain_file import beginning
from claw_nb.core.untrusted import visible

NAMES = ("AGENTS.md", "Agents.md", "CLAUDE.md")

MOST = 32_000
"""Characters of all the files together at most; what is nearest to the work is kept."""


def project_instructions(root: Path) -> str:
    """The project's instructions for work in ``root``, the nearest last; empty without any.

    Looked for in the folder and in those above it, up to the one that holds ``.git``. A link that
    leads out of that one is not followed: whoever wrote the project could have any file sent.
    """
    folders = _folders(root)
    found = [(path, text) for path in _files(folders) if (text := _text(path, within=folders[0]))]
    kept: list[str] = []
    left = MOST
    seen: set[str] = set()
    for path, text in reversed(found):
        if text in seen or left <= 0:
            continue
        seen.add(text)
        cut = text[:left]
        left -= len(cut)
        note = (
            f"\n[{path.name} goes on; only its beginning is shown.]" if len(cut) < len(text) else ""
        )
        kept.append(f"From {path}:\n\n{cut}{note}")
    return "\n\n".join(reversed(kept))


def _folders(root: Path) -> Sequence[Path]:
    """The project's folders from its top down to ``root``."""
    folders = [root, *root.parents]
    top = next((at for at, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return folders[top::-1]


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        seen: list[os.stat_result] = []
        for name in NAMES:
            try:
                found = (folder / name).stat()
            except OSError:
                continue
            # One file may have all three names: as a link, or where case does not count.
            if not any(os.path.samestat(found, other) for other in seen):
                seen.append(found)
                yield folder / name


def _text(path: Path, *, within: Path) -> str:
    text = (beginning(path, 4 * MOST, within=within) or b"").decode("utf-8-sig", "replace")
    return visible(text.replace("\r\n", "\n")).strip()
