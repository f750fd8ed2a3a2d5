"""Composes emails to donors about bank transfers, refunds and reassignments. Jobs contain only an ID."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.notifications.service import Email, NotificationDefinition, RecordReference
from almoner.access.partners import service as partners
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import SENT, Refund
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import REFUNDED
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.bank_transfers.domain import CONFIRMED, BankDetails
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import REASSIGNED, Donation
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import PAGE_PURPOSE as SESSION_PURPOSE
from almoner.giving.receipts import service as receipts
from almoner.giving.receipts.domain import PAGE_PURPOSE
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs.queue import DecodedJob, JobKind, NewJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats

MAILS: Final = Path(__file__).parent / "mails"


class _Reassigned(msgspec.Struct):
    """The event's fields that are used."""

    id: str
    type: str


async def _email(
    tx: Tx, mails: MailRenderer, donation: Donation, key: str, organisation_id: UUID, link: str, **facts: object
) -> Email | None:
    """An email to the donor, in the session's language; None for a direct donation or an unknown donor.

    ``link``: the purpose of the token in its link. Amounts are formatted.
    """
    if donation.session_id is None or donation.email is None:
        return None
    partner = Partner(donation.partner_id)
    session = await sessions.get(tx, partner, donation.session_id)
    locale = mails.language_for_tag(session.language).locale
    opened = session.id if link == SESSION_PURPOSE else donation.id
    shown = {
        "organisation": (await hosted_page.load_profile_of_organisation(tx, partner, organisation_id)).name,
        "name": formats.greeting_name(donation.first_name or "", donation.last_name or "", locale),
        "reference": tx.ids.encode("donation", donation.id),
        "link": f"{tx.base_urls.pages}/{link}?token={tx.vault.create_page_token(link, opened)}",
        **{
            name: formats.format_money(fact.minor, fact.currency, locale) if isinstance(fact, Money) else fact
            for name, fact in facts.items()
        },
    }
    return Email(donation.email, key, shown, session.language, donation.partner_id)


async def compose_bank_transfer_instructions_email(
    bank_details_by_currency: Mapping[str, BankDetails], tx: Tx, mails: MailRenderer, job: DecodedJob[RecordReference]
) -> Email | None:
    """The email with the transfer details; None if the transfer is no longer awaited."""
    donation = await donations.get(tx, ALL_PARTNERS, job.details.id)
    payment = await bank_transfers.find_awaited_transfer_payment(tx, donation)
    pay_to = bank_details_by_currency.get(donation.money.currency)
    if payment is None or pay_to is None:
        return None
    transfer = bank_transfers.build_awaited_transfer(payment, donation, pay_to)
    if transfer.expires_at is None:
        return None
    return await _email(
        tx,
        mails,
        donation,
        f"transfer:{donation.id}",
        donation.organisation_id,
        SESSION_PURPOSE,
        amount=transfer.money,
        holder=pay_to.holder,
        numbers=[*pay_to.display_rows, ("transfer.reference", transfer.formatted_reference)],
        until=transfer.expires_at,
    )


async def compose_unallocated_payment_refund_email(
    tx: Tx, mails: MailRenderer, job: DecodedJob[RecordReference]
) -> Email | None:
    """The email about the refund of an unallocated payment, with amount and reason."""
    held = await suspense.get(tx, job.details.id)
    if held.donation_id is None:
        return None
    donation = await donations.get(tx, ALL_PARTNERS, held.donation_id)
    return await _email(
        tx,
        mails,
        donation,
        f"refund:{held.id}",
        donation.organisation_id,
        SESSION_PURPOSE,
        amount=held.money,
        why=f"refund.why.{held.reason.value}",
    )


async def compose_refund_email(tx: Tx, mails: MailRenderer, job: DecodedJob[RecordReference]) -> Email | None:
    """The email about a refund and the changed receipt.

    Partners that collected the money notify their donors themselves.
    """
    refund = await refunds.get(tx, job.details.id)
    donation = await donations.get(tx, ALL_PARTNERS, refund.donation_id)
    whose = await reassignments.load_organisation_id_of_donation_at(tx, donation, refund.ended_at or job.due_at)
    left = await _remaining_then(tx, refund, donation)
    return await _email(
        tx,
        mails,
        donation,
        f"gift_refund:{refund.id}",
        whose,
        PAGE_PURPOSE,
        amount=refund.money,
        left=Money(left, donation.money.currency) if left else None,
    )


