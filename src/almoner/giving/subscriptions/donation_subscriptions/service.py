"""Operations on donation subscriptions. A subscription is locked before the donations of its due dates."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Final
from uuid import UUID

from almoner.giving.checkout.donations.domain import Donation, DonationDetails
from almoner.giving.checkout.payments.domain import Decline, DeclineAction, Payment, SavedPaymentMethod
from almoner.giving.checkout.sessions.domain import DonationSession
from almoner.giving.subscriptions.donation_subscriptions import domain, schemas, store, store_charges
from almoner.giving.subscriptions.donation_subscriptions.domain import (
    Agreement,
    CancellationReason,
    DonationSubscription,
    NoticeKind,
    PauseReason,
    SubscriptionCharge,
    SubscriptionNoticeEvent,
)
from almoner.giving.subscriptions.donation_subscriptions.schemas import DonationSubscriptionResponse
from almoner.giving.subscriptions.donation_subscriptions.store import cursor_position_of as cursor_position_of
from almoner.giving.subscriptions.donation_subscriptions.store import find_accepted_agreement as find_accepted_agreement
from almoner.giving.subscriptions.donation_subscriptions.store import (
    find_ongoing_subscription_of_donor as find_ongoing_subscription_of_donor,
)
from almoner.giving.subscriptions.donation_subscriptions.store import list_by_donor as list_by_donor
from almoner.giving.subscriptions.donation_subscriptions.store import (
    list_ids_using_payment_method as list_ids_using_payment_method,
)
from almoner.giving.subscriptions.donation_subscriptions.store import list_page as list_page
from almoner.giving.subscriptions.donation_subscriptions.store import lock_due_subscriptions as lock_due_subscriptions
from almoner.giving.subscriptions.donation_subscriptions.store import next_processing_at as next_processing_at
from almoner.giving.subscriptions.donation_subscriptions.store import postpone_processing as postpone_processing
from almoner.giving.subscriptions.donation_subscriptions.store_charges import close_charge as close_charge
from almoner.giving.subscriptions.donation_subscriptions.store_charges import find_open_charge as find_open_charge
from almoner.giving.subscriptions.donation_subscriptions.store_charges import insert_open_charge as insert_open_charge
from almoner.giving.subscriptions.donation_subscriptions.store_charges import (
    load_open_charges_by_subscription as load_open_charges_by_subscription,
)
from almoner.giving.subscriptions.donation_subscriptions.store_charges import skip_due_dates as skip_due_dates
from almoner.giving.subscriptions.donation_subscriptions.store_charges import update_charge as update_charge
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.kit.recurrence import Frequency
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox

BATCH: Final = 1000
_CHARGES_SHOWN: Final = 100


async def get(tx: Tx, scope: Partner | AllPartners, subscription_id: UUID) -> DonationSubscription:
    """One subscription. Raises NotFound."""
    if (subscription := await store.find(tx, scope, subscription_id)) is None:
        raise NotFound
    return subscription


async def get_for_update(tx: Tx, scope: Partner | AllPartners, subscription_id: UUID) -> DonationSubscription:
    """One subscription, locked until the transaction ends. Raises NotFound."""
    if (subscription := await store.find_for_update(tx, scope, subscription_id)) is None:
        raise NotFound
    return subscription


def serialise_for_api(tx: Tx, subscription: DonationSubscription) -> DonationSubscriptionResponse:
    """The subscription as an API record."""
    return schemas.donation_subscription_response(tx, subscription)


async def list_charges(tx: Tx, subscription_id: UUID) -> list[SubscriptionCharge]:
    """The newest due dates of a subscription, newest first."""
    return await store_charges.list_newest_charges(tx, subscription_id, _CHARGES_SHOWN)


async def store_change_and_emit_event(
    tx: Tx, subscription: DonationSubscription, event_type: str | None = None
) -> DonationSubscription:
    """Store a changed locked subscription with its next wake time, and emit an event.

    Raises InvalidState if the status transition is not allowed.
    """
    return await store_change_with_charge(tx, subscription, await find_open_charge(tx, subscription.id), event_type)


async def store_change_with_charge(
    tx: Tx, subscription: DonationSubscription, charge: SubscriptionCharge | None, event_type: str | None = None
) -> DonationSubscription:
    """Like ``store_change_and_emit_event``, with the subscription's open due date; None if it has none."""
    subscription = replace(subscription, updated_at=tx.now)
    subscription = replace(
        subscription, wake_at=domain.next_processing_at(subscription, charge, tx.deployment.time_zone)
    )
    if not await store.update(tx, subscription):
        raise domain.InvalidState(f"the donation subscription may not become {subscription.status}")
    if event_type is not None:
        await outbox.emit_event(tx, subscription.partner_id, event_type, serialise_for_api(tx, subscription))
    return subscription


