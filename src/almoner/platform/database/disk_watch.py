"""Watches the disk of the data folder in every process; below the reserve, writes are refused."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from almoner.kit.time import Clock
from almoner.platform.database.disk_space import (
    ADVICE,
    MEBIBYTE,
    RESUME_FACTOR,
    DiskSpace,
    is_space_low,
    measure_free_space,
)
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.telemetry import Telemetry

_LOOK_SECONDS: Final = 1.0


class DiskSpaceMonitor:
    """Measures free disk space every second."""

    def __init__(
        self, space: DiskSpace, folders: Sequence[Path], reserve: int, clock: Clock, telemetry: Telemetry
    ) -> None:
        """``folders``: measured if they exist. ``reserve``: bytes to keep free; 0 for none."""
        self._space = space
        self._folders = folders
        self._reserve = reserve
        self._clock = clock
        self._telemetry = telemetry

    def check(self) -> None:
        """Measure the free space once and update the state."""
        space = self._space
        space.free = measure_free_space(self._folders)
        low = is_space_low(space.free, self._reserve, was_low=space.is_low)
        if low != space.is_low:
            space.low_since = self._clock.real_now() if low else None
            self._log_change()
        self._telemetry.disk.set_free_space(space.free, writes_refused=low)

    async def run(self, stop: asyncio.Event) -> None:
        """Measure every second until ``stop`` is set."""
        while not await wait_until_set(stop, _LOOK_SECONDS):
            self.check()

    @property
    def low_space_warning(self) -> str | None:
        """A sentence for the terminal while writes are refused, else None."""
        if not self._space.is_low:
            return None
        needed = int(self._reserve * RESUME_FACTOR) // MEBIBYTE
        return (
            f"The disk is nearly full ({self._space.free_space_text} free): "
            f"writes are refused until {needed} MB are free. "
            "Free some space, or lower ALMONER_DISK_RESERVE_MB."
        )

    def _log_change(self) -> None:
        """Log the change once; paused loops log nothing."""
        if self._space.is_low:
            event, level, fields = "writes_refused", "error", {"advice": ADVICE}
        else:
            event, level, fields = "writes_resumed", "info", {}
        free = self._space.free
        self._telemetry.log(
            event,
            self._clock.real_now(),
            level=level,
            freeBytes=free.free_bytes if free else None,
            freeInodes=free.free_inodes if free else None,
            **fields,
        )
