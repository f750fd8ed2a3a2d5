"""Texts for the audit log: who did what, and to whom."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from almoner.access.accounts.domain import ROLE_NAMES
from almoner.access.keys import service as keys
from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.platform.audit.log import Entry
from almoner.platform.database.transactions import Partner, Tx

ACTION_LABELS: Final = {
    "signed_in": "signed in",
    "signed_out": "signed out",
    "sign_in.refused": "sign-in attempt failed",
    "sign_in.revoked": "revoked sessions",
    "reset.asked": "requested a password reset",
    "password.changed": "changed their password",
    "authenticator.shown": "viewed the setup key for a new authenticator app",
    "authenticator.added": "added an authenticator app",
    "authenticator.removed": "removed the authenticator app",
    "recovery_codes.made": "generated recovery codes",
    "passkey.added": "added a passkey",
    "passkey.removed": "removed a passkey",
    "passkey.count_went_back": "signed in with a passkey that may have been copied",
    "second_factor.reset": "reset all sign-in methods",
    "identity.bound": "connected an SSO account",
    "identity.unbound": "disconnected an SSO account",
    "member.invited": "invited a member",
    "member.invited_again": "resent an invitation",
    "invitation.shown": "viewed an invitation",
    "member.roles_changed": "changed member roles",
    "member.changed": "changed a name or email address",
    "member.preferences_changed": "chose a language and time zone",
    "member.deactivated": "deactivated a member",
    "member.activated": "reactivated a member",
    "member.removed": "removed a member",
    "group.mapped": "changed the role of a group",
    "key.made": "created an API key",
    "key.rotated": "rotated an API key",
    "key.revoked": "revoked an API key",
    "provider.set": "set up SSO",
    "provider.changed": "changed the SSO settings",
    "provider.removed": "removed SSO",
    "audit.proof_started": "started a proof of the audit log",
    "audit.downloaded": "downloaded the audit log",
    "partner.added": "added the partner",
    "partner.viewed": "began to view the partner's pages, read only",
    "partner.view_ended": "stopped viewing the partner's pages",
    "partner.branded": "changed the brand colour or logo",
    "month.closed": "closed a month",
    "partner.support_refunds_limited": "changed how much support may refund",
    "partner.links_set": "changed the links of hosted pages",
    "partner.giving_set": "changed the donation settings",
    "partner.scim_set": "switched SCIM on or off",
    "partner.issuer_named": "changed the receipt issuer",
    "saved_view.created": "saved a view of a list",
    "saved_view.renamed": "renamed a saved view",
    "saved_view.deleted": "deleted a saved view",
    "operator.invited": "invited an operator",
    "operator.invited_again": "resent an operator invitation",
    "operator.roles_changed": "changed operator roles",
    "operator.changed": "changed an operator's name or email address",
    "two_people.set": "changed whether decisions need two operators",
    "operator.deactivated": "deactivated an operator",
    "operator.activated": "reactivated an operator",
    "operator_token.made": "created an operator token",
    "operator_token.revoked": "revoked an operator token",
    "verification.approve": "gave the first approval of a verification",
    "verification.approved": "approved a verification",
    "verification.rejected": "rejected a verification",
    "verification.reopened": "reopened a verification",
    "verification.asked": "asked the nonprofit to confirm a verification",
    "verification.answered": "answered whether the nonprofit accepts donations",
    "verification.flag_looked_at": "reviewed a flag on a verification",
    "review.shown": "viewed the evidence of a validation",
    "review.document_shown": "viewed a document of a validation",
    "review.released": "released a validation from review",
    "review.prolonged": "held a validation for longer",
    "review.handed_over": "handed a validation over to another reviewer",
    "review.noted": "wrote a note on a validation",
    "review.conflict_declared": "declared a conflict of interest about a validation",
    "review.second_look": "gave a second look at a decided validation",
    "review.reopened": "reopened a validation decision",
    "review.accepted": "accepted a validation",
    "review.rejected": "rejected a validation",
    "donation.reassigned": "reassigned a donation to another nonprofit",
    "gift_aid.cancelled": "recorded the cancellation of a Gift Aid declaration",
    "gift_aid_claim.drafted": "drafted a Gift Aid claim",
    "gift_aid_claim.written": "generated the donor schedule of a Gift Aid claim",
    "gift_aid_claim.submitted": "recorded the submission of a Gift Aid claim to HMRC",
    "gift_aid_claim.paid": "recorded the payment of a Gift Aid claim by HMRC",
    "gift_aid_claim.rejected": "recorded the rejection of a Gift Aid claim by HMRC",
    "gift_aid_claim.withdrawn": "withdrew a Gift Aid claim",
    "requests.run": "requested payment of direct donations from partners",
    "request.received": "recorded a transfer for a donation request",
    "request.overpayment_applied": "applied an overpayment to another donation request",
    "request.overpayment_returned": "recorded the return of an overpayment",
    "payouts.run": "ran the disbursements",
    "payouts.held": "placed a hold on disbursements to a nonprofit",
    "payouts.release": "gave the first approval to release a hold on disbursements",
    "payouts.released": "released a hold on disbursements to a nonprofit",
    "payment_file.made": "created a payment file",
    "payment_file.released": "released a payment file",
    "payment_file.written": "regenerated a payment file",
    "payment_file.withdrawn": "withdrew a payment file",
    "payment_file.answered": "recorded the bank's response to a payment file",
    "bank_statement.uploaded": "uploaded a bank statement",
    "bank_statement.discarded": "discarded an uploaded bank statement",
    "ledger.exported": "exported the ledger",
    "bank_statement.imported": "imported a bank statement",
    "bank_statement_line.assigned": "matched a bank statement line",
    "bank_statement_line.dismissed": "dismissed a bank statement line",
    "settlement.explained": "explained why a provider payout did not arrive",
    "bank_statement.explained": "explained a gap in the bank statements",
    "receipt_donee.proposed": "proposed who legally receives a partner's donations",
    "receipt_donee.approved": "approved who legally receives a partner's donations",
    "receipt_donee.ended": "ended who legally receives a partner's donations",
    "payee.proposed": "proposed a bank account for a nonprofit",
    "payee.approved": "approved a bank account",
    "payee.denied": "reported that a bank account does not belong to the nonprofit",
    "payee.refused": "rejected a bank account",
    "payouts.confirm": "gave the first confirmation that a disbursement arrived",
    "payout.confirmed": "confirmed that a disbursement arrived",
    "payout.returned": "recorded the return of a disbursement",
    "payout.remittance": "generated the remittance statement of a disbursement",
    "giving_link.refused": "stopped donations by giving links to a nonprofit",
    "giving_link.allowed": "allowed donations by giving links to a nonprofit",
    "dispute.won": "recorded that a dispute was won",
    "dispute.lost": "recorded that a dispute was lost",
    "dispute.asked": "requested the status of a dispute from the payment provider",
    "unallocated_payment.refunded": "refunded an unallocated payment",
    "unallocated_payment.dismissed": "wrote off an unallocated payment",
    "unallocated_payment.accepted": "applied an unallocated payment to a donation",
    "refund.begun": "refunded a donation",
    "receipt.resent": "sent a receipt again",
    "refund.sent_by_hand": "recorded a manual refund",
    "refund.refused": "recorded that a refund will not be sent",
    "refund.let_rest": "closed a rejected refund",
    "refund.asked_again": "retried a refund with the payment provider",
    "email.resent": "resent an email that could not be delivered",
    "job.retried": "retried a job that gave up",
    "job.kind_retried": "retried all jobs of a kind that gave up",
    "job.dropped": "dropped a job that gave up",
    "selfcheck.started": "started a self-check",
    "backup.recorded": "recorded a backup",
    "settlement.imported": "imported a settlement report",
    "settlement_line.cleared": "cleared a settlement line",
    "agent_verification.confirmed": "confirmed the email address of an agent",
    "regular_donation.changed": "changed a regular donation on its page",
    "regular_donation.link_requested": "requested a link to their regular donations",
    "statement.asked": "requested a donation statement",
    "agent_verification.answered": "answered whether an agent represents the nonprofit",
    "application.saved": "saved a step of an application form",
    "application.document_added": "uploaded a document to an application form",
    "application.document_removed": "removed a document from an application form",
    "application.handed_over": "shared an application form with a colleague",
    "application.evidence_added": "uploaded a document to an application",
    "application.email_corrected": "corrected the email address of an agent",
    "application.confirmation_mailed": "resent the confirmation email of an agent",
    "application.number_corrected": "corrected a registration number",
    "application.language_chosen": "changed the language of a status page",
    "application.link_mailed": "requested a new status page link",
    "application.appealed": "appealed against a decision",
    "application.sent": "submitted an application form",
    "organisation.contact_recorded": "recorded an official contact of an organisation",
    "organisation.branded": "changed the branding of an organisation",
    "organisation.published": "published an organisation",
    "register.imported": "imported a register",
    "register.released": "released a quarantined register import",
    "register.refused": "refused a quarantined register import",
    "register.refresh_started": "started a register refresh",
    "watchlist.refresh_started": "started a watch list refresh",
    "register.put_aside": "attempted a register import that was quarantined",
    "watchlist.imported": "imported a watch list",
    "watchlist.retired": "retired a watch list",
    "watchlist.refused": "attempted a watch list import that was rejected",
    "registry.declared": "added a registry",
    "register.rolled_back": "rolled back a register import",
    "organisations.reindexed": "rebuilt the search index of organisations",
    "activities.applied": "applied the activity rules to all organisations",
    "documents.restore": "restored a deleted file",
    "deployment.release_copy": "released a database copy to act as a deployment",
    "scim.user.created": "created a member through SCIM",
    "scim.user.updated": "updated a member through SCIM",
    "scim.user.deactivated": "deactivated a member through SCIM",
    "scim.user.reactivated": "reactivated a member through SCIM",
    "scim.user.deleted": "removed a member through SCIM",
    "scim.group.created": "created a group through SCIM",
    "scim.group.updated": "updated a group through SCIM",
    "scim.group.deleted": "removed a group through SCIM",
}
"""All that people do, in words, and a test compares them. Other names are of the interface's operations."""

