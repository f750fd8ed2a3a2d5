"""Issues and sends the receipt of a received payment, once. Jobs contain only IDs and the time of the payment."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.notifications.domain import DeliveryResult
from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import PAYMENT_SUCCESSFUL, RECEIPT_RESEND_REQUESTED
from almoner.giving.receipts import service
from almoner.giving.receipts.documents import ReceiptRenderer
from almoner.giving.subscriptions.donor_pages import service as donor_pages
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs.queue import DecodedJob, JobKind, NewJob
from almoner.platform.outbound.mail_rendering import MailRenderer


class _PaidDonation(msgspec.Struct):
    """The event's fields that are used."""

    id: str
    type: str


class SendReceiptJob(msgspec.Struct, frozen=True):
    """The donation, and when its payment was received."""

    id: UUID
    partner: UUID
    received: datetime


SEND: Final = JobKind("receipts.send", SendReceiptJob)
RESEND: Final = JobKind("receipts.resend", SendReceiptJob)


def _receipt_job(tx: Tx, event: Event) -> NewJob | None:
    """The job for a hosted donation; None for others."""
    paid = decode_event_data(event, _PaidDonation)
    donation_id = tx.ids.decode("donation", paid.id)
    if event.partner_id is None or donation_id is None or paid.type != "hosted":
        return None
    return SEND.build_job(SendReceiptJob(donation_id, event.partner_id, event.created_at), unique_key=str(donation_id))


async def compose_receipt_email(tx: Tx, mails: MailRenderer, job: DecodedJob[SendReceiptJob]) -> Email | None:
    """The receipt, issued if needed; None if the donation gets none or the donor was erased."""
    partner, donation_id = Partner(job.details.partner), job.details.id
    issued = await service.issue_receipt(tx, partner, donation_id, job.details.received)
    to, subscription_id = await service.load_receipt_email_and_subscription_id(tx, partner, donation_id)
    if issued is None or to is None:
        return None
    manage_url = donor_pages.build_management_url(tx, subscription_id) if subscription_id else None
    # A receipt that is sent late may be void by then.
    return ReceiptRenderer(mails).compose_email(await service.get(tx, donation_id), to, manage_url)


async def compose_resent_receipt_email(tx: Tx, mails: MailRenderer, job: DecodedJob[SendReceiptJob]) -> Email | None:
    """The receipt as issued, in a new email: mail programs hide a message with a known Message-ID."""
    email = await compose_receipt_email(tx, mails, job)
    return None if email is None else replace(email, idempotency_key=f"{email.idempotency_key}:{job.id}")


def _resend_receipt_job(_tx: Tx, event: Event) -> NewJob:
    """The job that resends a receipt."""
    requested = decode_event_data(event, RECEIPT_RESEND_REQUESTED.record)
    details = SendReceiptJob(requested.donation, requested.partner, event.created_at)
    return RESEND.build_job(details, unique_key=str(requested.donation))


async def record_delivery(tx: Tx, job_details: SendReceiptJob, result: DeliveryResult) -> None:
    """Record the receipt's delivery on the donation."""
    await donations.record_receipt_delivery(tx, job_details.id, result)


_TEMPLATE: Final = Path(__file__).parent / "mails" / "receipt.html"
RECEIPT: Final = NotificationDefinition(
    SEND, _TEMPLATE, compose_receipt_email, PAYMENT_SUCCESSFUL, _receipt_job, record_delivery_result=record_delivery
)
RESENT_RECEIPT: Final = NotificationDefinition(
    RESEND,
    _TEMPLATE,
    compose_resent_receipt_email,
    RECEIPT_RESEND_REQUESTED.name,
    _resend_receipt_job,
    record_delivery_result=record_delivery,
)
notifications: Final = (RECEIPT, RESENT_RECEIPT)
