"""Changes a member's name and email address."""

from typing import Any
from uuid import UUID

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import service
from almoner.access.people import service as people
from almoner.access.people.domain import Person, clean_display_name, member_realm
from almoner.access.security_emails import service as security_emails
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Partner, Tx


async def update_details(
    tx: Tx,
    partner: Partner,
    audit_context: AuditContext,
    person_id: UUID,
    *,
    name: str | None = None,
    email: str | None = None,
) -> Person:
    """Change a member's name or email address (None: unchanged); the old mailbox is notified.

    If the old address is the user name, the new one replaces it, except for people from a directory, which identifies
    them by it. Earlier emailed links become void. Raises NoSuchPerson, IncorrectParams, UserNameTaken,
    TooManyInvitations.
    """
    before = await people.get_for_update(tx, member_realm(partner), person_id)
    profile, fields = dict(before.profile), []
    named = None if name is None else clean_display_name(name) or ""
    if named is not None and named != before.display_name and (named or "displayName" in profile):
        profile.pop("displayName", None)
        profile |= {"displayName": named} if named else {}
        fields.append("name")
    if email is not None and email.strip() != (before.email or ""):
        profile |= _with_email(
            before, await service.validate_and_clean_invitation_email(tx, partner, audit_context, email)
        )
        fields.append("email")
    if not fields:
        return before
    changed = await people.update_profile(tx, before, profile)
    subject = tx.ids.encode("member", before.id)
    reported = {"changed": fields}
    await audit.record_entry(
        tx,
        partner.id,
        audit_context.actor,
        "member.changed",
        subject,
        ip_address=audit_context.ip_address,
        details=reported,
    )
    await security_emails.notify_of_account_changes(tx, before, changed)
    return changed


def _with_email(before: Person, address: str) -> dict[str, Any]:
    """The changed profile members: the address replaces the one that emails went to."""
    old = before.email
    given = [dict(one) for one in before.profile.get("emails") or ()]
    chosen = next((one for one in given if one.get("value") == old), {})
    others = [one for one in given if one is not chosen]
    for one in others:
        one.pop("primary", None)
    changed: dict[str, Any] = {"emails": [{**chosen, "value": address, "primary": True}, *others]}
    if old and before.user_name.casefold() == old.casefold() and not before.profile.get("externalId"):
        changed["userName"] = address
    return changed
