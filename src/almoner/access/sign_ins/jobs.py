"""A new password is offered to whoever asked, and what is over is forgotten."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from almoner.access.sign_ins import service
from almoner.access.sign_ins.service import links
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, Result


async def send_password_reset(work: JobContext, job: Job) -> Result:
    """Mail the link: in a job, so that asking takes as long for a name that nobody has."""
    async with work.db.write() as tx:
        await links.send_password_reset(tx, job.payload)
    return JobDone()


handlers: Final[Mapping[str, Handler]] = {links.RESET_REQUESTED: send_password_reset}

schedules: Final = (
    Schedule("sign_ins.forget", service.next_deletion_at, service.delete_expired, every=timedelta(days=1)),
)
