"""A reserve file beside the embedded database, deleted to free space when the disk is full (decision 0082)."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from almoner.platform.database.disk_space import MEBIBYTE, RESUME_FACTOR

BALLAST_BYTES: Final = 64 * MEBIBYTE
FILE: Final = "postgres.ballast"
_RELEASE_SHARE: Final = 4

BallastStep = Literal["create", "remove"]


def next_ballast_file_step(free_bytes: int, reserved_bytes: int, *, ballast_exists: bool) -> BallastStep | None:
    """Whether to create or remove the reserve file, given the free and reserved bytes; None for neither.

    It is created only if enough space stays free, and removed when a quarter of the reserve is left. A small reserve
    has no file, since removing it would allow writes again.
    """
    wanted = reserved_bytes >= 2 * BALLAST_BYTES
    if ballast_exists:
        return "remove" if free_bytes < reserved_bytes / _RELEASE_SHARE or not wanted else None
    return "create" if wanted and free_bytes >= reserved_bytes * RESUME_FACTOR + BALLAST_BYTES else None


def has_ballast_file(folder: Path) -> bool:
    """Whether the reserve file exists in full size."""
    with suppress(FileNotFoundError):
        return (folder / FILE).stat().st_size >= BALLAST_BYTES
    return False


def create_ballast_file(folder: Path) -> None:
    """Create the reserve file. Raises OSError, leaving nothing, if there is no space."""
    file = folder / FILE
    try:
        with file.open("wb", buffering=0) as written:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(written.fileno(), 0, BALLAST_BYTES)
            else:  # macOS
                while written.tell() < BALLAST_BYTES:
                    written.write(bytes(MEBIBYTE))
    except OSError:
        file.unlink(missing_ok=True)
        raise


def remove_ballast_file(folder: Path) -> bool:
    """Delete the reserve file; False if there was none."""
    file = folder / FILE
    there = file.exists()
    file.unlink(missing_ok=True)
    return there
