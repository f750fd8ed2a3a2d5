"""Background work of organisations: telling their followers what a load or their branding changed."""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

import msgspec

from almoner.nonprofits.organisations import service
from almoner.nonprofits.organisations.domain import SHOWN_ANEW, ShownAnew
from almoner.nonprofits.organisations.ports import Followers
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Done, Job, Result


async def tell(followers: Sequence[Followers], work: Work, job: Job) -> Result:
    """Tell all followers, a batch in each transaction. Begun again, it goes on where the last commit ended."""
    load_id = UUID(job.payload["load"])
    more = True
    while more:
        async with work.db.write() as tx:
            more = await service.tell_batch(tx, followers, load_id)
    return Done()


async def on_shown(followers: Sequence[Followers], tx: Tx, events: Sequence[Event]) -> None:
    """Tell the followers of organisations that are shown otherwise; once of several changes in a moment."""
    told = [msgspec.convert(event.record(), ShownAnew).organisation for event in events]
    await service.tell_each(tx, followers, list(dict.fromkeys(told)))


def reactions(followers: Sequence[Followers]) -> tuple[Reaction, ...]:
    """The reaction, with those who name followers."""
    return (Reaction(SHOWN_ANEW, partial(on_shown, followers)),)


def handlers(followers: Sequence[Followers]) -> Mapping[str, Handler]:
    """The job, with those who name followers."""
    return {service.TELL: partial(tell, followers)}