async def notify_donor(
    tx: Tx, subscription: DonationSubscription, kind: NoticeKind, due_on: date | None = None
) -> None:
    """Enqueue an email to the donor."""
    notice = SubscriptionNoticeEvent(
        subscription.id, subscription.partner_id, kind, due_on.isoformat() if due_on else None
    )
    await outbox.emit_internal_event(tx, domain.NOTICE, notice, partner_id=subscription.partner_id)


async def create_or_update_pending_subscription(
    tx: Tx,
    session: DonationSession,
    details: DonationDetails,
    previous_subscription_id: UUID | None,
    *,
    shows_donor_in_api: bool,
) -> UUID | None:
    """Create the pending subscription that a donor chose in a locked session; None for a single donation.

    ``previous_subscription_id``: the subscription of the donor's earlier choice in this session.
    """
    former = (
        await store.find_for_update(tx, ALL_PARTNERS, previous_subscription_id)
        if previous_subscription_id is not None
        else None
    )
    if former is not None and former.status != "pending":
        former = None
    if details.frequency == "one_time":
        if former is not None:
            await _end(tx, former, "not_started")
        return None
    subscription = _chosen(
        former or _new_plan(tx, session, details.money, details.frequency, donor_shown=shows_donor_in_api), details
    )
    subscription = replace(subscription, frequency=details.frequency)
    if former is None:
        await store.insert(tx, Partner(subscription.partner_id), subscription)
        await outbox.emit_event(tx, subscription.partner_id, domain.CREATED, serialise_for_api(tx, subscription))
    elif subscription != former:
        subscription = await store_change_and_emit_event(tx, subscription, domain.UPDATED)
    if details.agreement is not None and (former is None or subscription != former):
        await store.insert_agreement(tx, subscription, details.agreement)
    return subscription.id


def _new_plan(
    tx: Tx, session: DonationSession, money: Money, frequency: Frequency, *, donor_shown: bool
) -> DonationSubscription:
    return DonationSubscription(
        id=tx.new_id(),
        partner_id=session.partner_id,
        organisation_id=session.organisation_id,
        user_id=session.user_id,
        session_id=session.id,
        status="pending",
        money=money,
        cover_minor=0,
        frequency=frequency,
        first_name=None,
        last_name=None,
        email=None,
        consented=False,
        anonymous=False,
        message=None,
        language=session.language,
        metadata=session.metadata,
        created_at=tx.now,
        updated_at=tx.now,
        donor_shown=donor_shown,
    )


def _chosen(subscription: DonationSubscription, details: DonationDetails) -> DonationSubscription:
    return replace(
        subscription,
        money=details.money,
        cover_minor=details.cover_minor,
        first_name=details.first_name or None,
        last_name=details.last_name or None,
        email=details.email,
        consented=details.consented,
        anonymous=details.anonymous,
        message=details.message,
    )


