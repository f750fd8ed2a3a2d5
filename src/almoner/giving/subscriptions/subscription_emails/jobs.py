"""Emails donors about changes of their regular donations.

Jobs contain only IDs; the content is loaded when they run.
"""

from datetime import date, datetime
from pathlib import Path
from typing import Final

import msgspec

from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.access.partners import service as partners
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.subscriptions.agreements import service as agreements
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import (
    NOTICE,
    DonationSubscription,
    NoticeKind,
    SubscriptionNoticeEvent,
)
from almoner.giving.subscriptions.donor_pages import domain as donor_pages_domain
from almoner.giving.subscriptions.donor_pages import service as donor_pages
from almoner.giving.subscriptions.subscription_emails import domain
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs.queue import DecodedJob, JobKind, NewJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats
from almoner.platform.pages.translations import Language


class SendNoticeJob(msgspec.Struct, frozen=True):
    """The notification to send, and when its cause happened."""

    notice: SubscriptionNoticeEvent
    at: datetime


SEND: Final = JobKind("subscription_emails.send", SendNoticeJob)

_REASONS: Final = ("payment_failed", "revoked", "payment_method_not_saved")
"""The cancellation reasons that the donor does not know yet."""
_OPEN: Final = ("payment_failed", "authentication_needed", "change_requested", "organisation_proposed")
"""The kinds whose button has its own text."""


def _notice_job(_tx: Tx, event: Event) -> NewJob:
    notice = decode_event_data(event, NOTICE.record)
    return SEND.build_job(SendNoticeJob(notice, event.created_at), unique_key=str(event.id))


async def compose_notice_email(tx: Tx, mails: MailRenderer, job: DecodedJob[SendNoticeJob]) -> Email | None:
    """The email of a notice; None if it is no longer true or the donor was erased."""
    notice = job.details.notice
    due_on = date.fromisoformat(notice.due_on) if notice.due_on else None
    partner = Partner(notice.partner)
    subscription = await subscriptions.get(tx, partner, notice.subscription)
    if subscription.email is None or not domain.is_notice_current(subscription, notice.kind, due_on):
        return None
    if (
        notice.kind == "organisation_proposed"
        and await subscriptions.find_proposed_successor_id(tx, subscription) is None
    ):
        return None
    language = mails.language_for_tag(subscription.language)
    facts = {
        "kind": notice.kind,
        "name": formats.greeting_name(subscription.first_name or "", subscription.last_name or "", language.locale),
        "text": domain.TEXTS.get(notice.kind, f"regular.mail.{notice.kind}.text"),
        "open": f"regular.mail.{notice.kind}.open" if notice.kind in _OPEN else "regular.mail.open",
        "reason": _reason(subscription, notice.kind),
        "on": due_on or job.details.at,
        "retry_on": await _retry_day(tx, subscription) if notice.kind == "payment_failed" else None,
        "ended": subscription.status == "cancelled",
        "link": donor_pages.build_management_url(tx, subscription.id),
        **await _names(tx, partner, subscription, notice.kind),
        **await _agreement(tx, subscription, notice.kind, job.details.at),
    }
    facts["facts"] = _rows(mails, language, subscription, str(facts["organisation"]))
    facts["every"] = _proposed(subscription, language)
    return Email(
        subscription.email,
        f"regular:{job.id}",
        facts,
        subscription.language,
        subscription.partner_id,
        at=job.details.at,
    )


async def _retry_day(tx: Tx, subscription: DonationSubscription) -> date | None:
    """The day on which the card is charged again without the donor; None if it is not."""
    charge = await subscriptions.find_open_charge(tx, subscription.id)
    if charge is None or charge.next_attempt_at is None or not subscription.chargeable:
        return None
    return tx.deployment.date_in_issuer_time_zone(charge.next_attempt_at)


async def _names(tx: Tx, partner: Partner, subscription: DonationSubscription, kind: NoticeKind) -> dict[str, str]:
    """The names of the nonprofit, of the proposed one if the donor is asked about it, and of the earlier one."""
    former = (await hosted_page.load_profile_of_organisation(tx, partner, subscription.organisation_id)).name
    if subscription.proposed_organisation_id is None or kind != "organisation_proposed":
        organisation = former
    else:
        organisation = (
            await hosted_page.load_profile_of_organisation(tx, partner, subscription.proposed_organisation_id)
        ).name
    name = (await partners.get(tx, partner)).name
    return {"organisation": organisation, "former": former, "partner": name}


async def _agreement(tx: Tx, subscription: DonationSubscription, kind: NoticeKind, at: datetime) -> dict[str, object]:
    """The agreement that the donor has just made."""
    found = await subscriptions.find_accepted_agreement(tx, subscription.id)
    if found is None or (kind != "begun" and found.agreed_at != at):
        return {"agreement": None}
    return {"agreement": found.agreement, "agreed_at": found.agreed_at}


def _reason(subscription: DonationSubscription, kind: NoticeKind) -> str | None:
    if kind == "organisation_proposed":
        return "regular.move.text"
    if kind == "cancelled" and subscription.cancellation_reason in _REASONS:
        return f"regular.mail.cancelled.{subscription.cancellation_reason}"
    return None


def _proposed(subscription: DonationSubscription, language: Language) -> str:
    """The amount and frequency that a partner requests, else the current ones: ``$25.00 every month``."""
    change = subscription.pending_change
    money, frequency = (
        (subscription.money, subscription.frequency) if change is None else (change.money, change.frequency)
    )
    return agreements.format_amount_and_frequency(money, frequency, language)


def _rows(
    mails: MailRenderer, language: Language, subscription: DonationSubscription, organisation: str
) -> list[tuple[str, str]]:
    """Label and value of each current fact."""
    rows = [
        ("receipt.organisation", organisation),
        (
            "receipt.amount",
            agreements.format_amount_and_frequency(subscription.money, subscription.frequency, language),
        ),
    ]
    if subscription.status in ("active", "past_due") and subscription.next_due_on is not None:
        rows.append(("regular.next", formats.format_day(subscription.next_due_on, language.locale)))
    if subscription.status == "paused" and subscription.paused_until is not None:
        rows.append(("regular.until", mails.format_day(subscription.paused_until, language)))
    if subscription.payment_method is not None and subscription.status != "cancelled":
        rows.append(("regular.card", donor_pages_domain.card_label(subscription.payment_method)))
    return rows


notifications: Final = (
    NotificationDefinition(
        SEND, Path(__file__).parent / "mails" / "notice.html", compose_notice_email, NOTICE.name, _notice_job
    ),
)
