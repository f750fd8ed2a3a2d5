"""The available memory: that of the machine, or the limit of a container."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The memory limit of the current container, in cgroup versions 2 and 1."""


def usable_memory_bytes(limit_files: Sequence[Path] = _LIMITS) -> int:
    """The usable memory, in bytes."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in limit_files:
        with suppress(OSError, ValueError):  # there is no limit, or it is "max"
            found.append(int(limit.read_text()))
    return min(found)
