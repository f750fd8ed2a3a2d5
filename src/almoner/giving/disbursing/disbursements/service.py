"""Operations on disbursements.

Locks are taken in this order: the disbursement, its donations, the ledger's accounts. A change of more donations than
one transaction should lock updates the disbursement, its postings and the first donations together. Further
transactions update the others, and a row records what is left to do.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import CheckViolationError, DataError, IntegrityConstraintViolationError

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DisbursementBatch, Donation
from almoner.giving.disbursing.disbursements import domain, store
from almoner.giving.disbursing.disbursements.domain import (
    CannotReleaseOwnHold,
    Disbursement,
    DisbursementConfirmation,
    DisbursementError,
    DisbursementHold,
    DisbursementRules,
    DisbursementStatus,
    DonationInOtherDisbursement,
    SecondConfirmationRequired,
    WaitingReason,
)
from almoner.giving.disbursing.disbursements.schemas import DisbursementResponse, disbursement_response
from almoner.giving.disbursing.disbursements.store import count_active_holds as count_active_holds
from almoner.giving.disbursing.disbursements.store import (
    count_and_sum_ready_disbursements_by_currency as count_and_sum_ready_disbursements_by_currency,
)
from almoner.giving.disbursing.disbursements.store import count_for_operators as count_for_operators
from almoner.giving.disbursing.disbursements.store import (
    count_waiting_disbursements_by_reason as count_waiting_disbursements_by_reason,
)
from almoner.giving.disbursing.disbursements.store import (
    find_last_disbursement_return_at as find_last_disbursement_return_at,
)
from almoner.giving.disbursing.disbursements.store import (
    find_oldest_unconfirmed_sent_at as find_oldest_unconfirmed_sent_at,
)
from almoner.giving.disbursing.disbursements.store import list_active_holds as list_active_holds
from almoner.giving.disbursing.disbursements.store import (
    list_active_holds_after_id as list_active_holds_after_id,
)
from almoner.giving.disbursing.disbursements.store import list_for_operators as list_for_operators
from almoner.giving.disbursing.disbursements.store import list_newest as list_newest
from almoner.giving.disbursing.disbursements.store import list_page as list_page
from almoner.giving.disbursing.disbursements.store import list_sent_disbursements as list_sent_disbursements
from almoner.giving.disbursing.verifications import service as verifications
from almoner.kit.errors import NotFound
from almoner.kit.money import MAX_MINOR, Money, MoneyError
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind, NewJob

Scope = Partner | AllPartners


class AddDonationsToDisbursementsJob(msgspec.Struct, frozen=True):
    """The partner and nonprofit whose donations are collected."""

    partner: UUID
    organisation: UUID


COLLECT: Final = JobKind("disbursements.collect", AddDonationsToDisbursementsJob)


class PlaceHoldJob(msgspec.Struct, frozen=True):
    """The details of the job that holds disbursements to a nonprofit, once for each ``cause``."""

    partner: UUID
    organisation: UUID
    cause: str
    note: str


HOLD: Final = JobKind("disbursements.hold", PlaceHoldJob)
BATCH: Final = 1000
"""The maximum number of donations in one transaction."""
REFUSALS: Final = (MoneyError, DataError, IntegrityConstraintViolationError)
"""Errors of a single disbursement that do not affect other ones."""
_DAY: Final = timedelta(days=1)
_TWO_PEOPLE_CONSTRAINT: Final = "disbursement_confirmation_dual_control"
_RELEASED_BY_ANOTHER_CONSTRAINT: Final = "disbursement_hold_released_by_another"


async def get(tx: Tx, scope: Scope, disbursement_id: UUID) -> Disbursement:
    """One disbursement. Raises NotFound."""
    if (found := await store.find(tx, scope, disbursement_id)) is None:
        raise NotFound
    return found


def serialise_for_api(tx: Tx, disbursement: Disbursement) -> DisbursementResponse:
    """The disbursement as an API record."""
    return disbursement_response(tx, disbursement)


async def find_donation_waiting_reason(
    tx: Tx, partner: Partner, donation: Donation, rules: DisbursementRules
) -> str | None:
    """Why a settled donation is not disbursed yet; None if it is or will be by the next run."""
    if donation.disbursement_id is not None:
        reason = (await get(tx, partner, donation.disbursement_id)).waiting_reason
    else:
        settled = donation.settlement.money if donation.settlement else donation.money
        bucket = DisbursementBatch(donation.partner_id, donation.organisation_id, settled.currency)
        reason = await _batch_waiting_reason(
            tx, bucket, await _total_with_donation(tx, partner, bucket, donation), rules
        )
    return reason.value if reason else None


async def _total_with_donation(tx: Tx, partner: Partner, batch: DisbursementBatch, donation: Donation) -> Money:
    """The total of the donation's open disbursement with this donation in it."""
    held = await store.find_open_disbursement(tx, partner, batch)
    whole = donation.net_amount_for_nonprofit.minor + (held.money.minor if held else 0)
    return Money(min(whole, MAX_MINOR), batch.currency)


