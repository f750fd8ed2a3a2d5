"""The refresh schedule of registers, and the status of refreshes; pure."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from almoner.nonprofits.registers.ports import RegisterSource
from almoner.platform.jobs import refresh_schedule

Status = Literal["loaded", "unchanged", "quarantined", "failed"]
Refresh = refresh_schedule.ScheduledRefresh[RegisterSource]


@dataclass(frozen=True, slots=True)
class RefreshStatus:
    """The result of a source's last refresh."""

    status: Status | None
    failures: int = 0
    import_id: UUID | None = None
