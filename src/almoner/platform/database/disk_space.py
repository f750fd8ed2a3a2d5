"""Whether the data folder has enough free space for requests to write (decision 0082)."""

import os
from collections.abc import Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from almoner.kit.context_values import ContextValue
from almoner.kit.errors import ServiceUnavailable

MEBIBYTE: Final = 2**20
RESERVED_INODES: Final = 1_000
"""How many files can still be created when writes are refused: PostgreSQL creates one per table and WAL segment."""
RESUME_FACTOR: Final = 1.25
"""Writes are accepted again at this multiple of the reserve, so that they are not refused again at once."""
ADVICE: Final = "free some space on the disk of the data folder: docs/runbooks/full-disk.md"

_refusable: ContextVar[bool] = ContextVar("almoner_refusable_writes", default=False)


class DiskSpaceLow(ServiceUnavailable):
    """Writes are refused because disk space is low."""

    message = "Changes cannot be saved because the disk is nearly full; reads still work; try again later"


def refuse_writes_when_disk_low(*, enabled: bool = True) -> ContextValue[bool]:
    """Inside this block, writes are refused while disk space is low."""
    return ContextValue(_refusable, enabled)


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """Free bytes and inodes; ``free_inodes`` is None if the file system does not count them."""

    free_bytes: int
    free_inodes: int | None


def measure_free_space(folders: Iterable[Path]) -> FreeSpace | None:
    """The smallest free space of the folders; None if none exists."""
    found = []
    for folder in folders:
        with suppress(OSError):
            found.append(os.statvfs(folder))
    if not found:
        return None
    inodes = [disk.f_favail for disk in found if disk.f_files]
    return FreeSpace(min(disk.f_bavail * disk.f_frsize for disk in found), min(inodes, default=None))


def is_space_low(free_space: FreeSpace | None, reserved_bytes: int, *, was_low: bool) -> bool:
    """Whether writes must be refused; once refused, more than the reserve must be free again."""
    if free_space is None or not reserved_bytes:
        return False
    factor = RESUME_FACTOR if was_low else 1.0
    if free_space.free_bytes < reserved_bytes * factor:
        return True
    return free_space.free_inodes is not None and free_space.free_inodes < RESERVED_INODES * factor


class DiskSpace:
    """The disk space state of this process, updated by DiskSpaceMonitor."""

    def __init__(self) -> None:
        self.free: FreeSpace | None = None
        self.low_since: datetime | None = None

    @property
    def is_low(self) -> bool:
        """Whether disk space is low: requests may not write, and background work pauses."""
        return self.low_since is not None

    @property
    def free_space_text(self) -> str:
        """The free space in words."""
        if self.free is None:
            return "unknown"
        inodes = "" if self.free.free_inodes is None else f" and {self.free.free_inodes:,} inodes"
        return f"{self.free.free_bytes // MEBIBYTE:,} MB{inodes}"

    def ensure_writable(self) -> None:
        """Raises DiskSpaceLow inside ``refuse_writes_when_disk_low`` while disk space is low."""
        if self.low_since is not None and _refusable.get():
            raise DiskSpaceLow
