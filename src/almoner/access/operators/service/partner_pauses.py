"""Pauses and resumes partners; audited, with an email to their owners."""

from almoner.access.credentials.domain import AuditContext
from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.access.security_emails import service as security_emails
from almoner.access.security_emails.domain import Kind
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Partner, Tx


async def pause(tx: Tx, audit_context: AuditContext, partner: Partner, reason: str) -> PartnerAccount:
    """Pause donations through a partner. Raises NoSuchPartner, PauseStateConflict, IncorrectParams."""
    account = await partners.pause(tx, partner, reason)
    reason = account.pause_reason or ""
    await _record(tx, audit_context, partner, "partner.paused", reason=reason)
    await _email_owners(tx, partner, "partner_paused", Reason=reason)
    return account


async def resume(tx: Tx, audit_context: AuditContext, partner: Partner) -> PartnerAccount:
    """Resume donations through a partner. Raises NoSuchPartner, PauseStateConflict."""
    account = await partners.resume(tx, partner)
    await _record(tx, audit_context, partner, "partner.resumed")
    await _email_owners(tx, partner, "partner_resumed")
    return account


async def _record(tx: Tx, by: AuditContext, partner: Partner, action: str, **details: str) -> None:
    subject = tx.ids.encode("partner", partner.id)
    await audit.record_entry(
        tx, partner.id, by.actor, action, subject, ip_address=by.ip_address, details=details or None
    )


async def _email_owners(tx: Tx, partner: Partner, kind: Kind, **facts: str) -> None:
    for owner in await people.list_with_any_role(tx, member_realm(partner), "owner"):
        await security_emails.enqueue_email(tx, owner, kind, detail_lines=facts)