async def _remaining_then(tx: Tx, refund: Refund, donation: Donation) -> int:
    """The amount left after this refund, in minor units; independent of when the email is sent."""
    sent = [one for one in await refunds.list_by_donation(tx, donation.id) if one.status == "sent" and one.ended_at]
    gone = sum(one.money.minor for one in sent if (one.ended_at, one.id) <= (refund.ended_at, refund.id))
    return donation.money.minor - gone


async def compose_reassignment_email(tx: Tx, mails: MailRenderer, job: DecodedJob[RecordReference]) -> Email | None:
    """The email about a reassignment, with the reason and the donor's options; None after a full refund."""
    donation = await donations.get(tx, ALL_PARTNERS, job.details.id)
    created = await reassignments.find_newest(tx, donation.id)
    stored = donation.money - donation.refunded.money if donation.refunded else donation.money
    if created is None or not stored:
        return None
    partner = Partner(donation.partner_id)
    return await _email(
        tx,
        mails,
        donation,
        f"reassigned:{created.id}",
        created.to_organisation_id,
        PAGE_PURPOSE,
        amount=stored,
        former=(await hosted_page.load_profile_of_organisation(tx, partner, created.from_organisation_id)).name,
        issuer=await _issuer(tx, partner, donation),
        on=donation.reassigned_at or job.due_at,
        why=f"reassigned.why.{created.ground or 'unknown'}",
    )


async def _issuer(tx: Tx, partner: Partner, donation: Donation) -> str:
    """The name of whom the donor can write to: the receipt's issuer."""
    try:
        return (await receipts.get(tx, donation.id)).issuer
    except NotFound:
        return (await partners.get(tx, partner)).name


def _about(kind: JobKind[RecordReference], record_id: UUID) -> NewJob:
    return kind.build_job(RecordReference(record_id), unique_key=str(record_id))


def _reassignment_job(tx: Tx, event: Event) -> NewJob | None:
    """The email job for a reassigned hosted donation; partners notify the donors of direct donations themselves."""
    given = decode_event_data(event, _Reassigned)
    donation_id = tx.ids.decode("donation", given.id)
    return _about(REASSIGNMENT, donation_id) if donation_id is not None and given.type == "hosted" else None


TRANSFER: Final = JobKind("donor_emails.transfer", RecordReference)
UNALLOCATED_REFUND: Final = JobKind("donor_emails.unallocated_refund", RecordReference)
REFUND: Final = JobKind("donor_emails.refund", RecordReference)
REASSIGNMENT: Final = JobKind("donor_emails.reassignment", RecordReference)


def build_notifications(
    bank_details_by_currency: Mapping[str, BankDetails],
) -> tuple[NotificationDefinition[RecordReference], ...]:
    """The emails. ``bank_details_by_currency``: our bank accounts by currency."""
    return (
        NotificationDefinition(
            TRANSFER,
            MAILS / "transfer.html",
            partial(compose_bank_transfer_instructions_email, bank_details_by_currency),
            CONFIRMED.name,
            lambda _, event: _about(TRANSFER, decode_event_data(event, CONFIRMED.record).donation),
        ),
        NotificationDefinition(
            UNALLOCATED_REFUND,
            MAILS / "refund.html",
            compose_unallocated_payment_refund_email,
            REFUNDED.name,
            lambda _, event: _about(UNALLOCATED_REFUND, decode_event_data(event, REFUNDED.record).held),
        ),
        NotificationDefinition(
            REFUND,
            MAILS / "gift_refund.html",
            compose_refund_email,
            SENT.name,
            lambda _, event: _about(REFUND, decode_event_data(event, SENT.record).refund),
        ),
        NotificationDefinition(
            REASSIGNMENT, MAILS / "reassigned.html", compose_reassignment_email, REASSIGNED, _reassignment_job
        ),
    )
