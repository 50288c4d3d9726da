"""The folders of a data home, and what kind of disk they are on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from claw_nb.core.errors import NotFound, StoreError
from claw_nb.store.trouble import explain_disk

_SHARED = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "gpfs", "fuse.", "beegfs")
"""File systems on which SQLite's WAL is unsafe: its shared memory is not shared there."""

_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, kw_only=True)
class Home:
    """Where everything is kept."""

    root: Path

    @property
    def data(self) -> Path:
        """The store's own folder."""
        return self.root / "data"

    @property
    def state(self) -> Path:
        """The SQLite file: state, inbox and manifest."""
        return self.data / "state.db"

    @property
    def lake(self) -> Path:
        """Sealed log segments."""
        return self.data / "lake"

    @property
    def catalog(self) -> Path:
        """The DuckDB file for other programs."""
        return self.data / "claw.duckdb"

    @property
    def memories(self) -> Path:
        """The LanceDB table of memories."""
        return self.data / "memory" / "memories.lance"

    @property
    def blobs(self) -> Path:
        """Payloads too big for a row."""
        return self.data / "blobs"

    @property
    def spill(self) -> Path:
        """Rows that SQLite refused, until it takes them."""
        return self.data / "spill"

    @property
    def temporary(self) -> Path:
        """Where DuckDB puts what does not fit into memory."""
        return self.data / "tmp"

    @property
    def locks(self) -> Path:
        """Lock files."""
        return self.data / "locks"

    @property
    def sessions(self) -> Path:
        """Conversations as JSON lines, to tail, grep and recover."""
        return self.root / "sessions"

    @property
    def runs(self) -> Path:
        """Runs as JSON lines."""
        return self.root / "runs"

    def prepare(self) -> None:
        """Make the folders."""
        with explain_disk(self.root):
            self.root.parent.mkdir(parents=True, exist_ok=True)
            # What is said to an agent is nobody else's business.
            for folder in (self.root, self.data, self.sessions, self.runs):
                folder.mkdir(mode=0o700, exist_ok=True)
            self.lake.mkdir(exist_ok=True)

    def require(self) -> None:
        """Raise NotFound when nothing was ever kept here."""
        with explain_disk(self.state):
            found = self.state.exists()
        if not found:
            raise NotFound(
                f"There is no data home at {self.root}.",
                hint="Ask something first (`claw ask`), or point CLAW_HOME to your home.",
            )

    def check_lake(self, data_id: str) -> None:
        """Claim the lake for this state.db; StoreError when it belongs to another one."""
        mark = self.lake / "data_id"
        with explain_disk(mark):
            try:
                found = mark.read_text().strip()
            except FileNotFoundError:
                mark.write_text(f"{data_id}\n")
                return
        if found != data_id:
            raise StoreError(
                f"{self.state} and {self.lake} belong to two different homes.",
                hint="Put both back from the same backup. Nothing was changed.",
            )


def journal_for(path: Path, *, mounts: Path = _MOUNTS) -> Literal["WAL", "TRUNCATE"]:
    """The journal mode that is safe on this path's disk: a rollback journal on network disks."""
    kind = _filesystem(path, mounts)
    return "TRUNCATE" if kind.startswith(_SHARED) else "WAL"


def _filesystem(path: Path, mounts: Path) -> str:
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    path, best, kind = path.resolve(), -1, ""
    for line in lines:
        left, _, right = line.partition(" - ")
        # Mount points are written with octal escapes.
        point = Path(left.split(" ")[4].encode().decode("unicode_escape"))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), right.split(" ")[0]
    return kind
