"""Processes due subscriptions: opens due dates, charges them, closes them, and ends subscriptions.

Every change is made under the subscription's lock. A due date has one row and one donation, both created here; the
payment attempt's job calls the provider (``giving.checkout.donations``).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.users import service as users
from almoner.giving.subscriptions.charging import domain, store
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import (
    CHARGED_STATUSES,
    LIVE_STATUSES,
    UPDATED,
    DonationSubscription,
    SkipReason,
    SubscriptionCharge,
    card_expiry_notice_at,
    past_due_cancellation_at,
    with_next_due_date,
    yearly_reminder_at,
)
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.jobs.failing_rows import process_rows_returning_failures

BATCH: Final = 50
_LEAST_NOTICE: Final = timedelta(days=1)
_POSTPONED: Final = timedelta(hours=1)
_Nonprofits = dict[tuple[UUID, UUID], Organisation]
"""The nonprofits of a batch that were read already, by partner and nonprofit."""


async def process_due_subscriptions(tx: Tx, limit: int = BATCH) -> int:
    """Process due subscriptions; returns their number."""

    async def process(subscriptions_: Sequence[DonationSubscription]) -> None:
        charges = await subscriptions.load_open_charges_by_subscription(
            tx, [subscription.id for subscription in subscriptions_]
        )
        for subscription in subscriptions_:
            is_partner_paused = subscription.partner_id in paused
            charge = charges.get(subscription.id)
            await _process_plan(tx, subscription, charge, nonprofits, is_partner_paused=is_partner_paused)

    nonprofits: _Nonprofits = {}
    due = await subscriptions.lock_due_subscriptions(tx, limit)
    paused = await partners.list_paused_ids(tx) if due else set()
    for subscription in await process_rows_returning_failures(tx, "donation_subscriptions.process_due", due, process):
        await subscriptions.postpone_processing(tx, subscription.id, tx.now + _POSTPONED)
    return len(due)


async def list_subscription_ids_with_outdated_successor_proposal(
    tx: Tx, after_id: UUID | None, limit: int = BATCH
) -> list[UUID]:
    """Subscriptions after this ID whose nonprofit merged into another than the one that is proposed, if any is."""
    return await store.list_subscription_ids_with_outdated_successor_proposal(tx, after_id, limit)


async def next_subscription_due_at(tx: Tx) -> datetime | None:
    """When the next subscription is due."""
    return await subscriptions.next_processing_at(tx)


async def find_oldest_unfinished_charge_or_next_due_at(tx: Tx) -> datetime | None:
    """Like ``next_subscription_due_at``; while cards are being charged, when the first such charge started."""
    return await store.find_oldest_unfinished_charge_at(tx) or await next_subscription_due_at(tx)


async def _process_plan(
    tx: Tx,
    subscription: DonationSubscription,
    charge: SubscriptionCharge | None,
    nonprofits: _Nonprofits,
    *,
    is_partner_paused: bool,
) -> None:
    """Process a locked subscription, one step at a time. A paused partner's subscription is postponed unchanged."""
    if charge is not None and charge.donation_id and await store.awaits_provider_response(tx, charge.donation_id):
        # Wait for the provider's response first; it makes the subscription due again.
        await subscriptions.postpone_processing(tx, subscription.id, tx.now + domain.LIVE_PAYMENT_RETRY)
        return
    if subscription.email is not None and await _was_erased(tx, subscription):
        await subscriptions.erase_donor(tx, subscription)
        return
    if subscription.status in ("cancelled", "paused"):
        if charge is not None:
            await _close(tx, charge, "cancelled" if subscription.status == "cancelled" else "paused")
        if (
            subscription.status == "paused"
            and subscription.paused_until is not None
            and subscription.paused_until <= tx.now
        ):
            await subscriptions.resume_locked_subscription(tx, subscription)
        else:
            await subscriptions.store_change_and_emit_event(tx, subscription)
        return
    if is_partner_paused:
        await subscriptions.postpone_processing(tx, subscription.id, tx.now + _POSTPONED)
        return
    await _follow_dates(tx, subscription, charge, nonprofits)


