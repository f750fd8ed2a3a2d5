"""Emails the person to whom a donor dedicated a donation, once it is paid."""

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.dedications import domain, store
from almoner.giving.checkout.dedications.domain import DedicationEmail
from almoner.giving.checkout.dedications.store import delete as delete
from almoner.giving.checkout.dedications.store import find as find
from almoner.giving.requested_emails import service as requested_emails
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.queue import JobKind

_BATCH: Final = 1000


class SendDedicationEmailJob(msgspec.Struct, frozen=True):
    """The donation, and the hashed address by which emails are limited."""

    email: UUID
    partner: UUID
    donation: UUID


SEND: Final = JobKind("dedications.send", SendDedicationEmailJob)


async def set_dedication_email(
    tx: Tx, partner: Partner, donation_id: UUID, dedication_email: DedicationEmail | None
) -> None:
    """Store the dedication of an unpaid donation, replacing an earlier one."""
    if dedication_email is None:
        await store.delete(tx, partner, donation_id)
    else:
        await store.upsert(tx, partner, donation_id, dedication_email)


async def enqueue_dedication_email(tx: Tx, partner: Partner, donation_id: UUID) -> None:
    """Enqueue the email for a paid donation, unless the recipient has reached the limit."""
    if (email := await store.find(tx, partner, donation_id)) is None:
        return
    email_id = await requested_emails.record_email_request_within_limit(
        tx, partner, "dedication", email.recipient_email
    )
    if email_id is None:
        await store.delete(tx, partner, donation_id)
    else:
        await SEND.enqueue(tx, SendDedicationEmailJob(email_id, partner.id, donation_id), unique_key=str(donation_id))


async def next_recipient_deletion_at(tx: Tx) -> datetime | None:
    """When the next stored recipient is deleted."""
    oldest = await store.find_oldest_dedication_email_at(tx)
    return None if oldest is None else oldest + domain.KEPT_FOR


async def delete_old_recipients(tx: Tx, limit: int = _BATCH) -> int:
    """Delete dedication emails of donations that were not paid; returns how many."""
    return await store.delete_old_recipients(tx, tx.now - domain.KEPT_FOR, limit)
