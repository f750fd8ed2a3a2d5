"""Operations on donations, including the effects of payments at the provider."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import UnallocatedPayment
from almoner.giving.checkout.dedications import service as dedications
from almoner.giving.checkout.donations import domain, schemas, store, store_lists, store_money, store_requests
from almoner.giving.checkout.donations.creation import create_donation as create_donation
from almoner.giving.checkout.donations.creation import find_or_recreate_donation
from almoner.giving.checkout.donations.creation import update_donor_details as update_donor_details
from almoner.giving.checkout.donations.domain import (
    DisbursementBatch,
    Donation,
    DonationOrigin,
    DonationsAddedToDisbursement,
    ReceiptDelivery,
    SessionDonation,
)
from almoner.giving.checkout.donations.later_donations import FINISH_PAYMENT as FINISH_PAYMENT
from almoner.giving.checkout.donations.later_donations import (
    ChargeOrResumeInterruptedPaymentJob as ChargeOrResumeInterruptedPaymentJob,
)
from almoner.giving.checkout.donations.later_donations import (
    create_subscription_donation as create_subscription_donation,
)
from almoner.giving.checkout.donations.later_donations import enqueue_off_session_charge as enqueue_off_session_charge
from almoner.giving.checkout.donations.later_donations import (
    lower_donation_to_subscription_amount as lower_donation_to_subscription_amount,
)
from almoner.giving.checkout.donations.schemas import DonationResponse as DonationResponse
from almoner.giving.checkout.donations.store import find_payment_recorded_at as find_payment_recorded_at
from almoner.giving.checkout.donations.store import find_uncancelled_by_session as find_uncancelled_by_session
from almoner.giving.checkout.donations.store import load_donations_by_id as load_donations_by_id
from almoner.giving.checkout.donations.store_lists import cursor_position_of as cursor_position_of
from almoner.giving.checkout.donations.store_lists import list_page as list_page
from almoner.giving.checkout.donations.store_lists import (
    load_paid_donation_counts_by_day as load_paid_donation_counts_by_day,
)
from almoner.giving.checkout.donations.store_money import remove_from_disbursement as remove_from_disbursement
from almoner.giving.checkout.donations.store_money import (
    unpaid_balances_of_organisation as unpaid_balances_of_organisation,
)
from almoner.giving.checkout.donations.store_requests import (
    find_oldest_uninvoiced_donation_at as find_oldest_uninvoiced_donation_at,
)
from almoner.giving.checkout.donations.store_requests import (
    list_partner_currencies_with_uninvoiced_donations as list_partner_currencies_with_uninvoiced_donations,
)
from almoner.giving.checkout.donations.store_requests import (
    lock_unpaid_donations_of_request as lock_unpaid_donations_of_request,
)
from almoner.giving.checkout.donations.store_requests import sum_uninvoiced_donations as sum_uninvoiced_donations
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import (
    SETTLED_STATUSES,
    TRANSFER_LIFETIME,
    Payment,
    ProviderPayment,
    ProviderStatus,
    UnallocatedReason,
    find_unrecognised_payment_reason,
)
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import DonationSession
from almoner.giving.gift_aid.declarations import service as gift_aid_declarations
from almoner.giving.gift_aid.declarations.domain import Declaration
from almoner.giving.subscriptions.donation_subscriptions import service as donation_subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import DonationSubscription
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.kit.money import MAX_MINOR, Money
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind


class CancelPaymentJob(msgspec.Struct, frozen=True):
    """The payment attempt to cancel."""

    payment: UUID


CANCEL_PAYMENT: Final = JobKind("donations.close_payment", CancelPaymentJob)
BATCH: Final = 1000  # S4


async def get(tx: Tx, scope: Partner | AllPartners, donation_id: UUID) -> Donation:
    """One donation. Raises NotFound."""
    if (donation := await store.find(tx, scope, donation_id)) is None:
        raise NotFound
    return donation


def serialise_for_api(tx: Tx, donation: Donation) -> DonationResponse:
    """The donation as an API record."""
    return schemas.donation_response(tx, donation)


async def refresh_donation_list_counts(tx: Tx, limit: int = 10 * BATCH) -> int:
    """Update the stored totals that lists count from; returns how many changes there were."""
    return await store_lists.refresh_donation_list_counts(tx, limit)


async def next_donation_list_counts_refresh_at(tx: Tx) -> datetime | None:
    """When list totals need an update: now, or None."""
    return tx.now if await store_lists.has_stale_donation_list_counts(tx) else None


async def load_partner_ids_with_donations_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> Mapping[UUID, set[UUID]]:
    """The partners with donations to each of these organisations (settled 6)."""
    return await store.load_partner_ids_with_donations_by_organisation(tx, organisation_ids)


async def change_metadata(tx: Tx, partner: Partner, donation_id: UUID, patch: dict[str, str | None] | None) -> Donation:
    """Merge the metadata key by key; None removes all (settled 1). Raises NotFound, InvalidMetadata."""
    if patch and (found := metadata_rules.find_metadata_problems(patch, is_patch=True)):
        raise domain.InvalidMetadata(*found)
    if (donation := await store.find_for_update(tx, partner, donation_id)) is None:
        raise NotFound
    merged = {} if patch is None else metadata_rules.merge_metadata(donation.metadata, patch)
    if found := metadata_rules.find_metadata_problems(merged):
        raise domain.InvalidMetadata(*found)
    await store.set_metadata(tx, partner, donation_id, merged)
    return await get(tx, partner, donation_id)


async def load_session_donation(tx: Tx, session_id: UUID) -> SessionDonation:
    """The session's donation and checkout state, from the database only."""
    return (await load_session_donation_and_payment(tx, session_id))[0]


