"""A register changed: gifts to nonprofits that went over into another follow them (spec 6)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final
from uuid import UUID

from almoner.giving.accounting.reassignments import service
from almoner.giving.disbursing.disbursements.domain import JustMoved, Rules
from almoner.nonprofits.registers.domain import CHANGED
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Done, Job, Result

FOLLOW: Final = "reassignments.follow"
TRIES: Final = 3
"""A payout may take a gift in the same moment: then it is there, and can be taken out again."""
BATCH: Final = 1000
"""Gifts that are looked up at a time; each is given on in a transaction of its own."""


async def on_change(tx: Tx, _events: Sequence[Event]) -> None:
    """Have the gifts looked at."""
    await queue.enqueue(tx, FOLLOW, {}, unique=FOLLOW)


async def follow(rules: Rules, work: Work, _job: Job) -> Result:
    """Give every received gift to what its nonprofit became.

    One that cannot go there, or that a payout was sent with, stays for officers to decide; it is looked at again after
    the next load.
    """
    after: UUID | None = None
    while True:
        async with work.db.read() as tx:
            found = await service.left_behind(tx, after, BATCH)
        for donation_id in found:
            for _ in range(TRIES):
                with suppress(JustMoved):
                    async with work.db.write() as tx:
                        await service.follow(tx, donation_id, rules)
                    break
        if len(found) < BATCH:
            return Done()
        after = found[-1]


reactions: Final = (Reaction(CHANGED, on_change),)


def handlers(rules: Rules) -> Mapping[str, Handler]:
    """The job, with the least amounts that are paid out."""
    return {FOLLOW: partial(follow, rules)}
