"""Background work of reassignments: after a register import, donations follow nonprofits that merged (spec 6)."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from almoner.giving.accounting.reassignments import service
from almoner.giving.disbursing.disbursements.domain import DisbursementRules, DonationInOtherDisbursement
from almoner.nonprofits.registers.domain import CHANGED, RegisterChangedEvent
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, NoDetails, Result

_REASSIGN_MERGED: Final = JobKind("reassignments.follow_merges", NoDetails)
_MAX_ATTEMPTS: Final = 3
"""A disbursement may take the donation at the same moment; the next attempt can then remove it."""
BATCH: Final = 1000
"""The number of donations looked up at a time; each is reassigned in its own transaction."""


tasks: Final = TaskRegistry()
rules_tasks: Final = DependentTaskRegistry[DisbursementRules]()


@tasks.on_internal_event(CHANGED)
async def on_register_changed(tx: Tx, _changed: Sequence[RegisterChangedEvent]) -> None:
    """Enqueue the reassignment of donations whose nonprofit has changed."""
    await _REASSIGN_MERGED.enqueue(tx, NoDetails(), unique_key=_REASSIGN_MERGED.name)


@rules_tasks.job(_REASSIGN_MERGED)
async def reassign_to_successors(rules: DisbursementRules, context: JobContext, _job: DecodedJob[NoDetails]) -> Result:
    """Reassign all received donations of a nonprofit to its successor.

    Donations that cannot be reassigned, or that are in a sent disbursement, are left to operators; the next import
    tries again.
    """
    after: UUID | None = None
    while True:
        async with context.db.read() as tx:
            found = await service.list_donation_ids_of_merged_organisations(tx, after, BATCH)
        for donation_id in found:
            for _ in range(_MAX_ATTEMPTS):
                with suppress(DonationInOtherDisbursement):
                    async with context.db.write() as tx:
                        await service.reassign_donation_to_successor(tx, donation_id, rules)
                    break
        if len(found) < BATCH:
            return JobDone()
        after = found[-1]
