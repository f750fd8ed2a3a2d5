"""Background work of organisations: telling their followers what a load changed."""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from almoner.nonprofits.organisations import service
from almoner.nonprofits.organisations.ports import Followers
from almoner.platform.queue import Done, Job, Result
from almoner.platform.work import Handler, Work


async def tell(followers: Sequence[Followers], work: Work, job: Job) -> Result:
    """Tell all followers, a batch in each transaction. Begun again, it goes on where the last commit ended."""
    load_id = UUID(job.payload["load"])
    more = True
    while more:
        async with work.db.write() as tx:
            more = await service.tell_batch(tx, followers, load_id)
    return Done()


def handlers(followers: Sequence[Followers]) -> Mapping[str, Handler]:
    """The job, with those who name followers."""
    return {service.TELL: partial(tell, followers)}