async def load_session_donation_and_payment(tx: Tx, session_id: UUID) -> tuple[SessionDonation, Payment | None]:
    """Like ``load_session_donation``, with the payment attempt that decides the state."""
    donation = await store.find_newest_by_session(tx, session_id)
    payment = await payments.find_current_payment(tx, donation.id) if donation else None
    return domain.session_donation_of(donation, payment), payment


async def get_donation_origin(tx: Tx, donation_id: UUID) -> DonationOrigin:
    """The origin of a hosted donation. Raises LookupError for any other."""
    if (origin := await store.find_donation_origin(tx, donation_id)) is None:
        raise LookupError(f"donation {donation_id} has no session")
    return origin


async def get_session_id(tx: Tx, donation_id: UUID) -> UUID:
    """The session of a hosted donation. Raises LookupError for any other."""
    return (await get_donation_origin(tx, donation_id)).session_id


async def get_unpaid_provider_payment_id(tx: Tx, partner: Partner, donation_id: UUID) -> str:
    """The provider's ID of an unpaid donation's payment. Raises NotFound, InvalidState."""
    donation = await get(tx, partner, donation_id)
    payment = await payments.find_current_payment(tx, donation_id) if donation.status == "REQUESTED_PAYMENT" else None
    if payment is None or not payment.is_payable or payment.provider_payment_id is None:
        raise domain.InvalidState(f"the donation is {donation.status} and has no payment that could be made")
    return payment.provider_payment_id


async def apply_provider_state(
    tx: Tx, provider: str, provider_payment: ProviderPayment, payment: Payment | None
) -> None:
    """Apply a payment's state at the provider; idempotent and independent of order (M4).

    ``payment``: our attempt, found and not locked; None if there is none. Locks session, donation and payment, in this
    order, as everywhere; for a later donation of a subscription, the subscription instead of the session, which is
    completed.
    """
    if payment is None:
        if provider_payment.status is ProviderStatus.SUCCEEDED:
            await _record_unallocated(
                tx,
                provider,
                provider_payment,
                None,
                _foreign_reason(tx, provider_payment) or UnallocatedReason.UNKNOWN_PAYMENT,
            )
        return
    origin = await _lock_origin(tx, payment.donation_id)
    donation = await store.find_for_update(tx, ALL_PARTNERS, payment.donation_id)
    assert donation is not None, "a payment references its donation"
    payment = await payments.get_for_update(tx, payment.id)
    is_settled = payment.status in SETTLED_STATUSES
    if not is_settled and await _apply_status(tx, origin, donation, payment, provider_payment):
        return
    if provider_payment.attempts > payment.card_attempt_count:
        await payments.record_card_attempts(tx, payment, provider_payment.attempts)


