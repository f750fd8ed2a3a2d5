"""Loads a donor's regular donations, and creates the links that open them.

The donor is an email address of one partner, as for statements: anyone with access to its mailbox may see and change
all of them.
"""

from datetime import date, datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.partners import service as partners
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.requested_emails import service as requested_emails
from almoner.giving.subscriptions.donation_subscriptions import domain as subscriptions_domain
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import DonationSubscription
from almoner.giving.subscriptions.donor_pages import domain, store
from almoner.giving.subscriptions.donor_pages.domain import PaidDonation, RegularDonation, RegularDonationsPageContent
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.kit.recurrence import Frequency
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.jobs.queue import JobKind


class SendManagementLinkJob(msgspec.Struct, frozen=True):
    """The link to email, and its donor's subscription."""

    link: UUID
    subscription: UUID


SEND_LINK: Final = JobKind("regular_donations.send_link", SendManagementLinkJob)


def build_management_url(tx: Tx, subscription_id: UUID, link_requested_at: datetime | None = None) -> str:
    """The URL in emails to a subscription's donor; it opens all of the donor's subscriptions.

    ``link_requested_at``: real time, by default now.
    """
    until = (link_requested_at or tx.real_now) + domain.LINK_LIFETIME
    token = tx.vault.create_expiring_page_token(domain.PAGE_PURPOSE, subscription_id, until)
    return f"{tx.base_urls.pages}/{domain.PAGE_PURPOSE}?token={token}"


async def get_subscription(tx: Tx, subscription_id: UUID) -> DonationSubscription:
    """The subscription of an opened link. Raises NotFound if it does not exist or its donor was erased."""
    subscription = await subscriptions.get(tx, ALL_PARTNERS, subscription_id)
    if subscription.email is None:
        raise NotFound
    return subscription


async def load_page_of_all_regular_donations(tx: Tx, link_subscription_id: UUID) -> RegularDonationsPageContent:
    """All subscriptions of the donor whose link was opened. Raises NotFound."""
    opened_by = await get_subscription(tx, link_subscription_id)
    assert opened_by.email is not None, "just looked"
    partner = Partner(opened_by.partner_id)
    plans = await subscriptions.list_by_donor(tx, partner, opened_by.email)
    plans.sort(key=lambda plan: plan.status == "cancelled")
    receipts = await store.load_paid_donations_by_subscription(
        tx, partner, [subscription.id for subscription in plans], domain.RECEIPTS_SHOWN
    )
    listed = [await _shown(tx, partner, subscription, receipts.get(subscription.id, [])) for subscription in plans]
    return RegularDonationsPageContent(opened_by, await partners.get(tx, partner), listed)


async def get_subscription_of_same_donor(
    tx: Tx, link_subscription_id: UUID, subscription_id: UUID
) -> DonationSubscription:
    """A subscription of the donor whose link was opened. Raises NotFound."""
    opened, subscription = (
        await get_subscription(tx, link_subscription_id),
        await get_subscription(tx, subscription_id),
    )
    if (
        subscription.partner_id != opened.partner_id
        or (subscription.email or "").lower() != (opened.email or "").lower()
    ):
        raise NotFound
    return subscription


async def load_page_of_one_regular_donation(
    tx: Tx, link_subscription_id: UUID, subscription_id: UUID
) -> RegularDonationsPageContent:
    """Like ``load_page_of_all_regular_donations``, with a single subscription and without receipts. Raises NotFound."""
    subscription = await get_subscription_of_same_donor(tx, link_subscription_id, subscription_id)
    partner = Partner(subscription.partner_id)
    return RegularDonationsPageContent(
        subscription, await partners.get(tx, partner), [await _shown(tx, partner, subscription, [])]
    )


async def _shown(
    tx: Tx, partner: Partner, subscription: DonationSubscription, receipts: list[PaidDonation]
) -> RegularDonation:
    nonprofit = await hosted_page.load_profile_of_organisation(tx, partner, subscription.organisation_id)
    receives = subscription.money.currency in nonprofit.receivable_currencies
    proposed = await subscriptions.find_proposed_successor_id(tx, subscription)
    return RegularDonation(
        subscription,
        nonprofit.name,
        (await hosted_page.load_profile_of_organisation(tx, partner, proposed)).name if proposed else None,
        receipts,
        _charge_days(tx, subscription),
        not receives
        and (subscription.pause_reason == "organisation_cannot_receive" or subscription.status == "past_due"),
        await _unpaid(tx, partner, subscription) if subscription.status == "past_due" and receives else None,
    )


async def _unpaid(tx: Tx, partner: Partner, subscription: DonationSubscription) -> tuple[UUID, Money] | None:
    charge = await subscriptions.find_open_charge(tx, subscription.id)
    if charge is None or charge.donation_id is None:
        return None
    donation = await donations.get(tx, partner, charge.donation_id)
    return donation.id, min(donation.money, subscription.money)


def _charge_days(tx: Tx, subscription: DonationSubscription) -> dict[Frequency, date]:
    if subscription.status not in subscriptions_domain.LIVE_STATUSES:
        return {}
    change, zone = subscription.pending_change, tx.deployment.time_zone
    return {
        frequency: subscriptions_domain.next_charge_day(subscription, frequency, tx.now, zone)
        for frequency in {subscription.frequency, *([change.frequency] if change else [])}
    }


async def request_management_link(tx: Tx, subscription_id: UUID) -> bool:
    """Email a new link to a subscription's donor; False if the limit was reached. Raises NotFound."""
    subscription = await get_subscription(tx, subscription_id)
    assert subscription.email is not None, "just looked"
    partner = Partner(subscription.partner_id)
    link_id = await requested_emails.record_email_request_within_limit(
        tx, partner, "regular_donations", subscription.email
    )
    if link_id is None:
        return False
    await SEND_LINK.enqueue(tx, SendManagementLinkJob(link_id, subscription.id), unique_key=str(link_id))
    return True
