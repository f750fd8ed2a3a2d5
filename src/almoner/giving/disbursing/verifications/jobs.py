"""Background work of verifications: check registers and lists, recheck after changes, record expiries (S4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from almoner.giving.disbursing.verifications import checking, service
from almoner.giving.disbursing.verifications.ports import ApprovedAccountLookup, OrganisationScreener
from almoner.nonprofits.organisations.service import UPDATED
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, Result
from almoner.screening.screenings.domain import CHANGED, UNWATCHED, ScreeningChangedEvent


@dataclass(frozen=True, slots=True)
class JobDependencies:
    """The dependencies: watchlist screening, and approved accounts."""

    screener: OrganisationScreener
    account_lookup: ApprovedAccountLookup


tasks: Final = TaskRegistry()
tasks.add_periodic_job("verifications.expire", service.next_expiry_at, service.expire_due_verifications)
tasks.add_periodic_job(
    "verifications.recheck", service.next_check_at, service.enqueue_due_checks, period=timedelta(days=1)
)
checking_tasks: Final = DependentTaskRegistry[JobDependencies]()


@checking_tasks.job(service.CHECK)
async def run_verification_checks(
    dependencies: JobDependencies, context: JobContext, job: DecodedJob[service.CheckVerificationJob]
) -> Result:
    """Check one verification, then apply its test value; repeating it changes nothing."""
    verification_id, sandbox_action = job.details.verification_id, job.details.sandbox_action

    async def check_due(tx: Tx) -> None:
        await checking.run_verification_checks(tx, dependencies.screener, dependencies.account_lookup, verification_id)
        if sandbox_action is not None:
            await service.apply_test_action(tx, verification_id, sandbox_action)

    await dependencies.screener.run_in_screening_transaction(context.db, check_due)
    return JobDone()


class _OrganisationRecord(msgspec.Struct):
    """The organisation record's fields that are used."""

    id: str


@tasks.on_public_event(UPDATED)
async def on_organisations_updated(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue rechecks for nonprofits that changed in their registers."""
    reported = [tx.ids.decode("organisation", decode_event_data(event, _OrganisationRecord).id) for event in events]
    await checking.enqueue_rechecks(tx, list(dict.fromkeys(one for one in reported if one)))


@tasks.on_internal_event(CHANGED, UNWATCHED)
async def on_screenings_changed(tx: Tx, changed: Sequence[ScreeningChangedEvent]) -> None:
    """Enqueue rechecks of verifications whose watchlist matches changed."""
    await checking.enqueue_rechecks(tx, list(dict.fromkeys(one.id for one in changed if one.type == "organisation")))