async def _apply_status(
    tx: Tx,
    origin: DonationSession | DonationSubscription,
    donation: Donation,
    payment: Payment,
    provider_payment: ProviderPayment,
) -> bool:
    """Move an attempt to its status at the provider, with its card attempts; False if there is nothing to move."""
    match provider_payment.status:
        case ProviderStatus.SUCCEEDED:
            await _apply_payment(tx, origin, donation, payment, provider_payment)
        case ProviderStatus.FAILED | ProviderStatus.CANCELLED if payment.is_payable:
            await _end_attempt(tx, origin, donation, payment, provider_payment)
        case ProviderStatus.OPEN | ProviderStatus.PROCESSING if payment.status == "starting":
            await payments.update_payment_status(tx, payment, "open", provider_payment)
        case _:
            return False
    return True


async def _lock_origin(tx: Tx, donation_id: UUID) -> DonationSession | DonationSubscription:
    """The session of a donation, or the subscription of a later donation; locked."""
    origin = await get_donation_origin(tx, donation_id)
    if origin.charged_subscription_id is None:
        return await sessions.get_for_update(tx, origin.session_id)
    return await donation_subscriptions.get_for_update(tx, ALL_PARTNERS, origin.charged_subscription_id)


async def _end_attempt(
    tx: Tx,
    origin: DonationSession | DonationSubscription,
    donation: Donation,
    payment: Payment,
    provider_payment: ProviderPayment,
) -> None:
    await payments.update_payment_status(tx, payment, provider_payment.status.value, provider_payment)
    if isinstance(origin, DonationSubscription) and payment.off_session and provider_payment.decline is not None:
        await donation_subscriptions.record_decline(tx, origin, donation, provider_payment.decline)


async def _apply_payment(
    tx: Tx,
    origin: DonationSession | DonationSubscription,
    donation: Donation,
    payment: Payment,
    provider_payment: ProviderPayment,
) -> None:
    session = origin if isinstance(origin, DonationSession) else None
    # First, whatever the donation's state: money that never reached us must not be refunded from ours.
    reason = _foreign_reason(tx, provider_payment) or domain.unallocated_reason_of(
        session, donation, payments.payment_reference(payment.id), provider_payment, tx.now
    )
    if reason is not None:
        await _record_unallocated(tx, payment.provider, provider_payment, payment, reason)
        return
    await payments.update_payment_status(tx, payment, "succeeded", provider_payment)
    received = await store.mark_received(tx, donation.id, payment.id)
    assert received is not None, "judged under the donation's lock"
    # A confirmed transfer has already completed the session (settled 5); so has a subscription's first donation.
    if donation.transfer_confirmed_at is None and session is not None:
        await sessions.complete(tx, session, donation.id)
    await emit_donation_event(tx, domain.PAYMENT_RECEIVED, received)
    await emit_donation_event(tx, domain.PAYMENT_SUCCESSFUL, received)
    await _enqueue_live_cancels(tx, [donation.id])
    if donation.dedication is not None:
        await dedications.enqueue_dedication_email(tx, Partner(donation.partner_id), donation.id)
    if isinstance(origin, DonationSubscription):
        await donation_subscriptions.record_subscription_payment(
            tx, origin, donation, payment, provider_payment.payment_method
        )
    elif donation.subscription_id is not None:
        await donation_subscriptions.record_first_payment(tx, donation, payment, provider_payment.payment_method)
    ledger.post_at_commit(
        tx,
        ledger_domain.build_payment_transfers(payment.id, payment.provider, donation.organisation_id, donation.money),
    )


async def record_receipt_delivery(tx: Tx, donation_id: UUID, delivery: ReceiptDelivery) -> None:
    """Record the result of the receipt email; notify the partner if it is undeliverable."""
    changed = await store.set_receipt_delivery(tx, donation_id, delivery)
    if changed is not None and delivery == "undeliverable":
        await emit_donation_event(tx, domain.RECEIPT_UNDELIVERABLE, changed)


async def correct_receipt_email(tx: Tx, donation_id: UUID, email: str) -> bool:
    """Send an undeliverable receipt to the donor's corrected address; False if it was delivered."""
    changed = await store.correct_receipt_email(tx, donation_id, email)
    if changed is not None:
        await _request_receipt_resend(tx, Partner(changed.partner_id), donation_id)
    return changed is not None


async def resend_receipt(tx: Tx, partner: Partner, donation_id: UUID) -> bool:
    """Resend a receipt to the donor; False if there is none, or if it is already being sent."""
    marked = await store.mark_receipt_pending(tx, partner, donation_id)
    if marked:
        await _request_receipt_resend(tx, partner, donation_id)
    return marked


