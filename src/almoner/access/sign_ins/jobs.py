"""Emails password reset links, and deletes old sign-ins and links."""

from datetime import timedelta
from typing import Final

from almoner.access.sign_ins import service
from almoner.access.sign_ins.service import links
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "sign_ins.delete_expired",
    service.next_sign_in_deletion_at,
    service.delete_expired_sign_ins_and_links,
    period=timedelta(days=1),
)


@tasks.job(links.RESET_REQUESTED)
async def send_password_reset(context: JobContext, job: DecodedJob[links.RequestPasswordResetJob]) -> Result:
    """Email a password reset link; a job, so that the request takes as long for unknown names."""
    async with context.db.write() as tx:
        await links.send_password_reset(tx, job.details)
    return JobDone()
