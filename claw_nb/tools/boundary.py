"""The one boundary: which paths the agent's file and shell tools may touch.

Everything under ``root`` is inside, but for what is ``forbidden`` (the agent's home with its
rules) and for the kernel's own file systems. A path counts by where it really
leads: through ``..``, symlinks, hard links, and names that differ only by case.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from claw_nb.core.errors import ToolError

_KERNELS_OWN = ("/proc", "/sys", "/dev")
_DRIVE = re.compile(r"[A-Za-z]:|\\\\|//[?.]/")
_DEVICE_NAME = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])\s*(?:\..*)?", re.IGNORECASE)
_MOST_WALKED = 20_000
"""Files looked at to find the other names of a hard-linked one."""

Identity = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""


class Boundary:
    """A folder that tools may work in, and what in it they may not."""

    def __init__(self, root: Path, *, forbidden: Sequence[Path] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self.forbidden = tuple(Path(os.path.realpath(path)) for path in forbidden)
        self._ignores_case = _ignores_case(self.root)
        system = (Path(folder) for folder in _KERNELS_OWN)
        self._system = tuple(path for path in system if not _is_within(self.root, (path,)))

    def resolve(self, path: str) -> Path:
        """The real, absolute path, which need not exist; ToolError(policy) when it is outside."""
        given = _written(path)
        whole = self.root / os.path.expanduser(given)  # noqa: PTH111 - knows ~nobody without error
        real = Path(os.path.realpath(whole))
        if _is_within(Path(os.path.normpath(whole)), self._system):
            raise self._outside(path, "it belongs to the operating system")
        inside = self._inside(real)
        if inside is None:
            raise self._outside(path, f"it leads to {real}" if str(real) != path else "")
        if self.forbids(inside):
            raise ToolError(
                f"{path} belongs to the agent's own home, which its tools may not touch",
                kind="policy",
                hints=("Use remember, recall and sql for what is kept there, or ask the user.",),
            )
        return inside

    def forbids(self, real: Path) -> bool:
        """Whether a real path is, or lies in, something forbidden."""
        if any(self._same_or_under(real, path) for path in self.forbidden):
            return True
        known = self.forbidden_identities()
        return bool(known) and any(identity(path) in known for path in (real, *real.parents))

    def forbidden_identities(self) -> frozenset[Identity]:
        """What the forbidden paths are right now."""
        found = (identity(path) for path in self.forbidden)
        return frozenset(each for each in found if each is not None)

    def shown(self, real: Path) -> str:
        """A path as people and models read it: relative to the root."""
        return real.relative_to(self.root).as_posix() if real != self.root else "."

    def check_links(self, real: Path, found: os.stat_result) -> None:
        """Raise ToolError(policy) when a file has names that can't all be found inside."""
        if not stat.S_ISREG(found.st_mode) or found.st_nlink <= 1:
            return
        wanted, left = (found.st_dev, found.st_ino), found.st_nlink
        for path in self._walk():
            if identity(path) == wanted:
                left -= 1
                if left == 0:
                    return
        raise ToolError(
            f"{self.shown(real)} is a hard link to a file that also lies outside of the folder",
            kind="policy",
            hints=("Work on a copy of it, or ask the user.",),
        )

    def _walk(self) -> Iterator[Path]:
        seen = 0
        for folder, folders, files in os.walk(self.root):
            here = Path(folder)
            folders[:] = [name for name in folders if not self.forbids(here / name)]
            for name in files:
                seen += 1
                if seen > _MOST_WALKED:
                    return
                yield here / name

    def _inside(self, real: Path) -> Path | None:
        """The path spelled under the root, or None."""
        if _is_within(real, self._system):
            return None
        if _is_within(real, (self.root,)):
            return real
        if not self._ignores_case:
            return None
        top = identity(self.root)
        for parent in (real, *real.parents):
            if identity(parent) == top:
                return self.root / real.relative_to(parent)
        return None

    def _same_or_under(self, path: Path, folder: Path) -> bool:
        if self._ignores_case:
            return _is_within(Path(str(path).casefold()), (Path(str(folder).casefold()),))
        return _is_within(path, (folder,))

    def _outside(self, path: str, why: str) -> ToolError:
        return ToolError(
            f"{path} is outside of the folder {self.root}" + (f": {why}" if why else ""),
            kind="policy",
            hints=("Use a path relative to that folder.", "Ask the user for files elsewhere."),
        )


def identity(path: Path) -> Identity | None:
    """Device and inode of what stands there, symlinks not followed; None when nothing does."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in folders)


def _ignores_case(root: Path) -> bool:
    swapped = root.with_name(root.name.swapcase()) if root.name else root
    return swapped.name != root.name and identity(swapped) == identity(root) is not None


def _written(path: str) -> str:
    """The path as given, when it can be one."""
    wrong = ""
    if not path.strip():
        wrong = "an empty path names nothing"
    elif "\0" in path or any(0xD800 <= ord(char) <= 0xDFFF for char in path):
        wrong = f"{path!r} can't be the path of a file"
    elif len(path) > 4_096:
        wrong = f"a path of {len(path)} characters is too long"
    if wrong:
        raise ToolError(wrong, kind="validation", hints=("Give a path inside the folder.",))
    if _is_windows_only(path):
        raise ToolError(
            f"{path} names a drive, a device or a stream, which is outside of the folder",
            kind="policy",
            hints=("Use a relative path with forward slashes.",),
        )
    return path


def _is_windows_only(path: str) -> bool:
    """Drives, network shares, device names and streams; on Linux they are odd names at best."""
    if os.name != "nt":
        return bool(re.match(r"[A-Za-z]:[\\/]|\\\\|//[?.]/", path))
    rest = Path(path).as_posix()
    absolute = bool(re.match(r"[A-Za-z]:[\\/]", path))
    if _DRIVE.match(path) and not absolute:
        return True
    parts = PurePosixPath(rest[2:] if absolute else rest).parts
    return any(":" in part or _DEVICE_NAME.fullmatch(part) for part in parts)