async def _request_receipt_resend(tx: Tx, partner: Partner, donation_id: UUID) -> None:
    requested = domain.ReceiptResendRequestedEvent(donation_id, partner.id)
    await outbox.emit_internal_event(tx, domain.RECEIPT_RESEND_REQUESTED, requested, partner_id=partner.id)


def _foreign_reason(tx: Tx, provider_payment: ProviderPayment) -> UnallocatedReason | None:
    return find_unrecognised_payment_reason(provider_payment, is_live_mode=not tx.deployment.sandbox)


async def _record_unallocated(
    tx: Tx, provider: str, provider_payment: ProviderPayment, payment: Payment | None, reason: UnallocatedReason
) -> None:
    """Record an unallocated payment, and alert the operators (M5, M6)."""
    if payment is not None:
        await payments.update_payment_status(tx, payment, "held", provider_payment)
    if provider_payment.payment_method is not None:
        await donation_subscriptions.request_payment_method_deletion(tx, provider, provider_payment.payment_method)
    await suspense.record_unallocated_payment(tx, provider, provider_payment, payment, reason)


async def confirm_transfer_sent(tx: Tx, session: DonationSession, donation_id: UUID) -> Donation | None:
    """Record that the donor sent the bank transfer: completes the locked session (settled 5).

    None if it was confirmed before or is not awaited.
    """
    if (confirmed := await store.confirm_transfer_sent(tx, donation_id)) is not None:
        await sessions.complete(tx, session, donation_id)
    return confirmed


async def apply_unallocated_payment(
    tx: Tx, unallocated_payment: UnallocatedPayment, note: str, decided_by: str
) -> Donation:
    """Apply an unallocated bank transfer to its donation, on an operator's decision.

    The donation is settled at once. If it was cancelled meanwhile, a new one is created. Raises InvalidState.
    """
    source = await payments.find(tx, unallocated_payment.payment_id) if unallocated_payment.payment_id else None
    assert source is not None, "asked for before"
    session = await sessions.get_for_update(tx, await get_session_id(tx, source.donation_id))
    living = await store.find_uncancelled_by_session(tx, session.id)
    donation = await get_for_update(tx, ALL_PARTNERS, living.id if living else source.donation_id)
    if await payments.list_payable_payment_ids(tx, [donation.id]):
        raise domain.InvalidState("the donor has begun to pay in another way: look again when that has ended")
    donation = await find_or_recreate_donation(tx, session, donation, unallocated_payment.money)
    payment = await payments.create_payment_attempt(
        tx, source.provider, donation.id, unallocated_payment.money, source.description, source.language, 1
    )
    await payments.mark_paid_by_earlier_transfer(tx, payment)
    if (received := await store.mark_received(tx, donation.id, payment.id)) is None:
        raise domain.InvalidState(f"the donation is {donation.status}: it was paid otherwise")
    await sessions.complete_session_or_replace_donation(tx, session, donation.id)
    await emit_donation_event(tx, domain.PAYMENT_RECEIVED, received)
    await emit_donation_event(tx, domain.PAYMENT_SUCCESSFUL, received)
    await mark_donations_settled(tx, {received.id: unallocated_payment.money})
    await suspense.apply_to_donation(tx, unallocated_payment, payment, received.organisation_id, note, decided_by)
    return received


async def cancel_abandoned_donations(tx: Tx, limit: int = BATCH) -> int:
    """Cancel donations unpaid after 24 h, or 30 days for bank transfers; returns how many."""
    cancelled = await store.cancel_abandoned_donations(
        tx, tx.now - domain.ABANDONED_AFTER, limit, awaiting_transfer=False
    )
    cancelled += await store.cancel_abandoned_donations(tx, tx.now - TRANSFER_LIFETIME, limit, awaiting_transfer=True)
    if cancelled:
        await outbox.emit_events(
            tx, domain.CANCELLED, [(one.partner_id, serialise_for_api(tx, one)) for one in cancelled]
        )
        await _enqueue_live_cancels(tx, [donation.id for donation in cancelled])
        await donation_subscriptions.cancel_unstarted_subscriptions(
            tx, [one.subscription_id for one in cancelled if one.subscription_id]
        )
    return len(cancelled)


