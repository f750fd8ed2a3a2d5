"""Background work of activities: apply this version's rules to all organisations, when an administrator asks for it."""

from datetime import timedelta
from typing import Final

from almoner.nonprofits.activities import flows
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, NoDetails, Result

APPLY: Final = JobKind("activities.apply", NoDetails)
_LIMIT: Final = timedelta(hours=12)
"""Two million organisations take minutes, longer under load. An interrupted run starts again."""
tasks: Final = TaskRegistry()


async def enqueue_retagging(tx: Tx) -> None:
    """Enqueue one run; nothing changes if a run already waits."""
    await APPLY.enqueue(tx, NoDetails(), unique_key=APPLY.name)


@tasks.job(APPLY, time_limit=_LIMIT)
async def retag_organisations(context: JobContext, _job: DecodedJob[NoDetails]) -> Result:
    """Tag all organisations with the current rules."""
    await flows.retag_organisations(context.db)
    return JobDone()
