"""Background work of organisations: telling their followers what a load or their branding changed."""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

import msgspec

from almoner.nonprofits.organisations import service
from almoner.nonprofits.organisations.domain import DISPLAY_CHANGED, DisplayChanged
from almoner.nonprofits.organisations.ports import FollowerLookup
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, Result


async def notify_followers_of_load(followers: Sequence[FollowerLookup], work: JobContext, job: Job) -> Result:
    """Tell all followers, a batch in each transaction. Begun again, it goes on where the last commit ended."""
    load_id = UUID(job.payload["load"])
    more = True
    while more:
        async with work.db.write() as tx:
            more = await service.notify_followers_batch(tx, followers, load_id)
    return JobDone()


async def on_display_changed(followers: Sequence[FollowerLookup], tx: Tx, events: Sequence[Event]) -> None:
    """Tell the followers of organisations that are shown otherwise; once of several changes in a moment."""
    reported = [msgspec.convert(event.event_data(), DisplayChanged).organisation for event in events]
    await service.notify_followers(tx, followers, list(dict.fromkeys(reported)))


def reactions(followers: Sequence[FollowerLookup]) -> tuple[Reaction, ...]:
    """The reaction, with those who name followers."""
    return (Reaction(DISPLAY_CHANGED, partial(on_display_changed, followers)),)


def handlers(followers: Sequence[FollowerLookup]) -> Mapping[str, Handler]:
    """The job, with those who name followers."""
    return {service.NOTIFY_FOLLOWERS: partial(notify_followers_of_load, followers)}
