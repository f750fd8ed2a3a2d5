"""Where the tests' server stores its files; ``python -m tests.support.cluster`` deletes them.

In memory if there is room: the server mostly creates and drops databases, some 800 files each, and file systems that do
not reuse inode numbers at once (ext4 without a journal) take a second for that.
"""

import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Final

from almoner.platform.database import postgres
from almoner.platform.database.programs import DatabaseUnavailable
from almoner.platform.observability import memory

PROJECT: Final = Path(__file__).parents[2]
MEMORY: Final = Path("/dev/shm")
_LEAST_FREE: Final = 6 * 2**30


def folder(line: str | None = None) -> Path:
    """The folder of this checkout's server; concurrent suites (tools/suites.py) have one each."""
    line = os.environ.get("TESTS_LINE", "") if line is None else line
    stored = MEMORY / f"almoner-tests-{sha256(bytes(PROJECT)).hexdigest()[:16]}{line}"
    return stored if stored.exists() or _has_room() else PROJECT / ".cache" / f"test-cluster{line}"


def _has_room() -> bool:
    return MEMORY.is_dir() and min(shutil.disk_usage(MEMORY).free, memory.usable_memory_bytes()) >= _LEAST_FREE


if __name__ == "__main__":
    for here in map(folder, ("", "1", "2", "3")):
        try:
            for made in {
                postgres.stop_leftover_server(here),
                here,
            }:  # the server's own folder is elsewhere if it cannot reach this one
                shutil.rmtree(made, ignore_errors=True)
        except DatabaseUnavailable as error:
            raise SystemExit(str(error)) from None