async def cancel_unstarted_subscriptions(tx: Tx, subscription_ids: list[UUID]) -> None:
    """Cancel subscriptions whose first donation was not paid."""
    for subscription_id in subscription_ids:
        subscription = await get_for_update(tx, ALL_PARTNERS, subscription_id)
        if subscription.status == "pending":
            await _end(tx, subscription, "not_started")


async def _end(tx: Tx, subscription: DonationSubscription, reason: CancellationReason) -> DonationSubscription:
    ended = await store_change_and_emit_event(tx, domain.as_cancelled(subscription, reason, tx.now), domain.CANCELLED)
    if subscription.started_at is not None:
        await notify_donor(tx, ended, "cancelled")
        await _release_payment_method(tx, subscription)
    return ended


async def _release_payment_method(tx: Tx, subscription: DonationSubscription) -> None:
    """Have the provider delete the payment method that a subscription used until now."""
    if subscription.payment_method is not None and subscription.provider is not None:
        await request_payment_method_deletion(
            tx, subscription.provider, subscription.payment_method, subscription.partner_id
        )


async def request_payment_method_deletion(
    tx: Tx, provider: str, saved_method: SavedPaymentMethod, partner_id: UUID | None = None
) -> None:
    """Have the provider delete a saved payment method that no subscription uses."""
    replaced = domain.PaymentMethodReplacedEvent(provider, saved_method.customer_id, saved_method.id)
    await outbox.emit_internal_event(tx, domain.PAYMENT_METHOD_REPLACED, replaced, partner_id=partner_id)


async def record_first_payment(
    tx: Tx, donation: Donation, payment: Payment, saved_method: SavedPaymentMethod | None
) -> None:
    """Apply the first paid donation of a subscription, which starts it."""
    assert donation.subscription_id is not None, "asked of gifts of plans alone"
    subscription = _with_donation(await get_for_update(tx, ALL_PARTNERS, donation.subscription_id), donation)
    if subscription.status != "pending":
        if saved_method is not None:
            await request_payment_method_deletion(tx, payment.provider, saved_method, subscription.partner_id)
        await store_change_and_emit_event(tx, subscription, domain.UPDATED)
        return
    zone = tx.deployment.time_zone
    begun = domain.as_started(subscription, payment.created_at, payment.id, zone)
    if saved_method is None:
        await store_change_and_emit_event(
            tx, domain.as_cancelled(begun, "payment_method_not_saved", tx.now), domain.CANCELLED
        )
        await notify_donor(tx, begun, "cancelled")
        return
    begun = replace(begun, provider=payment.provider, payment_method=saved_method, chargeable=True)
    await store_change_and_emit_event(tx, begun, domain.UPDATED)
    await notify_donor(tx, begun, "begun")


def _with_donation(subscription: DonationSubscription, donation: Donation) -> DonationSubscription:
    return replace(
        subscription,
        donations_count=subscription.donations_count + 1,
        total_minor=subscription.total_minor + donation.money.minor,
    )


async def record_subscription_payment(
    tx: Tx,
    subscription: DonationSubscription,
    donation: Donation,
    payment: Payment,
    saved_method: SavedPaymentMethod | None,
) -> None:
    """Apply a later paid donation of a locked subscription: its due date is paid."""
    subscription = _with_donation(subscription, donation)
    charge = await store_charges.find_charge_by_donation(tx, donation.id)
    assert charge is not None, "a donation of a date is that of its charge"
    charged_on = tx.deployment.date_in_issuer_time_zone(payment.created_at)
    await store_charges.mark_charge_paid(tx, charge, charged_on)
    subscription = replace(subscription, last_charged_on=max(subscription.last_charged_on or charged_on, charged_on))
    if subscription.status == "past_due":
        subscription = replace(subscription, status="active", past_due_since=None)
    if saved_method is not None and not payment.off_session:
        await _release_payment_method(tx, subscription)
        subscription = replace(subscription, provider=payment.provider, payment_method=saved_method)
    if subscription.payment_method is not None:
        subscription = replace(subscription, chargeable=True)  # the last change counts: it was just paid
    await store_change_with_charge(tx, subscription, None, domain.UPDATED)