async def _batch_waiting_reason(
    tx: Tx, batch: DisbursementBatch, money: Money, rules: DisbursementRules
) -> WaitingReason | None:
    partner = Partner(batch.partner_id)
    eligibilities = await verifications.load_eligibility_by_organisation(tx, partner, [batch.organisation_id])
    organisation = await organisations.get(tx, partner, batch.organisation_id)
    return domain.waiting_reason_of(
        eligibilities[batch.organisation_id],
        is_on_hold=await store.are_disbursements_on_hold(tx, partner, batch.organisation_id),
        is_organisation_active=organisation.active,
        money=money,
        minimum_minor=rules.minimum_disbursement_minor(batch.currency),
    )


async def list_disbursement_batches_of_nonprofit(
    tx: Tx, partner: Partner, organisation_id: UUID
) -> list[DisbursementBatch]:
    """The batches of a nonprofit that have donations to disburse."""
    loose = await donations.unpaid_balances_of_organisation(tx, partner, organisation_id)
    return list(dict.fromkeys([*loose, *await store.list_batches_of_open_disbursements(tx, partner, organisation_id)]))


async def add_donations_to_disbursement(
    tx: Tx, batch: DisbursementBatch, rules: DisbursementRules, limit: int = BATCH
) -> bool:
    """Add settled donations to their disbursement; True if there may be more.

    Donations beyond the maximum amount go into the next disbursement, once this one is sent.
    """
    partner = Partner(batch.partner_id)
    locked = await store.lock_open_disbursement(tx, partner, batch)
    if locked is None:
        if not await donations.has_undisbursed_donations(tx, batch):
            return False
        await store.insert(tx, partner, domain.new_disbursement(tx.new_id(), batch, tx.now))
        if (locked := await store.lock_open_disbursement(tx, partner, batch)) is None:
            return True  # another run has just sent it
    added = await donations.add_donations_to_disbursement(tx, batch, locked.id, limit, MAX_MINOR - locked.money.minor)
    if added.donation_count:
        await verifications.start_verification_on_first_payment(tx, partner, batch.organisation_id)
    total = locked.money + Money(added.total_minor, batch.currency)
    await _update_batch(tx, locked, total, locked.donation_count + added.donation_count, rules)
    return added.donation_count == limit


async def _update_batch(
    tx: Tx, disbursement: Disbursement, money: Money, count: int, rules: DisbursementRules
) -> Disbursement:
    reason = await _batch_waiting_reason(tx, disbursement.batch, money, rules)
    ready_at = None if reason else disbursement.ready_at or tx.now
    refilled = replace(disbursement, money=money, donation_count=count, waiting_reason=reason, ready_at=ready_at)
    if refilled != disbursement:
        await store.update_donation_totals(tx, refilled)
        await _emit_changes(tx, disbursement, refilled)
    return refilled


