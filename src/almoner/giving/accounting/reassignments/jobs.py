"""A register changed: gifts to nonprofits that went over into another follow them (spec 6)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final
from uuid import UUID

from almoner.giving.accounting.reassignments import service
from almoner.giving.disbursing.disbursements.domain import DisbursementRules, DonationMoved
from almoner.nonprofits.registers.domain import CHANGED
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, Result

REASSIGN_MERGED: Final = "reassignments.follow"
MAX_ATTEMPTS: Final = 3
"""A payout may take a gift in the same moment: then it is there, and can be taken out again."""
BATCH: Final = 1000
"""Gifts that are looked up at a time; each is given on in a transaction of its own."""


async def on_register_changed(tx: Tx, _events: Sequence[Event]) -> None:
    """Have the gifts looked at."""
    await queue.enqueue_job(tx, REASSIGN_MERGED, {}, unique=REASSIGN_MERGED)


async def reassign_to_successors(rules: DisbursementRules, work: JobContext, _job: Job) -> Result:
    """Give every received gift to what its nonprofit became.

    One that cannot go there, or that a payout was sent with, stays for officers to decide; it is looked at again after
    the next load.
    """
    after: UUID | None = None
    while True:
        async with work.db.read() as tx:
            found = await service.donations_of_merged_organisations(tx, after, BATCH)
        for donation_id in found:
            for _ in range(MAX_ATTEMPTS):
                with suppress(DonationMoved):
                    async with work.db.write() as tx:
                        await service.reassign_to_successor(tx, donation_id, rules)
                    break
        if len(found) < BATCH:
            return JobDone()
        after = found[-1]


reactions: Final = (Reaction(CHANGED, on_register_changed),)


def handlers(rules: DisbursementRules) -> Mapping[str, Handler]:
    """The job, with the least amounts that are paid out."""
    return {REASSIGN_MERGED: partial(reassign_to_successors, rules)}