async def cancel_subscription_donation(tx: Tx, donation_id: UUID) -> None:
    """Cancel the unpaid donation of a due date that has passed; its subscription is locked."""
    if (cancelled := await store.cancel_unpaid_donation(tx, donation_id)) is not None:
        await emit_donation_event(tx, domain.CANCELLED, cancelled)
        await _enqueue_live_cancels(tx, [donation_id])


async def has_payment_in_progress(tx: Tx, donation_id: UUID) -> bool:
    """Whether a donation is being paid right now."""
    return bool(await payments.list_payable_payment_ids(tx, [donation_id]))


async def next_unpaid_donation_cancellation_at(tx: Tx) -> datetime | None:
    """When the next unpaid donation is due to be cancelled."""
    unpaid, awaited = await store.find_oldest_unpaid_and_awaiting_transfer_times(tx)
    due = (unpaid and unpaid + domain.ABANDONED_AFTER, awaited and awaited + TRANSFER_LIFETIME)
    return min((one for one in due if one), default=None)


async def erase_donors_of_cancelled_donations(tx: Tx, limit: int = BATCH) -> int:
    """Erase donors of donations cancelled 30 days ago and never paid (V6); returns how many."""
    count, declarations = await store.erase_donors_of_cancelled_donations(tx, tx.now - domain.ERASED_AFTER, limit)
    if declarations:
        await gift_aid_declarations.delete_unused_declarations(tx, declarations)
    return count


async def next_donor_erasure_at(tx: Tx) -> datetime | None:
    """When the next donor is due to be erased."""
    oldest = await store.find_oldest_cancellation_with_donor_data_at(tx)
    return None if oldest is None else oldest + domain.ERASED_AFTER


async def _enqueue_live_cancels(tx: Tx, donation_ids: list[UUID]) -> None:
    """Enqueue the cancellation of open payment attempts at the provider."""
    live = await payments.list_payable_payment_ids(tx, donation_ids)
    await queue.enqueue_jobs(tx, [CANCEL_PAYMENT.build_job(CancelPaymentJob(payment_id)) for payment_id in live])


async def enqueue_payment_cancellation(tx: Tx, payment: Payment, due_at: datetime) -> None:
    """Enqueue the cancellation of a payment attempt at a given time, if it is unpaid by then (S5, H6)."""
    await CANCEL_PAYMENT.enqueue(tx, CancelPaymentJob(payment.id), due_at=due_at)


async def get_for_update(tx: Tx, scope: Partner | AllPartners, donation_id: UUID) -> Donation:
    """Lock one donation until the transaction ends, and return it. Raises NotFound."""
    if (donation := await store.find_for_update(tx, scope, donation_id)) is None:
        raise NotFound
    return donation


async def lock_donations_by_id(tx: Tx, donation_ids: Sequence[UUID]) -> dict[UUID, Donation]:
    """Lock donations until the transaction ends, and return them by ID."""
    return {donation.id: donation for donation in await store_money.lock_donations(tx, donation_ids)}


async def mark_donations_settled(tx: Tx, net_amounts_by_donation_id: Mapping[UUID, Money]) -> None:
    """Record the settled amounts of locked donations and notify partners (settled 5)."""
    settled = await store_money.mark_donations_settled(
        tx, list(net_amounts_by_donation_id), list(net_amounts_by_donation_id.values())
    )
    if len(settled) != len(net_amounts_by_donation_id):
        raise LookupError("a donation to be settled does not wait for it")
    await _emit_all(tx, domain.SETTLED, settled)


async def unpaid_balances(tx: Tx) -> list[DisbursementBatch]:
    """Batches of settled donations that are in no disbursement."""
    return await store_money.unpaid_balances(tx)


async def has_undisbursed_donations(tx: Tx, batch: DisbursementBatch) -> bool:
    """Whether a batch has settled donations in no disbursement."""
    return await is_next_undisbursed_donation_within_limit(tx, batch, MAX_MINOR)


async def is_next_undisbursed_donation_within_limit(tx: Tx, batch: DisbursementBatch, max_minor: int) -> bool:
    """Whether a batch has settled donations in no disbursement, the next of which is at most ``max_minor``."""
    return await store_money.is_next_undisbursed_donation_within_limit(tx, Partner(batch.partner_id), batch, max_minor)


