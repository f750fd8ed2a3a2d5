"""Declared emails, and undeliverable ones.

A slice declares what triggers an email and how it is composed from records; ``jobs.py`` here does the rest::

RECEIPT = NotificationDefinition(SEND, _TEMPLATE, compose_receipt_email, PAYMENT_SUCCESSFUL, _receipt_job)

async def compose_receipt_email(tx: Tx, mails: MailRenderer, job: DecodedJob[SendReceiptJob]) -> Email | None: ...

The template's blocks are ``subject``, ``content`` and ``why``: why the reader gets it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar
from uuid import UUID

import msgspec

from almoner.access.notifications import store
from almoner.access.notifications.domain import (
    RETENTION,
    DeliveryResult,
    NoSuchUndeliverableEmail,
    UndeliverableEmail,
)
from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.events.outbox import Event
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import DecodedJob, JobKind, NewJob
from almoner.platform.outbound.mail import Attachment, Mail
from almoner.platform.outbound.mail_rendering import MailBrand, MailRenderer
from almoner.platform.outbound.mailing import RETRY_FOR_DAYS, MailRetryPolicy

BATCH = 1000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Email:
    """One email, composed in a transaction.

    ``idempotency_key``: identifies the email, so that it is sent only once. ``template_values``: values for the
    template, unescaped. ``partner_id``: the partner whose branding it has; None for the deployment's. ``sender_name``:
    the sender name, if it is not the brand's name. ``at``: the time that the email is about. ``create_attachment``:
    creates the attachment.
    """

    to: str
    idempotency_key: str
    template_values: Mapping[str, object]
    language: str | None = None
    partner_id: UUID | None = None
    sender_name: str | None = None
    at: datetime | None = None
    create_attachment: Callable[[], Awaitable[Attachment]] | None = None


@dataclass(frozen=True, slots=True)
class EmailPreview:
    """An email before it is sent. ``requested_language``: the tag of its record, for which there may be no texts."""

    mail: Mail
    requested_language: str | None


@dataclass(frozen=True, slots=True)
class NotificationDefinition(Generic[T]):
    """An email, as its slice declares it.

    ``compose``: creates the email of a job; None if the email is no longer needed. Its transaction may write.
    ``event_type``: the event type that triggers it, with its job from ``build_job_for_event``; without an event, the
    slice enqueues the job itself. ``record_delivery_result``: stores the result in the transaction that ends the job.
    """

    job_kind: JobKind[T]
    template: Path
    compose: Callable[[Tx, MailRenderer, DecodedJob[T]], Awaitable[Email | None]]
    event_type: str | None = None
    build_job_for_event: Callable[[Tx, Event], NewJob | None] | None = None
    retry_policy: MailRetryPolicy = RETRY_FOR_DAYS
    record_delivery_result: Callable[[Tx, T, DeliveryResult], Awaitable[None]] | None = None


class RecordReference(msgspec.Struct, frozen=True):
    """The payload of an email job that needs a single record."""

    id: UUID


async def load_email_brand(tx: Tx, mails: MailRenderer, email: Email) -> MailBrand:
    """The partner's branding in the reader's language, else the deployment's."""
    if email.partner_id is None:
        return mails.deployment_brand()
    partner = await partners.get(tx, Partner(email.partner_id))
    name = email.sender_name or partner.name
    return mails.build_partner_brand(name, partner.name, partner.brand_colour, partner.brand_logo, partner.public_links)


def render_email(
    mails: MailRenderer,
    template: str,
    email: Email,
    brand: MailBrand,
    at: datetime,
    attachments: Sequence[Attachment] = (),
) -> Mail:
    """Render an email as the recipient gets it."""
    return mails.render_mail(
        template,
        mails.language_for_tag(email.language),
        email.template_values,
        brand=brand,
        deduplication_key=email.idempotency_key,
        at=email.at or at,
        partner_id=email.partner_id,
        to=email.to,
        attachments=attachments,
    )


async def list_undeliverable_emails(
    tx: Tx, limit: int, before: UUID | None = None, *, rejected: bool | None = None
) -> Sequence[UndeliverableEmail]:
    """Emails that could not be delivered, newest first; ``before``: the last ID seen.

    ``rejected``: True for emails that a mail server rejected, False for the others, None for all.
    """
    return await store.list_newest_undeliverable_emails(tx, limit, before, rejected=rejected)


async def get_undeliverable_email(tx: Tx, email_id: UUID) -> UndeliverableEmail:
    """Get one undeliverable email. Raises NoSuchUndeliverableEmail."""
    if (found := await store.find_undeliverable_email(tx, email_id)) is None:
        raise NoSuchUndeliverableEmail
    return found


async def count_undeliverable_emails(tx: Tx, max_count: int) -> int:
    """Count undeliverable emails, up to ``max_count``."""
    return await store.count_undeliverable_emails(tx, max_count)


async def resend_email(tx: Tx, email_id: UUID) -> None:
    """Send an undeliverable email again, composed from current data. Raises NoSuchUndeliverableEmail."""
    if (job := await store.delete_undeliverable_email_and_return_job(tx, email_id)) is None:
        raise NoSuchUndeliverableEmail
    await queue.enqueue_job(tx, job.kind, job.payload)


async def next_undeliverable_email_deletion_at(tx: Tx) -> datetime | None:
    """When the oldest undeliverable email is deleted."""
    oldest = await store.find_oldest_undeliverable_at(tx)
    return None if oldest is None else oldest + RETENTION


async def delete_expired_undeliverable_emails(tx: Tx, limit: int = BATCH) -> int:
    """Delete old undeliverable emails; returns how many."""
    return await store.delete_undeliverable_emails(tx, tx.now - RETENTION, limit)