async def record_decline(tx: Tx, subscription: DonationSubscription, donation: Donation, decline: Decline) -> None:
    """Record that a locked subscription's payment method was declined for an open date."""
    charge = await store_charges.find_charge_by_donation(tx, donation.id)
    if charge is None or charge.status != "open" or subscription.status not in domain.CHARGED_STATUSES:
        return
    zone = tx.deployment.time_zone
    retry_on = domain.next_retry_day(charge.due_on, tx.deployment.date_in_issuer_time_zone(tx.now))
    again = decline.action is DeclineAction.RETRY and retry_on is not None
    charge = replace(
        charge,
        decline_code=decline.decline_code,
        next_attempt_at=subscription.charge_datetime(retry_on, zone) if again and retry_on else None,
    )
    await update_charge(tx, charge)
    subscription = replace(subscription, chargeable=decline.action is DeclineAction.RETRY)
    if subscription.status == "active":
        subscription = replace(subscription, status="past_due", past_due_since=tx.now)
    subscription = await store_change_with_charge(tx, subscription, charge, domain.PAYMENT_FAILED)
    if decline.action is DeclineAction.REVOKED:
        await _end(tx, subscription, "revoked")
    else:
        needs = decline.action is DeclineAction.AUTHENTICATE
        await notify_donor(tx, subscription, "authentication_needed" if needs else "payment_failed", charge.due_on)


async def change_metadata(
    tx: Tx, subscription: DonationSubscription, patch: Mapping[str, str | None] | None
) -> DonationSubscription:
    """Merge the metadata of a locked subscription key by key; None removes all. Raises InvalidMetadata."""
    if patch and (found := metadata_rules.find_metadata_problems(patch, is_patch=True)):
        raise domain.InvalidMetadata(*found)
    merged = {} if patch is None else metadata_rules.merge_metadata(subscription.metadata or {}, patch)
    if found := metadata_rules.find_metadata_problems(merged):
        raise domain.InvalidMetadata(*found)
    return await store_change_and_emit_event(tx, replace(subscription, metadata=merged or None), domain.UPDATED)


async def apply_or_request_change(
    tx: Tx, subscription: DonationSubscription, amount_minor: int, frequency: Frequency
) -> DonationSubscription:
    """Change a locked subscription for a partner: at once if the amount falls, else once the donor agrees.

    Raises InvalidState.
    """
    domain.ensure_status_in(subscription, *domain.LIVE_STATUSES)
    money = Money(amount_minor, subscription.money.currency)
    if domain.needs_donor_consent(subscription, money, frequency):
        change = domain.PendingChange(money, frequency, tx.now)
        subscription = await store_change_and_emit_event(
            tx, replace(subscription, pending_change=change), domain.UPDATED
        )
        await notify_donor(tx, subscription, "change_requested")
        return subscription
    return await _apply_change(tx, subscription, money, frequency)


async def _apply_change(
    tx: Tx, subscription: DonationSubscription, money: Money, frequency: Frequency, agreement: Agreement | None = None
) -> DonationSubscription:
    former = (subscription.money, subscription.frequency)
    cover = subscription.cover_minor if subscription.money == money else 0
    subscription = replace(subscription, money=money, cover_minor=cover, pending_change=None)
    subscription = domain.with_frequency(
        subscription, frequency, tx.deployment.date_in_issuer_time_zone(tx.now), tx.deployment.time_zone
    )
    subscription = await store_change_and_emit_event(tx, subscription, domain.UPDATED)
    if agreement is not None:
        await store.insert_agreement(tx, subscription, agreement)
    if former != (money, frequency):
        await notify_donor(tx, subscription, "changed")
    return subscription