async def add_donations_to_disbursement(
    tx: Tx, batch: DisbursementBatch, disbursement_id: UUID, limit: int, max_total_minor: int
) -> DonationsAddedToDisbursement:
    """Add up to ``limit`` settled donations, of at most ``max_total_minor``, to a locked disbursement."""
    partner = Partner(batch.partner_id)
    return await store_money.add_donations_to_disbursement(tx, partner, batch, disbursement_id, limit, max_total_minor)


async def mark_donations_disbursed(tx: Tx, disbursement_id: UUID, limit: int = BATCH) -> int:
    """Mark donations of a paid disbursement as disbursed and notify partners; returns how many."""
    moved = await store_money.mark_donations_disbursed(tx, disbursement_id, limit)
    await _emit_all(tx, domain.DISBURSED, moved)
    return len(moved)


async def revert_donations(tx: Tx, disbursement_id: UUID, limit: int = BATCH) -> int:
    """Move donations of a returned disbursement back to RECEIVED_PAYMENT; returns how many."""
    moved = await store_money.revert_donations(tx, disbursement_id, limit)
    await _emit_all(tx, domain.PAYOUT_RETURNED, moved)
    return len(moved)


async def list_donations_of_disbursement(
    tx: Tx, disbursement_id: UUID, after: UUID | None = None, limit: int = BATCH
) -> list[Donation]:
    """The donations of a disbursement, including a returned one, in order of creation."""
    return await store_money.list_donations_of_disbursement(tx, disbursement_id, after, limit)


async def reassign_donation(tx: Tx, donation: Donation, organisation_id: UUID) -> Donation:
    """Assign a locked donation to another nonprofit and notify the partner. Raises InvalidState.

    It loses Gift Aid, because a declaration is for one charity.
    """
    given = await store_money.reassign_donation(tx, donation.id, organisation_id)
    if given is None:
        raise domain.InvalidState("only a donation that was received and is in no disbursement can be reassigned")
    await emit_donation_event(tx, domain.REASSIGNED, given)
    return given


async def cancel_gift_aid_declaration(tx: Tx, declaration_id: UUID, cancelled_from: datetime | None) -> Declaration:
    """Cancel a Gift Aid declaration and remove it from donations made after that moment.

    Raises NotFound, DeclarationError.
    """
    cancelled = await gift_aid_declarations.cancel_declaration(tx, declaration_id, cancelled_from)
    await store_money.remove_declaration_from_donations(tx, declaration_id, cancelled.cancelled_from or tx.now)
    return cancelled


class DonationsAddedToRequest(NamedTuple):
    """The donations that were added to a donation request, and whether the request is now full."""

    donation_count: int
    total: Money
    is_request_full: bool


async def add_donations_to_request(
    tx: Tx, partner: Partner, currency: str, cutoff_at: datetime, request_id: UUID, limit: int, max_total_minor: int
) -> DonationsAddedToRequest:
    """Add direct donations to a locked donation request."""
    requested = await store_requests.add_donations_to_request(
        tx, partner, currency, cutoff_at, request_id, limit, max_total_minor
    )
    added = requested.donations
    await _emit_all(tx, domain.PAYMENT_REQUESTED, added)
    total = Money(sum(one.money.minor for one in added), currency)
    return DonationsAddedToRequest(len(added), total, requested.is_request_full)


async def mark_direct_donations_received(tx: Tx, donation_ids: Sequence[UUID]) -> list[Donation]:
    """Mark locked donations that the partner paid for as received and settled."""
    received = await store_requests.mark_direct_donations_received(tx, donation_ids)
    if len(received) != len(donation_ids):
        raise LookupError("a donation to be received does not wait for its money")
    await _emit_all(tx, domain.PAYMENT_SUCCESSFUL, received)
    await _emit_all(tx, domain.SETTLED, received)
    return received


async def _emit_all(tx: Tx, event_type: str, reported: Sequence[Donation]) -> None:
    if reported:
        await outbox.emit_events(tx, event_type, [(one.partner_id, serialise_for_api(tx, one)) for one in reported])


async def emit_donation_event(tx: Tx, event_type: str, donation: Donation) -> None:
    """Emit an event with the donation's current record."""
    await outbox.emit_event(tx, donation.partner_id, event_type, serialise_for_api(tx, donation))