async def _follow_dates(
    tx: Tx, subscription: DonationSubscription, charge: SubscriptionCharge | None, nonprofits: _Nonprofits
) -> None:
    """Open, charge and close the due dates of a live subscription, and notify its donor."""
    ends_at = past_due_cancellation_at(subscription, tx.deployment.time_zone)
    if ends_at is not None and tx.now >= ends_at:
        await subscriptions.cancel_locked_subscription(tx, subscription, "payment_failed")
        return
    if charge is not None and tx.now >= domain.charge_window_closes_at(charge.due_on, tx.deployment.time_zone):
        await _close(tx, charge, None)
        charge = None
    subscription, charge = await _open_due_date(tx, subscription, charge)
    if (
        charge is not None
        and subscription.chargeable
        and charge.next_attempt_at is not None
        and charge.next_attempt_at <= tx.now
    ):
        subscription, charge = await _charge(tx, subscription, charge, nonprofits)
    if subscription.status in CHARGED_STATUSES:
        await subscriptions.store_change_with_charge(tx, await _remind(tx, subscription), charge)


async def update_successor_proposal(tx: Tx, subscription_id: UUID) -> None:
    """Ask the donor to agree to the nonprofit's successor; charge an active subscription only after that.

    An earlier proposal is replaced, or withdrawn if no successor can receive the donations.
    """
    subscription = await subscriptions.get_for_update(tx, ALL_PARTNERS, subscription_id)
    organisation = await organisations.get(tx, Partner(subscription.partner_id), subscription.organisation_id)
    successor = await subscriptions.find_successor_id_able_to_receive(tx, subscription, organisation)
    if subscription.status not in LIVE_STATUSES or successor == subscription.proposed_organisation_id:
        return
    charge = await subscriptions.find_open_charge(tx, subscription.id)
    under_way = (
        charge is not None and charge.donation_id and await store.awaits_provider_response(tx, charge.donation_id)
    )
    # A payment under way goes on; the next due date stops the subscription then.
    if successor is not None and subscription.status in CHARGED_STATUSES and not under_way:
        if charge is not None:
            await _close(tx, charge, "organisation_cannot_receive")
        subscription = await subscriptions.pause_locked_subscription(
            tx, subscription, None, "organisation_cannot_receive"
        )
    await _update_proposal(tx, subscription, successor)


async def _update_proposal(tx: Tx, subscription: DonationSubscription, successor: UUID | None) -> DonationSubscription:
    if successor == subscription.proposed_organisation_id:
        return subscription
    if successor is None:
        return await subscriptions.withdraw_successor_proposal(tx, subscription)
    return await subscriptions.propose_successor_organisation(tx, subscription, successor)


async def _close(tx: Tx, charge: SubscriptionCharge, reason: SkipReason | None) -> None:
    """Close an unpaid due date with its donation; a later payment by the donor is refunded."""
    await subscriptions.close_charge(tx, charge, reason)
    if charge.donation_id is not None:
        await donations.cancel_subscription_donation(tx, charge.donation_id)


async def _was_erased(tx: Tx, subscription: DonationSubscription) -> bool:
    if subscription.user_id is None:
        return False
    return (await users.get(tx, Partner(subscription.partner_id), subscription.user_id)).deleted_at is not None