async def change_amount_and_frequency_by_donor(
    tx: Tx, partner: Partner, subscription_id: UUID, amount_minor: int, frequency: Frequency, agreement: Agreement
) -> DonationSubscription:
    """Apply a change that the donor makes and agrees to. Raises NotFound, InvalidState."""
    subscription = await get_for_update(tx, partner, subscription_id)
    domain.ensure_status_in(subscription, *domain.LIVE_STATUSES)
    return await _apply_change(tx, subscription, Money(amount_minor, subscription.money.currency), frequency, agreement)


async def confirm_change(tx: Tx, partner: Partner, subscription_id: UUID, agreement: Agreement) -> DonationSubscription:
    """Record that the donor agrees to the pending change. Raises NotFound, InvalidState."""
    subscription = await get_for_update(tx, partner, subscription_id)
    if (change := subscription.pending_change) is None:
        raise domain.InvalidState("no change waits for the donor")
    return await _apply_change(tx, subscription, change.money, change.frequency, agreement)


async def decline_change(tx: Tx, partner: Partner, subscription_id: UUID) -> DonationSubscription:
    """Record that the donor declines the pending change. Raises NotFound, InvalidState."""
    subscription = await get_for_update(tx, partner, subscription_id)
    if subscription.pending_change is None:
        raise domain.InvalidState("no change waits for the donor")
    subscription = await store_change_and_emit_event(tx, replace(subscription, pending_change=None), domain.UPDATED)
    await notify_donor(tx, subscription, "change_declined")
    return subscription


async def change_next_due_date(tx: Tx, partner: Partner, subscription_id: UUID, due_on: date) -> DonationSubscription:
    """Change the next date, from which later ones are counted. Raises NotFound, InvalidState, InvalidDate."""
    subscription = await get_for_update(tx, partner, subscription_id)
    domain.ensure_status_in(subscription, *domain.CHARGED_STATUSES)
    if await store_charges.has_charge(tx, subscription.id, due_on):
        raise domain.InvalidDate("the gift of this day was skipped")
    subscription = domain.as_rescheduled(
        subscription, due_on, tx.deployment.date_in_issuer_time_zone(tx.now), tx.deployment.time_zone
    )
    subscription = await store_change_and_emit_event(tx, subscription, domain.UPDATED)
    await notify_donor(tx, subscription, "changed")
    return subscription


async def pause(
    tx: Tx, partner: Partner, subscription_id: UUID, until: datetime | None, reason: PauseReason
) -> DonationSubscription:
    """Pause until then; None: until it is resumed. Raises NotFound, InvalidState, InvalidPause."""
    subscription = await get_for_update(tx, partner, subscription_id)
    domain.ensure_status_in(subscription, *domain.CHARGED_STATUSES)
    if until is not None and not tx.now < until <= tx.now + domain.MAX_PAUSE:
        raise domain.InvalidPause
    return await pause_locked_subscription(tx, subscription, until, reason)


async def pause_locked_subscription(
    tx: Tx, subscription: DonationSubscription, until: datetime | None, reason: PauseReason
) -> DonationSubscription:
    """Like ``pause``, for a locked active subscription."""
    subscription = await store_change_and_emit_event(
        tx, domain.as_paused(subscription, until, reason, tx.deployment.time_zone), domain.UPDATED
    )
    await notify_donor(
        tx, subscription, "organisation_stopped" if reason == "organisation_cannot_receive" else "paused"
    )
    return subscription


async def resume(tx: Tx, partner: Partner, subscription_id: UUID) -> DonationSubscription:
    """Resume from the next due date on. Raises NotFound, and InvalidState if the nonprofit still cannot receive."""
    subscription = await get_for_update(tx, partner, subscription_id)
    if subscription.pause_reason == "organisation_cannot_receive":
        organisation = await organisations.get(tx, partner, subscription.organisation_id)
        if subscription.money.currency not in organisation.donation_currencies:
            raise domain.InvalidState("the organisation cannot receive donations")
    return await resume_locked_subscription(tx, subscription)


