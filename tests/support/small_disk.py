"""Small disks that tests fill. Only root can mount them."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import asyncpg
import pytest

BLOCK = 4096
MEBIBYTE = 2**20


@contextmanager
def small_disk(folder: Path, megabytes: int, *, inodes: int | None = None) -> Iterator[Path]:
    """A data folder on its own disk with a size in MB and, optionally, a number of inodes."""
    folder.mkdir()
    options = f"size={megabytes}m,mode=755" + (f",nr_inodes={inodes}" if inodes else "")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("a small disk can only be made by root with the right to mount")
    try:
        data = folder / "var"
        data.mkdir()
        data.chmod(0o755)  # so that root's helper account reaches it, and nothing moves to another disk
        yield data
    finally:
        subprocess.run(["umount", folder], check=True)


def free_bytes(folder: Path) -> int:
    """The free bytes on the folder's disk."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def fill(file: Path, *, leave: int = 0) -> None:
    """Append to the file until at most this many bytes are free."""
    with file.open("ab", buffering=0) as filler, suppress(OSError):
        while (more := free_bytes(file.parent) - leave) > 0:
            filler.write(bytes(min(MEBIBYTE, max(more, BLOCK))))


def fill_inodes(folder: Path, *, leave: int = 0) -> None:
    """Create empty files in the folder until at most this many inodes are free."""
    folder.mkdir(exist_ok=True)
    with suppress(OSError):
        for number in count():
            if os.statvfs(folder).f_favail <= leave:
                return
            (folder / f"{number}").touch(exist_ok=False)


@contextmanager
def kept_full(file: Path, *others: Path) -> Iterator[None]:
    """Fill free space with the file at once, while the block runs; then delete the file.

    ``others``: files that are extended to the end of their last blocks.
    """
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(0.001):
            fill(file)
            for other in others:
                with other.open("ab", buffering=0) as appended, suppress(OSError):
                    for _ in range(BLOCK):
                        appended.write(b" ")

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        file.unlink(missing_ok=True)


async def exhaust_write_ahead_log(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Write more than its files can hold, so that PostgreSQL stops on a full disk."""
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await connection.execute(
            "select pg_logical_emit_message(true, 'tests', repeat('x', 16777216)) from generate_series(1, 20)"
        )
