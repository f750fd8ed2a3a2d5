"""Background work of verifications: looking at registers and lists, again when they change; recording expiries (S4)."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.disbursing.verifications import checking, service
from almoner.giving.disbursing.verifications.ports import ApprovedAccounts, Screening
from almoner.nonprofits.organisations.service import UPDATED
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, Result
from almoner.screening.screenings.domain import CHANGED, UNWATCHED, ScreeningChanged


async def run_check(screening: Screening, accounts: ApprovedAccounts, work: JobContext, job: Job) -> Result:
    """Look at one, then do what a test value asked for. A second run finds what was seen."""
    verification_id, then = UUID(job.payload["verification"]), job.payload["then"]

    async def check_due(tx: Tx) -> None:
        await checking.check_verification(tx, screening, accounts, verification_id)
        if then is not None:
            await service.apply_test_action(tx, verification_id, then)

    await screening.run_with_screening(work.db, check_due)
    return JobDone()


class _OrganisationRecord(msgspec.Struct):
    """What is needed of an organisation's record."""

    id: str


async def on_organisations_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Registers told something else of nonprofits."""
    reported = [
        tx.ids.parse("organisation", msgspec.convert(event.event_data(), _OrganisationRecord).id) for event in events
    ]
    await checking.enqueue_rechecks(tx, list(dict.fromkeys(one for one in reported if one)))


async def on_screenings_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Matches with watch lists came, went, or were decided; or others watch a nonprofit no more, and we do."""
    changed = [msgspec.convert(event.event_data(), ScreeningChanged) for event in events]
    await checking.enqueue_rechecks(tx, list(dict.fromkeys(one.id for one in changed if one.type == "organisation")))


reactions: Final = (
    Reaction(UPDATED, on_organisations_updated),
    Reaction(CHANGED, on_screenings_changed),
    Reaction(UNWATCHED, on_screenings_changed),
)
schedules: Final = (
    Schedule("verifications.expire", service.next_due_at, service.expire_due),
    Schedule("verifications.look_again", service.next_check_at, service.enqueue_due_checks, every=timedelta(days=1)),
)


def handlers(screening: Screening, accounts: ApprovedAccounts) -> Mapping[str, Handler]:
    """The job, with the watch lists, and the accounts that were approved."""
    return {service.CHECK: partial(run_check, screening, accounts)}
