"""Background work of verifications: the check of the register, and recording expiries that have passed (S4)."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from almoner.giving.verifications import service
from almoner.platform.queue import Done, Job, Result
from almoner.platform.work import Handler, Schedule, Work


async def check_registration(work: Work, job: Job) -> Result:
    """Look the organisation up in its register. A second run finds the check ended."""
    async with work.db.write() as tx:
        await service.check_registration(tx, UUID(job.payload["verification"]), job.payload["then"])
    return Done()


handlers: Final[Mapping[str, Handler]] = {service.CHECK: check_registration}
schedules: Final = (Schedule("verifications.expire", service.next_due, service.expire),)
