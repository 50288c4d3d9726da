"""Where the paths of a shell command lead, and what may be lost or learned there."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from claw_nb.tools import shell_disk
from claw_nb.tools.boundary import Boundary
from claw_nb.tools.files import holds_secrets, starts_itself

_SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys",
    "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin", "/usr/include", "/usr/libexec", "/System",
    "/Library", "/private/etc", "/private/var/db", "C:/Windows",
)  # fmt: skip
"""Nothing in these may be deleted as a whole."""

_TOPS = (
    "/", "/home", "/media", "/mnt", "/opt", "/private", "/root", "/run", "/snap", "/srv", "/tmp",
    "/usr", "/usr/local", "/usr/share", "/var", "/var/lib", "/var/log", "/Applications", "/Users",
    "/Volumes",
)  # fmt: skip
"""These themselves may not be deleted; something in them may, with a yes."""

_DISK = re.compile(
    r"/dev/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme|mmcblk|disk|rdisk|md|dm-|mapper/|loop|sr|nbd|zd|ram"
    r"|mem\b|kmem\b|port\b).*"
)
_TEMPORARY = (
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/private/tmp",
    "/private/var/folders",
    "/var/folders",
)
_STREAM = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|std(?:in|out|err)|tty|fd/[0-9]+|pts/[0-9]+)"
)
_NETWORK = re.compile(r"/dev/(?:tcp|udp)/.*")
_SECRET_PLACE = re.compile(
    r".*/\.(?:ssh|gnupg|aws|azure|kube|docker|password-store)(?:/(?!known_hosts|.*\.pub).*)?"
    r"|.*/\.config/(?:gcloud|gh|op|rclone)(?:/.*)?"
    r"|/etc/(?:shadow|gshadow|sudoers).*|/proc/[^/]+/(?:environ|mem|maps|fd/.*)|.*/\.(?:bash|zsh)_history"
    r"|.*/\.(?:mozilla|thunderbird)/.*|.*/Login Data|.*/Cookies"
)
_SECRET_AT_HOME = re.compile(
    r"\.(?:claw|codex|claude|gemini|cursor)(?:/.*)?|\.claude\.json|\.git-credentials|\.local/share/keyrings(?:/.*)?"
)
"""Where agents and keyrings keep their keys; in a project such folders hold no secrets."""
_PLACE_NAME = re.compile(r"CLAW_HOME|XDG_\w+|TMPDIR")


@dataclass(frozen=True, kw_only=True)
class Places:
    """Paths as one command sees them: ``where`` is the folder that it runs in, ``root`` ours."""

    root: str
    home: str
    where: str
    boundary: Boundary | None = None
    known: dict[tuple[str, str, str], bool] = field(default_factory=dict, compare=False, repr=False)
    """What the disk has said during one review: a script may name a path thousands of times."""

    @classmethod
    def of(cls, boundary: Boundary | None) -> Places:
        """The places of a command that starts in the boundary's root."""
        root = boundary.root.as_posix() if boundary else Path.cwd().as_posix()
        home = Path(posixpath.expanduser("~")).as_posix()
        return cls(root=root, home=home, where=root, boundary=boundary)

    @property
    def variables(self) -> dict[str, str]:
        """The variables of the environment that name places, the agent's home among them."""
        found = {name: value for name, value in os.environ.items() if _PLACE_NAME.fullmatch(name)}
        if self.boundary and self.boundary.forbidden:
            found["CLAW_HOME"] = self.boundary.forbidden[0].as_posix()
        return found

    def spelled(self, text: str) -> str:
        """The absolute path as it is written, with its globs, links and ``..``."""
        if text == "~" or text.startswith("~/"):
            text = self.home + text[1:]
        elif re.match(r"~\w+", text):
            text = "/home/" + text[1:]
        return posixpath.join(self.where, text or ".")

    def path(self, text: str) -> str:
        """The absolute path, with its globs; ``~`` stands for the home folder."""
        path = posixpath.normpath(self.spelled(text))
        return path.replace("//", "/", 1) if path.startswith("//") else path

    def is_protected(self, text: str) -> bool:
        """Whether deleting this would destroy the system, a home, or what holds the workspace."""
        path = re.sub(r"(?:/(?:[*?]+|\.[*?]+|\.\[[^]]*\][*?]*))+$", "", self.path(text)) or "/"
        whole = {*_TOPS, *_SYSTEM, self.home, *self._above()}
        if path in whole or any(_is_under(path, folder) for folder in _SYSTEM):
            return not path.startswith("/dev/shm/")
        if re.fullmatch(r"/(?:home|Users)/[^/]+", path):
            return True
        return bool(re.search(r"[*?\[]", path)) and any(_globs(each, path) for each in whole)

    def is_workspace(self, text: str) -> bool:
        """Whether this is the workspace itself, or everything in it."""
        return re.sub(r"/[*?.]+$", "", self.path(text)) == self.root

    def is_outside(self, text: str) -> bool:
        """Whether a path leads out of the workspace, temporary folders and streams aside."""
        path = self.path(text)
        if _STREAM.fullmatch(path) or any(_is_under(path, each) for each in _TEMPORARY):
            return False
        return not (path == self.root or _is_under(path, self.root))

    def lies_inside(self, path: str) -> bool:
        """Whether a real path is the workspace, or lies in it."""
        return path == self.root or _is_under(path, self.root)

    def is_system(self, text: str) -> bool:
        """Whether a path lies where the system's own files are."""
        path = self.path(text)
        if _STREAM.fullmatch(path) or path.startswith("/dev/shm/"):
            return False
        return any(path == each or _is_under(path, each) for each in _SYSTEM)

    def is_forbidden(self, text: str) -> bool:
        """Whether this is the agent's own home, by any name, or a glob that takes it in."""
        return self._once("forbidden", text, self._is_forbidden)

    def _is_forbidden(self, text: str) -> bool:
        if self.boundary is None:
            return False
        path = self.path(text)
        if shell_disk.GLOB.search(path) and any(
            _reaches(path, each.as_posix()) for each in self.boundary.forbidden
        ):
            return True
        return any(self.boundary.forbids(Path(each)) for each in self._meant(text))

    def holds_forbidden(self, text: str) -> bool:
        """Whether the agent's own home lies in this folder."""
        if self.boundary is None:
            return False
        path = self.path(text)
        return any(_is_under(each.as_posix(), path) for each in self.boundary.forbidden)

    def is_disk(self, text: str) -> bool:
        """Whether this is a disk or the memory itself."""
        return bool(_DISK.fullmatch(self.path(text)))

    def is_network(self, text: str) -> bool:
        """Whether bash would open a connection for it."""
        return bool(_NETWORK.fullmatch(text))

    def is_secret(self, text: str) -> bool:
        """Whether secrets are kept there."""
        return self._once("secret", text, self._is_secret)

    def _once(self, question: str, text: str, answer: Callable[[str], bool]) -> bool:
        key = (question, self.where, text)
        if key not in self.known:
            self.known[key] = answer(text)
        return self.known[key]

    def _is_secret(self, text: str) -> bool:
        return any(
            _SECRET_PLACE.fullmatch(path)
            or holds_secrets(Path(PurePosixPath(path).name))
            or (
                _is_under(path, self.home) and _SECRET_AT_HOME.fullmatch(path[len(self.home) + 1 :])
            )
            for path in self._meant(text)
        )

    def starts_itself(self, text: str) -> bool:
        """Whether writing there makes other programs run something later."""
        path = self.path(text)
        for top in (self.root, self.home):
            if _is_under(path, top) and starts_itself(posixpath.relpath(path, top)):
                return True
        return False

    def _meant(self, text: str) -> set[str]:
        """The paths that a word names, by what is written and by where it leads on this disk."""
        found = shell_disk.expanded(self.spelled(text)) or ()
        return {self.path(text), *map(posixpath.normpath, found), *map(shell_disk.real, found)}

    def _above(self) -> list[str]:
        return [each.as_posix() for each in PurePosixPath(self.root).parents]


def _is_under(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/") and path != folder


def _globs(path: str, pattern: str) -> bool:
    """Whether a glob takes in a path; ``*`` stays within a folder and leaves hidden names out."""
    parts, patterns = path.strip("/").split("/"), pattern.strip("/").split("/")
    return len(parts) == len(patterns) and all(map(_matches, parts, patterns))


def _reaches(pattern: str, folder: str) -> bool:
    """Whether a glob takes in a folder or something in it."""
    depth = folder.strip("/").count("/") + 1
    return _globs(folder, "/".join(pattern.strip("/").split("/")[:depth]))


def _matches(name: str, pattern: str) -> bool:
    return fnmatch(name, pattern) and name.startswith(".") <= pattern.startswith((".", "["))
