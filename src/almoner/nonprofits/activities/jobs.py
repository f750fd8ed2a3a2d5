"""Background work of activities: apply this version's rules to all organisations, when an administrator asks for it."""

from datetime import timedelta
from typing import Final

from almoner.nonprofits.activities import flows
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import JobContext, Tasks
from almoner.platform.jobs.queue import JobDone, JobKind, JobOf, Nothing, Result

APPLY: Final = JobKind("activities.apply", Nothing)
_LIMIT: Final = timedelta(hours=12)
"""Two million organisations take minutes, longer under load. An interrupted run starts again."""
tasks: Final = Tasks()


async def enqueue_apply_rules(tx: Tx) -> None:
    """Enqueue one run; nothing changes if a run already waits."""
    await APPLY.enqueue(tx, Nothing(), unique=APPLY.name)


@tasks.job(APPLY, limit=_LIMIT)
async def apply_rules(context: JobContext, _job: JobOf[Nothing]) -> Result:
    """Tag all organisations with the current rules."""
    await flows.retag_organisations(context.db)
    return JobDone()
