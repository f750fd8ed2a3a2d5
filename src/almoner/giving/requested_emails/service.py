"""Limits how often visitors of pages can have an email sent to an address."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.requested_emails import domain, store
from almoner.giving.requested_emails.domain import EmailPurpose
from almoner.platform.database.transactions import Partner, Tx

_BATCH: Final = 1000


async def record_email_request_within_limit(tx: Tx, partner: Partner, purpose: EmailPurpose, email: str) -> UUID | None:
    """Record that an email is to be sent; returns its ID, or None if the limit was reached."""
    recipient_hash = tx.vault.compute_keyed_hash("requested-email", partner.id.bytes + email.lower().encode())
    await store.lock_recipient(tx, recipient_hash)
    since = tx.real_now - domain.EMAILS_WITHIN
    if await store.count_requests_since(tx, partner, purpose, recipient_hash, since) >= domain.MAX_EMAILS:
        return None
    return await store.insert(tx, partner, purpose, recipient_hash)


async def find_request_time(tx: Tx, email_id: UUID) -> datetime | None:
    """When an email was requested (real time); None if it must not be sent any more."""
    requested = await store.find_request_time(tx, email_id)
    return requested if requested is not None and tx.real_now < requested + domain.EMAILS_WITHIN else None


async def next_request_deletion_at(tx: Tx) -> datetime | None:
    """When the next records are a day old and due for deletion."""
    oldest = await store.find_oldest_email_request_at(tx)
    return tx.now if oldest is not None and oldest <= tx.real_now - domain.EMAILS_WITHIN else None


async def delete_expired_requests(tx: Tx, limit: int = _BATCH) -> int:
    """Delete records that are a day old; returns how many."""
    return await store.delete_old_requests(tx, tx.real_now - domain.EMAILS_WITHIN, limit)
