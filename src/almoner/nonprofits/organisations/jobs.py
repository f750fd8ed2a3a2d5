"""Background work of organisations: notify followers of changes by a load or to the branding."""

from collections.abc import Sequence
from typing import Final

from almoner.nonprofits.organisations import service
from almoner.nonprofits.organisations.domain import PUBLIC_DETAILS_CHANGED, PublicDetailsChangedEvent
from almoner.nonprofits.organisations.ports import FollowerLookup
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result

tasks: Final = DependentTaskRegistry[Sequence[FollowerLookup]]()
"""The tasks' parameter: lookups of followers."""


@tasks.job(service.NOTIFY_FOLLOWERS)
async def notify_followers_of_import(
    follower_lookups: Sequence[FollowerLookup],
    context: JobContext,
    job: DecodedJob[service.NotifyFollowersOfImportJob],
) -> Result:
    """Notify all followers of a load, one batch in each transaction; resumes after an interruption."""
    load_id = job.details.load
    more = True
    while more:
        async with context.db.write() as tx:
            more = await service.notify_next_followers_batch_if_any(tx, follower_lookups, load_id)
    return JobDone()


@tasks.on_internal_event(PUBLIC_DETAILS_CHANGED)
async def on_public_details_changed(
    followers: Sequence[FollowerLookup], tx: Tx, changed: Sequence[PublicDetailsChangedEvent]
) -> None:
    """Notify followers of these organisations, once for several changes in quick succession."""
    await service.notify_followers(tx, followers, list(dict.fromkeys(one.organisation for one in changed)))