async def resume_locked_subscription(tx: Tx, subscription: DonationSubscription) -> DonationSubscription:
    """Like ``resume``, for a locked subscription."""
    domain.ensure_status_in(subscription, "paused")
    subscription, missed = domain.as_resumed(subscription, tx.now, tx.deployment.time_zone)
    await skip_due_dates(tx, subscription.id, missed, "paused")
    charge = await find_open_charge(tx, subscription.id)
    if charge is not None and charge.next_attempt_at is None:  # resumed before the pause had closed the due date
        await update_charge(tx, replace(charge, next_attempt_at=tx.now))
    subscription = await store_change_and_emit_event(tx, subscription, domain.UPDATED)
    await notify_donor(tx, subscription, "resumed")
    return subscription


async def skip_next_due_date(
    tx: Tx, partner: Partner, subscription_id: UUID, reason: PauseReason
) -> DonationSubscription:
    """Skip the next due date. Raises NotFound, InvalidState."""
    subscription = await get_for_update(tx, partner, subscription_id)
    domain.ensure_status_in(subscription, *domain.CHARGED_STATUSES)
    skipped = subscription.next_due_on
    assert skipped is not None, "a plan that has begun has its next date"
    await skip_due_dates(tx, subscription.id, [skipped], reason)
    subscription = domain.with_next_due_date(
        subscription, subscription.next_due_date_after(skipped), tx.deployment.time_zone
    )
    subscription = await store_change_and_emit_event(tx, subscription, domain.UPDATED)
    await notify_donor(tx, subscription, "date_skipped", skipped)
    return subscription


async def cancel(tx: Tx, partner: Partner, subscription_id: UUID, reason: CancellationReason) -> DonationSubscription:
    """Cancel a started subscription. Raises NotFound, InvalidState."""
    subscription = await get_for_update(tx, partner, subscription_id)
    domain.ensure_status_in(subscription, *domain.LIVE_STATUSES)
    return await _end(tx, subscription, reason)


async def cancel_locked_subscription(
    tx: Tx, subscription: DonationSubscription, reason: CancellationReason
) -> DonationSubscription:
    """Cancel a locked started subscription."""
    return await _end(tx, subscription, reason)


async def set_payment_method(
    tx: Tx, provider: str, subscription: DonationSubscription, saved_method: SavedPaymentMethod
) -> None:
    """Set a locked subscription's new or renewed payment method; past due donations are charged now.

    A card that only expires earlier is no other card: the donor is not told, and it is not charged again.
    """
    if subscription.status not in domain.LIVE_STATUSES or subscription.payment_method == saved_method:
        return
    former = subscription.payment_method
    if former is not None and former.is_renewal_of(saved_method):
        await store_change_and_emit_event(tx, replace(subscription, payment_method=saved_method), domain.UPDATED)
        return
    if former is None or (former.customer_id, former.id) != (saved_method.customer_id, saved_method.id):
        await _release_payment_method(tx, subscription)
    charge = await find_open_charge(tx, subscription.id)
    # During a payment, its result decides when to retry.
    if charge is not None and charge.next_attempt_at is None and not subscription.chargeable:
        await update_charge(tx, replace(charge, next_attempt_at=tx.now))
    subscription = replace(subscription, provider=provider, payment_method=saved_method, chargeable=True)
    subscription = await store_change_and_emit_event(tx, subscription, domain.UPDATED)
    await notify_donor(tx, subscription, "payment_method_changed")


async def propose_successor_organisation(
    tx: Tx, subscription: DonationSubscription, successor_id: UUID
) -> DonationSubscription:
    """Ask the donor of a locked subscription to agree to donate to the nonprofit's successor instead."""
    proposed = await store_change_and_emit_event(tx, replace(subscription, proposed_organisation_id=successor_id))
    await notify_donor(tx, proposed, "organisation_proposed")
    return proposed


