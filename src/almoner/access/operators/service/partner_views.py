"""Starts, finds and ends operators' views of partners' pages."""

from almoner.access.credentials.domain import AuditContext
from almoner.access.operators import domain
from almoner.access.operators import store_partner_views as store
from almoner.access.operators.domain import PartnerViewSession
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, Person, member_realm
from almoner.access.security_emails import service as security_emails
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Partner, Tx


async def begin_partner_view(
    tx: Tx, audit_context: AuditContext, operator: Person, partner: Partner, reason: str
) -> PartnerViewSession:
    """Start an operator's view for ``VIEW_LIFETIME``, and email the partner's owners. Raises IncorrectParams."""
    told = " ".join(reason.split())
    if not domain.SHORTEST_VIEW_REASON <= len(told) <= domain.LONGEST_VIEW_REASON:
        raise IncorrectParams(f"reason: enter {domain.SHORTEST_VIEW_REASON} to {domain.LONGEST_VIEW_REASON} characters")
    await store.end_partner_views(tx, OPERATORS, partner, operator.id)
    started = tx.real_now
    view = PartnerViewSession(tx.new_id(), partner.id, operator.id, told, started, started + domain.VIEW_LIFETIME)
    await store.insert_partner_view(tx, view)
    await _record(tx, audit_context, partner, "partner.viewed", reason=told)
    facts = {
        "Operator": operator.display_name,
        "Reason": told,
        "From": f"{view.started_at:%Y-%m-%d %H:%M} UTC",
        "Until": f"{view.expires_at:%Y-%m-%d %H:%M} UTC at the latest",
    }
    for owner in await people.list_with_any_role(tx, member_realm(partner), "owner"):
        await security_emails.enqueue_email(tx, owner, "partner_viewed", detail_lines=facts)
    return view


async def find_active_partner_view(tx: Tx, operator: Person, partner: Partner) -> PartnerViewSession | None:
    """The operator's open view of the partner; None without the administrator role."""
    if not operator.has_role("administrator"):
        return None
    return await store.find_active_partner_view(tx, OPERATORS, partner, operator.id)


async def end_partner_view(tx: Tx, audit_context: AuditContext, operator: Person, partner: Partner) -> None:
    """End an operator's view of a partner's pages; does nothing if it has ended."""
    if await store.end_partner_views(tx, OPERATORS, partner, operator.id):
        await _record(tx, audit_context, partner, "partner.view_ended")


async def _record(tx: Tx, by: AuditContext, partner: Partner, action: str, **details: str) -> None:
    subject = tx.ids.encode("partner", partner.id)
    await audit.record_entry(
        tx, partner.id, by.actor, action, subject, ip_address=by.ip_address, details=details or None
    )
