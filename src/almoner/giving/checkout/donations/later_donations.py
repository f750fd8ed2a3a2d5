"""The donation of a subscription's due date, and its off-session charges. The subscription is locked."""

from dataclasses import replace
from datetime import date
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.donations import domain, schemas, store
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.checkout.payments import service as payments
from almoner.giving.gift_aid.declarations import domain as gift_aid_declarations_domain
from almoner.giving.gift_aid.declarations import service as gift_aid_declarations
from almoner.giving.subscriptions.donation_subscriptions.domain import DonationSubscription
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs.queue import JobKind

_DEFAULT_LANGUAGE: Final = "en"


class ChargeOrResumeInterruptedPaymentJob(msgspec.Struct, frozen=True):
    """The payment attempt to finish."""

    payment: UUID


FINISH_PAYMENT: Final = JobKind("donations.finish_payment", ChargeOrResumeInterruptedPaymentJob)


async def create_subscription_donation(tx: Tx, subscription: DonationSubscription, due_on: date) -> Donation:
    """Create the donation of a date. Raises UniqueViolationError if the date has one."""
    gift_aid_id = await _covering_declaration(tx, subscription)
    donation = domain.new_subscription_donation(tx.new_id(), subscription, due_on, tx.now, gift_aid_id)
    first = await store.find_uncancelled_by_session(tx, subscription.session_id)
    if first is not None and first.organisation_id == subscription.organisation_id:
        donation = replace(donation, designation=first.designation, giving_link_id=first.giving_link_id)
    await store.insert(tx, Partner(subscription.partner_id), donation)
    await outbox.emit_event(tx, subscription.partner_id, domain.CREATED, schemas.donation_response(tx, donation))
    return donation


async def _covering_declaration(tx: Tx, subscription: DonationSubscription) -> UUID | None:
    """The declaration made when the subscription started, which covers its later donations; else the user's."""
    partner = Partner(subscription.partner_id)
    if subscription.money.currency != gift_aid_declarations_domain.CURRENCY:
        return None
    declared = await store.find_declaration_id_of_first_donation(tx, partner, subscription.session_id)
    if declared is not None and await gift_aid_declarations.does_declaration_still_cover_donations(
        tx, partner, declared, subscription.organisation_id
    ):
        return declared
    if subscription.user_id is None:
        return None
    organisation = await organisations.get(tx, partner, subscription.organisation_id)
    if not gift_aid_declarations_domain.is_eligible_for_gift_aid(subscription.money.currency, organisation):
        return None
    return await gift_aid_declarations.find_covering_declaration_id(tx, partner, subscription.user_id, tx.now)


async def lower_donation_to_subscription_amount(
    tx: Tx, donation: Donation, subscription: DonationSubscription
) -> Donation:
    """Lower an unpaid donation to the subscription's current amount; a higher one applies from the next date."""
    if not subscription.money < donation.money:
        return donation
    await store.update_amount(tx, donation.id, subscription.money.minor, subscription.cover_minor)
    return replace(donation, money=subscription.money, cover_minor=subscription.cover_minor)


async def enqueue_off_session_charge(
    tx: Tx, subscription: DonationSubscription, donation: Donation, description: str
) -> None:
    """Charge a donation to the subscription's payment method, right after the commit."""
    assert subscription.provider is not None, "asked of plans that can be charged"
    payment = await payments.create_payment_attempt(
        tx,
        subscription.provider,
        donation.id,
        donation.money,
        description,
        subscription.language or _DEFAULT_LANGUAGE,
        1,
        off_session=True,
    )
    await FINISH_PAYMENT.enqueue(tx, ChargeOrResumeInterruptedPaymentJob(payment.id))