_FIELDS: Final = {
    "was": "before",
    "by": "how",
    "method": "by",
    "because": "reason",
    "sign_in": "session",
    "new_device": "new browser",
    "sha256": "SHA-256",
}
"""Names of details whose own words would not be understood."""

_VALUES: Final[Mapping[str, str]] = {
    "account": "from the account page",
    "invitation": "from an invitation",
    "reset": "from an emailed link",
    "password": "password",
    "password_totp": "password and authenticator app",
    "password_recovery": "password and recovery code",
    "totp": "authenticator app",
    "recovery": "recovery code",
    "passkey": "passkey",
    "provider": "SSO",
    "email": "email",
    "signed_out": "signed out",
    "password_changed": "password changed",
    **{str(role): name for role, name in ROLE_NAMES.items()},
}
"""Values of ours that are no words, where the detail is one of ``_IN_WORDS``."""
_IN_WORDS: Final = frozenset({"was", "role", "roles", "by", "method", "because", "reason", "kind", "changed"})
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")

_KINDS: Final = {
    "key": "an API key",
    "member": "a member",
    "operator": "an operator",
    "machine": "a system administrator",
    "system": "Almoner",
}


async def find_display_names(tx: Tx, partner: Partner, entries: Iterable[Entry]) -> Mapping[str, str]:
    """Display names, by ID, of the members and keys that audit entries mention.

    Who is gone has no name any more.
    """
    texts = {text for entry in entries for text in (entry.actor.id, entry.subject)}
    persons = {found: text for text in texts if (found := tx.ids.parse("member", text))}
    called = {found: text for text in texts if (found := tx.ids.parse("apikey", text))}
    members = await people.find_many(tx, member_realm(partner), persons) if persons else {}
    held = await keys.list_by_partner(tx, partner) if called else []
    named = {persons[one.id]: one.shown_name for one in members.values()}
    return named | {called[key.id]: f"“{key.name}”" for key in held if key.id in called}


def actor_text(entry: Entry, named: Mapping[str, str]) -> str:
    """The display text for who did it."""
    name = named.get(entry.actor.id)
    if name is None:
        return _KINDS[entry.actor.kind]
    return f"API key {name}" if entry.actor.kind == "key" else name


def action_text(entry: Entry, named: Mapping[str, str]) -> str:
    """The display text for what was done, and to whom."""
    done = ACTION_LABELS.get(entry.action, entry.action)
    subject = "" if entry.subject == entry.actor.id else named.get(entry.subject, "")
    return f"{done} ({subject})" if subject else done


def details_text(entry: Entry) -> str:
    """The entry's details as one line of text."""
    return "; ".join(
        f"{_field_label(name)}: {_value_text(name, value)}" for name, value in (entry.details or {}).items()
    )


def _field_label(name: str) -> str:
    """``groupsClaim``, ``sign_ins``: groups claim, sessions."""
    words = _CAMEL.sub(" ", name).replace("_", " ").lower()
    return _FIELDS.get(name, words.replace("sign in", "session"))


def _value_text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_value_text(name, one) for one in value) or "none"
    if value is None:
        return "none"
    if name not in _IN_WORDS:
        return str(value)
    return _VALUES.get(str(value), str(value).replace("_", " "))
