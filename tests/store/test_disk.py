"""Disks that are full or read-only: one clear message, and nothing lost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claw_nb.core.errors import StoreError
from claw_nb.store import Store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk as Linux does")


@contextmanager
def mounted(point: Path, *arguments: str) -> Iterator[Path]:
    point.mkdir()
    done = subprocess.run(
        ["mount", *arguments, str(point)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must be able to mount a small disk: {done.stderr}")
        pytest.skip("mounting a small disk needs root")
    try:
        yield point
    finally:
        # Lazily: a test that fails leaves files open, and that must not hide why.
        subprocess.run(["umount", "--lazy", str(point)], check=True)


@pytest.fixture
def small_disk(tmp_path):
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=6m", "tmpfs") as point:
        yield point


def test_a_full_disk_loses_nothing_that_was_acknowledged(small_disk, row, rows_of):
    store = Store.open(small_disk / "home")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 2_000_000)
    acknowledged = []
    with pytest.raises(StoreError, match="disk is full") as caught:
        while True:
            entry = row(text="words " * 200)
            store.append([entry])
            acknowledged.append(entry.id)
    assert "Free some space" in caught.value.hint
    assert len(acknowledged) > 100

    def present():
        return [found for (found,) in rows_of(store, "SELECT id FROM events ORDER BY seq")]

    assert present() == acknowledged
    with pytest.raises(StoreError):
        store.compact(force=True)
    assert present() == acknowledged
    ballast.unlink()
    entry = row(text="there is room again")
    store.append([entry])
    store.compact(force=True)
    assert present() == [*acknowledged, entry.id]
    assert not list(store.paths.lake.rglob(".*"))
    store.close()


def test_a_blob_that_does_not_fit_leaves_nothing_behind(small_disk, row, rows_of):
    store = Store.open(small_disk / "home")
    with pytest.raises(StoreError, match="disk is full"):
        store.append([row(text="x" * 8_000_000)])
    assert [path for path in store.blobs.folder.rglob("*") if path.is_file()] == []
    store.append([row(text="small")])
    assert rows_of(store, "SELECT text FROM events") == [("small",)]
    store.close()


@pytest.fixture
def read_only(tmp_path):
    """Remounts a folder so that even root cannot write in it."""

    @contextmanager
    def remount(folder: Path) -> Iterator[Path]:
        with mounted(tmp_path / "read-only", "--bind", str(folder)) as point:
            subprocess.run(["mount", "-o", "remount,ro,bind", str(point)], check=True)
            yield point

    return remount


def test_a_home_cannot_begin_on_a_read_only_disk(tmp_path, read_only):
    (tmp_path / "empty").mkdir()
    with read_only(tmp_path / "empty") as point:
        with pytest.raises(StoreError, match="read-only disk") as caught:
            Store.open(point / "home")
        assert "CLAW_HOME" in caught.value.hint


def test_a_home_that_became_read_only_says_so(home, store, row, read_only):
    store.append([row()])
    store.close()
    with read_only(home) as point, pytest.raises(StoreError, match="opened for writing") as caught:
        Store.open(point)
    assert str(point) in caught.value.message
    assert "CLAW_HOME" in caught.value.hint


def test_a_file_where_the_home_should_be_is_named(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(StoreError) as caught:
        Store.open(tmp_path / "home")
    assert str(tmp_path / "home") in caught.value.message
