"""The audit log for people: who, what they did, and to whom, in words."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from almoner.access.accounts.domain import ROLE_NAMES
from almoner.access.keys import service as keys
from almoner.access.people import service as people
from almoner.access.people.domain import members_of
from almoner.platform.audit.log import Entry
from almoner.platform.database.transactions import Partner, Tx

ACTIONS: Final = {
    "signed_in": "signed in",
    "signed_out": "signed out",
    "sign_in.refused": "refused to sign in",
    "sign_in.revoked": "ended sign-ins",
    "reset.asked": "asked for a new password",
    "password.changed": "changed the password",
    "authenticator.shown": "was shown the secret of a new authenticator app",
    "authenticator.added": "added an authenticator app",
    "authenticator.removed": "removed the authenticator app",
    "recovery_codes.made": "made recovery codes",
    "passkey.added": "added a passkey",
    "passkey.removed": "removed a passkey",
    "passkey.count_went_back": "signed in by a passkey that may have been copied",
    "second_factor.reset": "took the second factors from",
    "identity.bound": "connected with the provider",
    "identity.unbound": "disconnected from the provider",
    "member.invited": "invited",
    "member.invited_again": "sent a new invitation to",
    "invitation.shown": "was shown the invitation of",
    "member.roles_changed": "changed the roles of",
    "member.changed": "changed the name or the e-mail of",
    "member.deactivated": "deactivated",
    "member.activated": "activated",
    "member.removed": "removed",
    "group.mapped": "said what a group may do",
    "key.made": "made the key",
    "key.rotated": "replaced the key",
    "key.revoked": "ended the key",
    "provider.set": "set up the provider",
    "provider.changed": "changed how the provider is set up",
    "provider.removed": "removed the provider",
    "audit.downloaded": "downloaded the audit log",
    "partner.added": "added the partner",
    "partner.branded": "changed the colour or the logo",
    "partner.giving_set": "changed what gifts may be in, and what is told of donors, of",
    "partner.issuer_named": "changed who issues the receipts",
    "operator.invited": "invited the operator",
    "operator.invited_again": "sent a new invitation to the operator",
    "operator.roles_changed": "changed the roles of the operator",
    "operator.changed": "changed the name or the e-mail of the operator",
    "two_people.set": "said whether decisions take two operators",
    "operator.deactivated": "deactivated the operator",
    "operator.activated": "activated the operator",
    "operator_token.made": "made an operator's token",
    "operator_token.revoked": "revoked an operator's token",
    "verification.approve": "looked first at the verification, to approve it",
    "verification.approved": "approved the verification",
    "verification.rejected": "rejected the verification",
    "verification.reopened": "reopened the verification",
    "verification.asked": "had the nonprofit asked about the verification",
    "verification.answered": "answered whether it wants gifts, for the verification",
    "verification.flag_looked_at": "looked at a flag of the verification",
    "review.shown": "looked at the evidence of the validation",
    "review.released": "let go of the validation",
    "review.reopened": "took back the decision about",
    "review.accepted": "accepted the validation",
    "review.rejected": "rejected the validation",
    "donation.reassigned": "gave the donation to another nonprofit",
    "gift_aid.cancelled": "noted that the donor cancelled the gift aid declaration",
    "gift_aid_claim.drafted": "drafted the gift aid claim",
    "gift_aid_claim.written": "wrote the schedule, which names the donors, of the gift aid claim",
    "gift_aid_claim.submitted": "noted that HMRC has the gift aid claim",
    "gift_aid_claim.paid": "noted that HMRC paid the gift aid claim",
    "gift_aid_claim.rejected": "noted that HMRC refused the gift aid claim",
    "gift_aid_claim.withdrawn": "gave up the gift aid claim",
    "requests.run": "asked partners for their direct donations",
    "request.received": "noted a transfer for the donation request",
    "request.over_applied": "had what was over pay another request, of the transfer",
    "request.over_returned": "noted that what was over went back, of the transfer",
    "payouts.run": "ran the payouts",
    "payouts.held": "held the payouts of a nonprofit",
    "payouts.release": "looked first at the held payouts of a nonprofit, to release them",
    "payouts.released": "released the payouts of a nonprofit",
    "bank_file.made": "made the file of payments",
    "bank_file.released": "released the file of payments",
    "bank_file.written": "wrote anew the file of payments",
    "bank_file.withdrawn": "withdrew the file of payments",
    "bank_file.answered": "noted what the bank said of the file of payments",
    "bank_statement.imported": "imported the bank statement",
    "bank_line.assigned": "said what the line of a bank statement is",
    "bank_line.dismissed": "dismissed the line of a bank statement",
    "settlement.explained": "said why a provider's payout never came to our account",
    "bank_statement.explained": "said why no bank statement is missing before another",
    "payee.proposed": "proposed an account for a nonprofit:",
    "payee.approved": "approved the account",
    "payee.denied": "said that this account is not the nonprofit's own:",
    "payee.refused": "refused the account",
    "payouts.confirm": "looked first at the payout, to confirm that it arrived",
    "payout.confirmed": "confirmed that the payout arrived",
    "payout.returned": "recorded that the payout came back",
    "payout.remittance": "wrote the remittance statement of the payout",
    "dispute.won": "noted that the donor's bank gave up the dispute",
    "dispute.lost": "noted that the donor's bank won the dispute",
    "dispute.asked": "had the provider asked about the dispute",
    "held_payment.refunded": "refunded a held payment",
    "held_payment.dismissed": "closed a held payment",
    "held_payment.accepted": "made a held payment a gift",
    "refund.begun": "sent a donation back",
    "refund.sent_by_hand": "noted that a refund was sent by hand",
    "refund.refused": "noted that a refund is not sent",
    "refund.let_rest": "let a refused refund rest",
    "refund.asked_again": "had the provider asked again for a refund",
    "settlement.imported": "imported a settlement",
    "settlement_line.cleared": "cleared a line of a settlement",
    "agent_verification.confirmed": "confirmed the e-mail address of",
    "statement.asked": "asked for the statement of whoever made",
    "agent_verification.answered": "answered whether it knows the applicant of",
    "application.saved": "answered a step of the form of",
    "application.document_added": "handed in a document with the form of",
    "application.document_removed": "took back a document of the form of",
    "application.handed_over": "handed over to a colleague the form of",
    "application.evidence_added": "handed in a document with",
    "application.email_corrected": "corrected the applicant's e-mail address of",
    "application.confirmation_mailed": "had the mail that confirms the address sent again, of",
    "application.number_corrected": "corrected the register number of",
    "application.language_chosen": "chose the language of the page of",
    "application.link_mailed": "had the link mailed anew to the page of",
    "application.appealed": "appealed against the refusal of",
    "application.sent": "sent the form of",
    "organisation.contact_recorded": "recorded where an organisation can be asked",
    "organisation.branded": "changed how an organisation is shown",
    "organisation.published": "published an organisation",
    "register.imported": "imported a register",
    "register.put_aside": "tried to import files that were put into quarantine, of",
    "watchlist.imported": "imported a watch list:",
    "watchlist.retired": "retired a watch list:",
    "watchlist.refused": "tried to import files that were refused, of the watch list",
    "registry.declared": "entered the registry",
    "register.rolled_back": "took a load of a register back, of",
    "organisations.reindexed": "had search read all organisations anew:",
    "activities.applied": "tagged all organisations by the rules of",
    "documents.restore": "brought back from the trash the file",
    "deployment.release_copy": "released a copy of the database, which acts as deployment",
    "scim.user.created": "created by SCIM the member",
    "scim.user.updated": "changed by SCIM the member",
    "scim.user.deactivated": "deactivated by SCIM the member",
    "scim.user.reactivated": "activated by SCIM the member",
    "scim.user.deleted": "removed by SCIM the member",
    "scim.group.created": "created by SCIM a group",
    "scim.group.updated": "changed by SCIM a group",
    "scim.group.deleted": "removed by SCIM a group",
}
"""All that people do, in words, and a test compares them. Other names are of the interface's operations."""

