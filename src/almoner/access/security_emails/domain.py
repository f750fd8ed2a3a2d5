"""The texts of security emails to people who sign in, in plain English; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal[
    "invitation",
    "reset",
    "new_device",
    "password_changed",
    "authenticator_added",
    "authenticator_removed",
    "recovery_code_used",
    "recovery_codes_created",
    "passkey_added",
    "passkey_removed",
    "passkey_counter_decreased",
    "second_factor_reset",
    "member_reset",
    "roles_changed",
    "deactivated",
    "token_created",
    "partner_viewed",
    "partner_paused",
    "partner_resumed",
    "identity_bound",
    "identity_unbound",
    "sso_changed",
    "email_changed",
    "email_change_requested",
    "register_quarantined",
    "watchlist_refused",
    "donation_request",
    "refund_refused",
    "refund_not_sent",
    "refund_failed",
    "webhook_failing",
    "webhook_suspended",
]

LONGEST_NAME: Final = 80
"""The maximum length of a name in an email, because other people choose their names and could abuse them for messages.
"""

KINDS_WITH_LINK: Final = frozenset({"invitation", "reset"})
"""The kinds of emails that contain a link; all others are notifications."""

_NOT_YOU: Final = (
    "If this was not you, change your password, revoke any sessions that you do not recognise, and contact an "
    "administrator at {place}."
)
_ASK: Final = "If you were not expecting this, contact an administrator at {place}."
_IGNORE: Final = "If you did not request this, you can ignore this email. Your password will not change."


@dataclass(frozen=True, slots=True)
class SecurityEmail:
    """One security email. ``facts``: lines such as time and network. ``action``: the label of its link."""

    subject: str
    text: str
    action: str
    after: str
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _EmailText:
    subject: str
    text: str
    action: str = "View your account"
    after: str = _NOT_YOU


_WORDS: Final[dict[Kind, _EmailText]] = {
    "invitation": _EmailText(
        "Your invitation to {place}",
        "You have been invited to join {place}. Your username is {user_name}. Use this link to choose a password. The "
        "link works once and expires in 7 days.",
        "Accept invitation",
        "If you do not recognise {place}, you can ignore this email.",
    ),
    "reset": _EmailText(
        "Reset your {place} password",
        "We received a request to reset the password for {user_name} at {place}. Use this link to choose a new "
        "password. The link works once and expires in 1 hour. You will be signed out of all sessions.",
        "Reset password",
        _IGNORE,
    ),
    "new_device": _EmailText(
        "New sign-in to {place}",
        "{user_name} signed in to {place} from a new browser.",
    ),
    "password_changed": _EmailText(
        "Your {place} password was changed",
        "The password for {user_name} at {place} was changed. You have been signed out of all other sessions.",
        after="If this was not you, reset your password from the sign-in page immediately, and contact an "
        "administrator at {place}.",
    ),
    "authenticator_added": _EmailText(
        "Authenticator app added to your {place} account",
        "You now need a code from your authenticator app to sign in to {place} as {user_name}.",
    ),
    "authenticator_removed": _EmailText(
        "Authenticator app removed from your {place} account",
        "Codes from your authenticator app no longer work for {user_name} at {place}.",
    ),
    "recovery_code_used": _EmailText(
        "Recovery code used to sign in to {place}",
        "Someone used a recovery code to sign in to {place} as {user_name}. The code cannot be used again. Remaining "
        "codes: {left}.",
    ),
    "recovery_codes_created": _EmailText(
        "New recovery codes for your {place} account",
        "New recovery codes were generated for {user_name} at {place}. Your previous codes no longer work.",
    ),
    "passkey_added": _EmailText(
        "Passkey added to your {place} account",
        "The passkey “{name}” was added. You can now use this passkey to sign in to {place} as {user_name}.",
    ),
    "passkey_removed": _EmailText(
        "Passkey removed from your {place} account",
        "The passkey “{name}” was removed. You can no longer use this passkey to sign in to {place} as {user_name}.",
    ),
    "passkey_counter_decreased": _EmailText(
        "A passkey for your {place} account may have been copied",
        "The passkey “{name}” of {user_name} at {place} was used with a signature counter that had not increased. "
        "This can mean that the passkey has been copied. If you did not use the passkey in two browsers at the same "
        "time, remove the passkey and add a new one.",
    ),
    "email_changed": _EmailText(
        "Your {place} email address was changed",
        "We no longer send emails for {user_name} at {place} to this address. Links that we sent to this address no "
        "longer work.",
        after="If you were not expecting this, contact an administrator at {place} immediately. If you do not "
        "recognise {place}, you can ignore this email.",
    ),
    "email_change_requested": _EmailText(
        "A new email address was entered for your {place} account",
        "An administrator entered another email address for {user_name} at {place}. Once a second administrator "
        "confirms it, we no longer send emails to this address, and you sign in with the new one.",
        after="If you were not expecting this, contact an administrator at {place} immediately.",
    ),
    "identity_bound": _EmailText(
        "SSO account connected to your {place} account",
        "You can now sign in to {place} as {user_name} with your account at {issuer}.",
    ),
    "identity_unbound": _EmailText(
        "SSO account disconnected from your {place} account",
        "You can no longer sign in to {place} as {user_name} with SSO. You have been signed out of all SSO sessions.",
    ),
    "sso_changed": _EmailText(
        "SSO of {place} was changed",
        "An operator of this service changed the single sign-on settings of {place}. The identity provider decides who "
        "signs in with SSO.",
        after="If you were not expecting this, check the SSO settings and the members who sign in with SSO, and "
        "contact the operator of this service.",
    ),
    "register_quarantined": _EmailText(
        "Register update failed at {place}",
        "Files from {source} appear to be corrupted and were quarantined. The previous data is still in use. For "
        "details, see Registers in the console, or run `almoner registers status`. To import the files anyway, release "
        "the import on its page, or run `almoner registers import --force`.",
        after="This problem resolves itself when the next valid file is imported.",
    ),
    "watchlist_refused": _EmailText(
        "Watchlist update failed at {place}",
        "Files from {source} appear to be corrupted and were rejected. The previous data is still in use. For "
        "details, see Watchlists in the console, or run `almoner watchlists status`. To import the files anyway, "
        "upload them in the console and override the checks, or run `almoner watchlists import --force`.",
        after="This problem resolves itself when the next valid file is imported.",
    ),
    "donation_request": _EmailText(
        "{place}: {amount} due for direct donations",
        "{place} has made direct donations and now owes {amount}. Transfer this amount to the agreed account and "
        "include the reference.",
        after="The API lists the donations in this request. Each donation counts as received once it is paid.",
    ),
    "refund_refused": _EmailText(
        "Refund rejected by the payment provider at {place}",
        "The payment provider rejected a refund of {amount}. We owe this amount to the nonprofit again. For "
        "details, see Failed refunds in the console, or run `almoner refunds show`. For what to do next, see "
        "docs/runbooks/refunds.md.",
        after="If the partner requested the refund, we have notified the partner's owners and finance members.",
    ),
    "refund_failed": _EmailText(
        "A refund failed at {place}",
        "A refund of {amount} failed after the payment provider had sent it. The donor has not received the money. "
        "For details, see Failed refunds in the console, or run `almoner refunds failed`. For what to do next, see "
        "docs/runbooks/refunds.md.",
        after="The refund stays open until somebody has handled it and marked it as resolved.",
    ),
    "refund_not_sent": _EmailText(
        "{place}: refund of {amount} not sent",
        "We did not send a refund of {amount} that {place} requested. The donation is unchanged and will be paid to "
        "its organisation.",
        after="You can request the refund again until the donation is sent to its organisation. You can also agree "
        "on another solution with the donor.",
    ),
    "webhook_failing": _EmailText(
        "Webhook receiver of {place} is failing",
        "For 24 hours, every webhook to one of your receivers has failed. We are still sending webhooks to this "
        "receiver, but less often. If the receiver does not recover, we will suspend its subscription 5 days after "
        "the first failure.",
        after="To see the receiver's responses, list the deliveries of the subscription through the API. No events "
        "are lost. When the receiver works again, replay the subscription to send the webhooks that the "
        "receiver missed.",
    ),
    "webhook_suspended": _EmailText(
        "Webhook subscription of {place} was suspended",
        "We suspended one of your webhook subscriptions, because its receiver responded with 410 Gone or failed for "
        "5 days without a single success. We no longer send webhooks to this receiver.",
        after="To resume, set the subscription's status to active through the API. Then replay the subscription to "
        "send the webhooks that the receiver missed.",
    ),
    "token_created": _EmailText(
        "Token created for your {place} account",
        "The token “{name}” was created. Commands that use this token are recorded as actions of {user_name}.",
        after="If this was not you, revoke all tokens on the Tokens page, change your password, and contact another "
        "administrator immediately.",
    ),
    "partner_viewed": _EmailText(
        "An operator is viewing the pages of {place}",
        "An operator of this service is viewing the pages of {place} as your team sees them, for at most 15 minutes. "
        "The operator cannot change anything, and cannot see secrets or donors' personal data.",
        after="The audit log of {place} records when the operator started and stopped viewing the pages, and why.",
    ),
    "partner_paused": _EmailText(
        "{place} was paused",
        "An operator of this service paused {place}. Requests with API keys of {place} get 403 Forbidden, donation "
        "pages accept no new donations, and regular donations are not charged.",
        after="Payments in progress, refunds, receipts, disbursements and webhooks continue, and you can still use "
        "your dashboard. To ask for {place} to be resumed, contact the operator of this service.",
    ),
    "partner_resumed": _EmailText(
        "{place} was resumed",
        "An operator of this service resumed {place}. The API keys of {place} work again, and donation pages accept "
        "donations.",
        after="Regular donations that were due during the pause are charged now if they are at most 7 days late. We "
        "email donors whose donations were skipped.",
    ),
    "roles_changed": _EmailText(
        "Your roles at {place} were changed",
        "The roles of {user_name} at {place} are now: {roles}.",
        after=_ASK,
    ),
    "deactivated": _EmailText(
        "Your {place} account was deactivated",
        "The account {user_name} at {place} was deactivated. You have been signed out of all sessions, and links in "
        "earlier emails no longer work.",
        after=_ASK,
    ),
    "member_reset": _EmailText(
        "Sign-in methods of a member of {place} were reset",
        "An operator of this service reset the sign-in methods of {name} at {place} after a report of a lost second "
        "factor. {name} gets a link to set up new ones.",
        after="If {name} did not ask for this, deactivate the account on the Members page immediately, and contact the "
        "operator of this service.",
    ),
    "second_factor_reset": _EmailText(
        "Your {place} sign-in methods were reset",
        "An administrator reset the sign-in methods of {user_name} at {place} after a report of a lost second factor. "
        "The password, authenticator app, passkeys and recovery codes no longer work. You have been signed out of all "
        "sessions. To set up new sign-in methods, use the link in the invitation that we have sent separately.",
        after="If you did not request this, contact an administrator at {place} immediately.",
    ),
}


def shorten_name(name: str) -> str:
    """A name on one line, shortened if it is too long."""
    line = " ".join(name.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"


def build_security_email(
    kind: Kind, placeholder_values: Mapping[str, str], detail_lines: Mapping[str, str]
) -> SecurityEmail:
    """Compose the text of an email.

    ``placeholder_values``: ``place``, ``user_name`` and the other placeholders of this kind.
    """
    words, placeholder_values = _WORDS[kind], {name: shorten_name(value) for name, value in placeholder_values.items()}
    return SecurityEmail(
        words.subject.format_map(placeholder_values),
        words.text.format_map(placeholder_values),
        words.action,
        words.after.format_map(placeholder_values),
        detail_lines,
    )