async def withdraw_successor_proposal(tx: Tx, subscription: DonationSubscription) -> DonationSubscription:
    """Stop asking the donor of a locked subscription about a successor."""
    return await store_change_and_emit_event(tx, replace(subscription, proposed_organisation_id=None))


async def find_successor_id_able_to_receive(
    tx: Tx, subscription: DonationSubscription, organisation: Organisation
) -> UUID | None:
    """The successor of the subscription's nonprofit, if it can receive the subscription's donations."""
    if organisation.succeeded_by is None:
        return None
    try:
        successor = await organisations.get(tx, ALL_PARTNERS, organisation.succeeded_by)
    except NotFound:
        return None
    return successor.id if subscription.money.currency in successor.donation_currencies else None


async def find_proposed_successor_id(tx: Tx, subscription: DonationSubscription) -> UUID | None:
    """The nonprofit to which the donor may agree now: a register may change after it was proposed."""
    if subscription.proposed_organisation_id is None:
        return None
    organisation = await organisations.get(tx, Partner(subscription.partner_id), subscription.organisation_id)
    successor_id = await find_successor_id_able_to_receive(tx, subscription, organisation)
    return successor_id if successor_id == subscription.proposed_organisation_id else None


async def accept_successor_organisation(
    tx: Tx, partner: Partner, subscription_id: UUID, successor_id: UUID, agreement: Agreement
) -> DonationSubscription:
    """Record that the donor agrees to give to the proposed nonprofit. Raises NotFound, InvalidState."""
    subscription = await get_for_update(tx, partner, subscription_id)
    if await find_proposed_successor_id(tx, subscription) != successor_id:
        raise domain.InvalidState("the organisation is not proposed, or cannot receive the donations any more")
    subscription = replace(subscription, organisation_id=successor_id, proposed_organisation_id=None)
    if subscription.status == "paused" and subscription.pause_reason == "organisation_cannot_receive":
        subscription, missed = domain.as_resumed(subscription, tx.now, tx.deployment.time_zone)
        await skip_due_dates(tx, subscription.id, missed, "organisation_cannot_receive")
    subscription = await store_change_and_emit_event(tx, subscription, domain.UPDATED)
    await store.insert_agreement(tx, subscription, agreement)
    await notify_donor(tx, subscription, "organisation_moved")
    return subscription


async def decline_successor_organisation(tx: Tx, partner: Partner, subscription_id: UUID) -> DonationSubscription:
    """Cancel the subscription because the donor declines the proposed nonprofit. Raises NotFound, InvalidState."""
    subscription = await get_for_update(tx, partner, subscription_id)
    if subscription.proposed_organisation_id is None:
        raise domain.InvalidState("no other organisation was proposed")
    return await _end(tx, subscription, "donor")


async def erase_donor(tx: Tx, subscription: DonationSubscription) -> None:
    """Cancel a locked subscription and erase its donor, on request."""
    if subscription.status != "cancelled":
        subscription = await store_change_and_emit_event(
            tx, domain.as_cancelled(subscription, "donor_erased", tx.now), domain.CANCELLED
        )
        await _release_payment_method(tx, subscription)
    erased = replace(subscription, first_name=None, last_name=None, email=None, message=None, payment_method=None)
    await store_change_and_emit_event(tx, replace(erased, provider=None, chargeable=False))


async def erase_donors_of_unstarted_subscriptions(tx: Tx, limit: int = BATCH) -> int:
    """Erase donors of subscriptions that never started (V6); returns how many."""
    return await store.erase_donors_of_unstarted_subscriptions(tx, tx.now - domain.ERASED_AFTER, limit)


async def next_donor_erasure_at(tx: Tx) -> datetime | None:
    """When the next donor is due to be erased."""
    oldest = await store.find_oldest_unstarted_subscription_cancellation_at(tx)
    return None if oldest is None else oldest + domain.ERASED_AFTER