_FIELDS: Final = {
    "was": "before",
    "by": "how",
    "method": "by",
    "because": "why",
    "sign_in": "which",
    "new_device": "in a browser of the first time",
    "sha256": "SHA-256",
}
"""Names of details whose own words would not be understood."""

_VALUES: Final[Mapping[str, str]] = {
    "account": "on the account's page",
    "invitation": "by an invitation",
    "reset": "by a mailed link",
    "password": "password",
    "password_totp": "password and authenticator app",
    "password_recovery": "password and recovery code",
    "totp": "authenticator app",
    "recovery": "recovery code",
    "passkey": "passkey",
    "provider": "the provider",
    "email": "e-mail",
    "signed_out": "signed out",
    "password_changed": "the password was changed",
    **{str(role): name for role, name in ROLE_NAMES.items()},
}
"""Values of ours that are no words, where the detail is one of ``_IN_WORDS``."""
_IN_WORDS: Final = frozenset({"was", "role", "roles", "by", "method", "because", "reason", "kind", "changed"})
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")

_KINDS: Final = {
    "key": "a key",
    "member": "a member",
    "operator": "an operator of the service",
    "machine": "an administrator of the service",
    "system": "the service itself",
}


async def names(tx: Tx, partner: Partner, entries: Iterable[Entry]) -> Mapping[str, str]:
    """How those members and keys are called who did something, or to whom it was done; by identifier.

    Who is gone has no name any more.
    """
    texts = {text for entry in entries for text in (entry.actor.id, entry.subject)}
    persons = {found: text for text in texts if (found := tx.ids.parse("member", text))}
    called = {found: text for text in texts if (found := tx.ids.parse("apikey", text))}
    members = await people.among(tx, members_of(partner), persons) if persons else {}
    held = await keys.of_partner(tx, partner) if called else []
    named = {persons[one.id]: one.shown_name for one in members.values()}
    return named | {called[key.id]: f"“{key.name}”" for key in held if key.id in called}


def who(entry: Entry, named: Mapping[str, str]) -> str:
    """Who did it, by name as long as they are there."""
    name = named.get(entry.actor.id)
    if name is None:
        return _KINDS[entry.actor.kind]
    return f"the key {name}" if entry.actor.kind == "key" else name


def what(entry: Entry, named: Mapping[str, str]) -> str:
    """What was done, and to whom."""
    done = ACTIONS.get(entry.action, entry.action)
    subject = "" if entry.subject == entry.actor.id else named.get(entry.subject, "")
    return f"{done} {subject}".strip()


def details(entry: Entry) -> str:
    """The details as one line."""
    return "; ".join(f"{_field(name)}: {_plain(name, value)}" for name, value in (entry.details or {}).items())


def _field(name: str) -> str:
    """``groupsClaim``, ``sign_ins``: groups claim, sign-ins."""
    words = _CAMEL.sub(" ", name).replace("_", " ").lower()
    return _FIELDS.get(name, words.replace("sign in", "sign-in"))


def _plain(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(name, one) for one in value) or "none"
    if value is None:
        return "none"
    if name not in _IN_WORDS:
        return str(value)
    return _VALUES.get(str(value), str(value).replace("_", " "))