async def _emit_changes(tx: Tx, before: Disbursement, after: Disbursement) -> None:
    """Notify the partner of what changed; an empty disbursement is invisible to it."""
    record = serialise_for_api(tx, after)
    if before.donation_count == 0:
        await outbox.emit_event(tx, after.partner_id, domain.CREATED, record)
    elif record != serialise_for_api(tx, before):
        await outbox.emit_event(tx, after.partner_id, domain.UPDATED, record)


async def _emit_status(tx: Tx, disbursement: Disbursement) -> Disbursement:
    """Emit the event of a changed status; returns the disbursement as emitted."""
    changed = await get(tx, ALL_PARTNERS, disbursement.id)
    await outbox.emit_event(tx, changed.partner_id, domain.UPDATED, serialise_for_api(tx, changed))
    return changed


async def remove_from_disbursement(tx: Tx, donation_id: UUID, rules: DisbursementRules) -> Donation:
    """Lock a donation and remove it from its unsent disbursement.

    Raises NotFound; DisbursementError if the disbursement was sent; DonationInOtherDisbursement if the donation was
    added to another one twice in the meantime.
    """
    try:
        async with tx.savepoint():
            return await _remove_donation(tx, donation_id, rules)
    except DonationInOtherDisbursement:  # the lock holder is done: now the disbursement can be locked first
        return await _remove_donation(tx, donation_id, rules)


async def _remove_donation(tx: Tx, donation_id: UUID, rules: DisbursementRules) -> Donation:
    known = await donations.get(tx, ALL_PARTNERS, donation_id)
    locked = await store.find_for_update(tx, ALL_PARTNERS, known.disbursement_id) if known.disbursement_id else None
    donation = await donations.get_for_update(tx, ALL_PARTNERS, donation_id)
    if donation.disbursement_id != known.disbursement_id:
        # Locking another disbursement after the donation could deadlock with transactions that lock in order.
        raise DonationInOtherDisbursement("the donation has just moved to another disbursement: try again")
    if locked is None:
        return donation
    if locked.status != "PENDING" or donation.settlement is None:
        named = tx.ids.encode("disbursement", locked.id)
        raise DisbursementError(f"the donation is in {named}, which is {locked.status}")
    await donations.remove_from_disbursement(tx, donation.id)
    await _update_batch(tx, locked, locked.money - donation.net_amount_for_nonprofit, locked.donation_count - 1, rules)
    return replace(donation, disbursement_id=None)


async def send_disbursement(tx: Tx, disbursement_id: UUID, rules: DisbursementRules) -> Disbursement | None:
    """Send a disbursement, or set its ``waiting_reason``.

    None if it was already sent. Raises NotFound.
    """
    locked = await _lock(tx, disbursement_id)
    if locked.status != "PENDING":
        return None
    locked = await _update_batch(tx, locked, locked.money, locked.donation_count, rules)
    if locked.waiting_reason is not None:
        return locked
    if not await store.update_status(tx, locked, "SENT"):
        raise LookupError(f"disbursement {locked.id} is held and cannot be sent")
    ledger.post_at_commit(
        tx, ledger_domain.build_disbursement_sent_transfers(locked.id, locked.organisation_id, locked.money)
    )
    if await donations.has_undisbursed_donations(tx, locked.batch):  # it was full
        await enqueue_add_donations_to_disbursements(tx, Partner(locked.partner_id), locked.organisation_id)
    return await _emit_status(tx, locked)


async def lock_and_fingerprint_sent_disbursement(tx: Tx, disbursement_id: UUID) -> tuple[Disbursement, bytes]:
    """A sent disbursement, locked, and a fingerprint of the confirmed values.

    Raises NotFound, DisbursementError.
    """
    locked = await _lock(tx, disbursement_id)
    _ensure_sent(locked)
    return locked, _sent_fingerprint(locked)