async def _open_due_date(
    tx: Tx, subscription: DonationSubscription, charge: SubscriptionCharge | None
) -> tuple[DonationSubscription, SubscriptionCharge | None]:
    """Open the current due date; older ones are recorded as skipped, and the donor is notified."""
    zone = tx.deployment.time_zone
    due = domain.compute_charge_due_dates(subscription, tx.now, zone)
    if due is None:
        return subscription, charge
    if charge is not None:
        await _close(tx, charge, None)
        charge = None
    await subscriptions.skip_due_dates(tx, subscription.id, due.dates_too_late_to_charge, "too_late")
    await subscriptions.skip_due_dates(tx, subscription.id, due.skipped_older_dates, "missed_date")
    if due.date_to_charge is not None:
        charge = SubscriptionCharge(
            subscription.id, due.date_to_charge, "open", next_attempt_at=due.first_charge_attempt_at
        )
        await subscriptions.insert_open_charge(tx, charge)
    subscription = with_next_due_date(subscription, subscription.next_due_date_after(due.last_due_date), zone)
    if skipped := sorted([*due.dates_too_late_to_charge, *due.skipped_older_dates]):
        subscription = await subscriptions.store_change_and_emit_event(tx, subscription, UPDATED)
        await subscriptions.notify_donor(tx, subscription, "dates_skipped", skipped[0])
    return subscription, charge


async def _charge(
    tx: Tx, subscription: DonationSubscription, charge: SubscriptionCharge, nonprofits: _Nonprofits
) -> tuple[DonationSubscription, SubscriptionCharge | None]:
    """Start a payment attempt, unless the nonprofit cannot receive it or the donor is paying right now."""
    key = (subscription.partner_id, subscription.organisation_id)
    if (organisation := nonprofits.get(key)) is None:
        organisation = await organisations.get(tx, Partner(subscription.partner_id), subscription.organisation_id)
        nonprofits[key] = organisation
    if subscription.money.currency not in organisation.donation_currencies:
        return await _stop(tx, subscription, charge, organisation), None
    subscription = replace(subscription, proposed_organisation_id=None)  # a register took its merger back
    if charge.donation_id is not None and await donations.has_payment_in_progress(tx, charge.donation_id):
        charge = replace(charge, next_attempt_at=tx.now + domain.LIVE_PAYMENT_RETRY)
        await subscriptions.update_charge(tx, charge)
        return subscription, charge
    if charge.donation_id is None:
        donation = await donations.create_subscription_donation(tx, subscription, charge.due_on)
    else:
        donation = await donations.get_for_update(tx, Partner(subscription.partner_id), charge.donation_id)
        donation = await donations.lower_donation_to_subscription_amount(tx, donation, subscription)
    await donations.enqueue_off_session_charge(tx, subscription, donation, organisation.effective_display_name)
    charge = replace(charge, donation_id=donation.id, attempt_count=charge.attempt_count + 1, next_attempt_at=None)
    await subscriptions.update_charge(tx, charge)
    return replace(subscription, last_charged_on=tx.deployment.date_in_issuer_time_zone(tx.now)), charge


async def _stop(
    tx: Tx, subscription: DonationSubscription, charge: SubscriptionCharge, organisation: Organisation
) -> DonationSubscription:
    """Stop charging because the nonprofit cannot receive donations, until the donor decides."""
    await _close(tx, charge, "organisation_cannot_receive")
    subscription = await subscriptions.pause_locked_subscription(tx, subscription, None, "organisation_cannot_receive")
    successor = await subscriptions.find_successor_id_able_to_receive(tx, subscription, organisation)
    return await _update_proposal(tx, subscription, successor)


async def _remind(tx: Tx, subscription: DonationSubscription) -> DonationSubscription:
    """Notify the donor before a yearly donation and before the card expires."""
    remind_at = yearly_reminder_at(subscription, tx.deployment.time_zone)
    if remind_at is not None and remind_at <= tx.now:
        if subscription.next_donation_at is not None and subscription.next_donation_at - tx.now >= _LEAST_NOTICE:
            await subscriptions.notify_donor(tx, subscription, "yearly_reminder", subscription.next_due_on)
        subscription = replace(subscription, reminded_on=subscription.next_due_on)
    announce_at = card_expiry_notice_at(subscription)
    if announce_at is not None and announce_at <= tx.now and subscription.payment_method is not None:
        await subscriptions.notify_donor(tx, subscription, "card_expiring")
        subscription = replace(subscription, card_announced_at=subscription.payment_method.expires_at)
    return subscription