def _sent_fingerprint(sent: Disbursement) -> bytes:
    return sha256_digest(msgspec.json.encode((sent.id, sent.money.minor, sent.money.currency, sent.end_to_end_id)))


async def load_sent_disbursement_fingerprints_by_id(tx: Tx, disbursement_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """The fingerprints of those of the disbursements that can be confirmed now. Locks nothing."""
    found = await store.list_sent_disbursements_by_ids(tx, disbursement_ids) if disbursement_ids else []
    return {one.id: _sent_fingerprint(one) for one in found}


def _ensure_sent(disbursement: Disbursement) -> None:
    if disbursement.status != "SENT":
        raise DisbursementError(f"the disbursement is {disbursement.status}: only a SENT disbursement can be confirmed")


async def confirm_paid(
    tx: Tx, disbursement_id: UUID, confirmation: DisbursementConfirmation | None = None, *, max_donations: int = BATCH
) -> Disbursement:
    """Record that the bank paid a disbursement, and mark up to ``max_donations`` donations as disbursed.

    ``confirmation``: the operators'; None if it is in a released file. Raises NotFound; DisbursementError;
    SecondConfirmationRequired if the amount needs a second operator.
    """
    locked = await _lock(tx, disbursement_id)
    _ensure_sent(locked)
    if confirmation is not None:
        try:
            await store.insert_disbursement_confirmation(tx, locked, confirmation)
        except CheckViolationError as refused:
            if refused.constraint_name != _TWO_PEOPLE_CONSTRAINT:
                raise
            raise SecondConfirmationRequired(
                "two people must confirm that the bank has paid a disbursement of this amount"
            ) from refused
    if not await store.update_status(tx, locked, "PAID"):
        raise LookupError(f"disbursement {locked.id} is held and cannot be confirmed")
    await _move_donations(tx, locked.id, "PAID", max_donations)
    ledger.post_at_commit(
        tx, ledger_domain.build_disbursement_paid_transfers(locked.id, locked.organisation_id, locked.money)
    )
    return await _emit_status(tx, locked)


async def mark_returned(
    tx: Tx, disbursement_id: UUID, reason: str, *, recorded_by: str, limit: int = BATCH
) -> Disbursement:
    """Record that the bank returned a disbursement, and revert up to ``limit`` donations.

    They go into the next disbursement, which is held until an operator releases it, because it would be paid to the
    same account. ``reason``: 1 to 500 characters. Raises NotFound, DisbursementError.
    """
    if not 1 <= len(reason) <= domain.MAX_REASON_LENGTH:
        raise DisbursementError(f"the reason must have 1 to {domain.MAX_REASON_LENGTH} characters")
    locked = await _lock(tx, disbursement_id)
    if await store.bank_statement_shows_payment(tx, locked.id):  # a bank statement is stronger evidence
        raise DisbursementError(domain.TRANSFER_LEFT_BANK)
    if not await store.update_status(tx, locked, "RETURNED", reason):
        raise DisbursementError(
            f"the disbursement is {locked.status}: only a SENT or PAID disbursement can be returned"
        )
    await _move_donations(tx, locked.id, "RETURNED", limit)
    note = f"{tx.ids.encode('disbursement', locked.id)} was returned: {reason}"
    await _record_hold(tx, DisbursementHold(locked.partner_id, locked.organisation_id, True, note, recorded_by, tx.now))
    was_paid = locked.status == "PAID"
    ledger.post_at_commit(
        tx,
        ledger_domain.build_disbursement_returned_transfers(
            locked.id, locked.organisation_id, locked.money, was_paid=was_paid
        ),
    )
    return await _emit_status(tx, locked)


async def hold_disbursements(
    tx: Tx, scope: Scope, organisation_id: UUID, *, note: str, decided_by: str, rules: DisbursementRules
) -> list[Disbursement]:
    """Hold disbursements to a nonprofit, for one partner or all; returns those that now wait.

    ``note``: 1 to 2,000 characters. Raises NotFound, DisbursementError.
    """
    await organisations.get(tx, scope, organisation_id)
    partner_id = scope.id if isinstance(scope, Partner) else None
    await _record_hold(tx, DisbursementHold(partner_id, organisation_id, True, note, decided_by, tx.now))
    return await _recheck_batches(tx, scope, organisation_id, rules)


async def enqueue_disbursement_hold(tx: Tx, donation: Donation, reason: str, *, cause_id: str) -> None:
    """Enqueue an automatic hold of a partner's disbursements to a donation's nonprofit.

    ``cause_id``: of the dispute, refund or report line that is the reason; each places one hold.
    """
    note = f"{tx.ids.encode('donation', donation.id)}: {reason}, {cause_id}"
    job = PlaceHoldJob(donation.partner_id, donation.organisation_id, cause_id, note)
    await HOLD.enqueue(tx, job, unique_key=cause_id)


async def release_holds(
    tx: Tx,
    scope: Scope,
    organisation_id: UUID,
    *,
    note: str,
    decided_by: str,
    rules: DisbursementRules,
    second_operator_and_note: tuple[str, str] | None = None,
) -> list[Disbursement]:
    """Release the holds on a nonprofit; returns the disbursements that waited.

    ``note``: 1 to 2,000 characters. ``second_operator_and_note``: the second operator and their note, required if the
    first one placed a hold. Raises DisbursementError (also if nothing is held), CannotReleaseOwnHold.
    """
    for one in await _releasable_holds(tx, scope, organisation_id):
        ended = DisbursementHold(
            one.partner_id, organisation_id, False, note, decided_by, tx.now, *(second_operator_and_note or ())
        )
        try:
            await _record_hold(tx, ended)
        except CheckViolationError as refused:
            if refused.constraint_name != _RELEASED_BY_ANOTHER_CONSTRAINT:
                raise
            raise CannotReleaseOwnHold("you placed this hold, so somebody else must release it") from refused
    return await _recheck_batches(tx, scope, organisation_id, rules)


async def lock_and_fingerprint_holds(tx: Tx, scope: Scope, organisation_id: UUID) -> bytes:
    """A fingerprint of the holds to release, which are locked.

    Raises DisbursementError if nothing is held.
    """
    return _hold_fingerprint(organisation_id, await _releasable_holds(tx, scope, organisation_id))


def _hold_fingerprint(organisation_id: UUID, holds: Sequence[DisbursementHold]) -> bytes:
    seen = [(one.partner_id, one.note, one.decided_by, one.decided_at) for one in holds]
    return sha256_digest(msgspec.json.encode((organisation_id, seen)))


async def load_hold_fingerprints_by_organisation_and_partner(
    tx: Tx, holds: Collection[tuple[UUID, UUID | None]]
) -> dict[tuple[UUID, UUID | None], bytes]:
    """The fingerprints of the holds that can be released now, by nonprofit and partner. Locks nothing.

    The partner is None to release the holds of all partners.
    """
    active = (
        await store.list_active_holds_of_organisations(tx, [organisation_id for organisation_id, _ in holds])
        if holds
        else []
    )
    fingerprints = {}
    for organisation_id, partner_id in holds:
        own = [one for one in active if one.organisation_id == organisation_id]
        if found := [one for one in own if partner_id in (None, one.partner_id)]:
            fingerprints[organisation_id, partner_id] = _hold_fingerprint(organisation_id, found)
    return fingerprints


async def _releasable_holds(tx: Tx, scope: Scope, organisation_id: UUID) -> list[DisbursementHold]:
    await store.lock_holds(tx, organisation_id)
    holds = await store.list_active_holds(tx, organisation_id)
    ended = [one for one in holds if not isinstance(scope, Partner) or one.partner_id == scope.id]
    if not ended and holds:
        raise DisbursementError("the hold applies to other partners or to all partners: release it without --partner")
    if not ended:
        raise DisbursementError("disbursements to this organisation are not on hold")
    return ended


async def _record_hold(tx: Tx, decided: DisbursementHold) -> None:
    await store.lock_holds(tx, decided.organisation_id)
    if not 1 <= len(decided.note) <= domain.MAX_NOTE_LENGTH:
        raise DisbursementError(f"the note must have 1 to {domain.MAX_NOTE_LENGTH} characters")
    await store.insert_hold(tx, decided)


async def _recheck_batches(tx: Tx, scope: Scope, organisation_id: UUID, rules: DisbursementRules) -> list[Disbursement]:
    """Update why a nonprofit's open batches wait. Waits for a run that has locked one of them."""
    found = await store.lock_open_disbursements(tx, scope, organisation_id)
    return [await _update_batch(tx, one, one.money, one.donation_count, rules) for one in found]


async def propagate_status_to_donations(tx: Tx, disbursement_id: UUID) -> bool:
    """Update a batch of donations to their disbursement's status; True if there may be more."""
    locked = await _lock(tx, disbursement_id)
    return locked.propagating and await _move_donations(tx, locked.id, locked.status, BATCH)


async def _move_donations(tx: Tx, disbursement_id: UUID, status: DisbursementStatus, limit: int) -> bool:
    if status == "PAID":
        moved = await donations.mark_donations_disbursed(tx, disbursement_id, limit)
    else:
        moved = await donations.revert_donations(tx, disbursement_id, limit)
    if moved < limit:
        await store.mark_status_propagated(tx, disbursement_id)
    return moved == limit


async def _lock(tx: Tx, disbursement_id: UUID) -> Disbursement:
    if (locked := await store.find_for_update(tx, ALL_PARTNERS, disbursement_id)) is None:
        raise NotFound
    return locked


async def list_disbursement_ids_with_unpropagated_status(tx: Tx, limit: int = BATCH) -> list[UUID]:
    """Disbursements whose donations do not have their status yet."""
    return await store.list_disbursement_ids_with_unpropagated_status(tx, limit)


async def list_disbursement_ids_with_status(
    tx: Tx, status: DisbursementStatus, after: UUID | None = None, limit: int = BATCH
) -> list[UUID]:
    """Disbursements with a status, by creation, after the given one."""
    return await store.list_disbursement_ids_with_status(tx, status, after, limit)


async def enqueue_add_donations_to_disbursements(tx: Tx, partner: Partner, organisation_id: UUID) -> None:
    """Enqueue a job that adds a nonprofit's disbursable donations to their batches."""
    await queue.enqueue_jobs(tx, [build_add_donations_to_disbursements_job(partner.id, organisation_id)])


def build_add_donations_to_disbursements_job(partner_id: UUID, organisation_id: UUID) -> NewJob:
    """The job that collects batches for a nonprofit; at most one waits at a time."""
    return COLLECT.build_job(
        AddDonationsToDisbursementsJob(partner_id, organisation_id), unique_key=f"{partner_id}:{organisation_id}"
    )


async def has_donations_for_open_disbursement(tx: Tx, batch: DisbursementBatch) -> bool:
    """Whether the open disbursement has room for settled donations that are in no disbursement."""
    held = await store.find_open_disbursement(tx, Partner(batch.partner_id), batch)
    free_minor = MAX_MINOR - held.money.minor if held else MAX_MINOR
    return await donations.is_next_undisbursed_donation_within_limit(tx, batch, free_minor)


async def next_disbursement_run_at(tx: Tx, schedule_name: str) -> datetime | None:
    """When the daily run is next due: the midnight (UTC) after the oldest waiting disbursement or the last run.

    ``schedule_name``: of its schedule. Batches that wait for a reason count too, because it may have ended meanwhile.
    """
    started = await store.find_oldest_waiting_since_or_last_run_at(tx, schedule_name)
    return None if started is None else started.replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
