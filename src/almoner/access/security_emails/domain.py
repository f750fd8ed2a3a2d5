"""What the mails to people who sign in say, in plain English; pure."""

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
    "recovery_codes_made",
    "passkey_added",
    "passkey_removed",
    "passkey_count_went_back",
    "second_factor_reset",
    "roles_changed",
    "deactivated",
    "token_made",
    "identity_bound",
    "identity_unbound",
    "email_changed",
    "register_put_aside",
    "watchlist_refused",
    "donation_request",
    "refund_refused",
    "refund_not_sent",
    "refund_failed",
]

LONGEST_NAME: Final = 80
"""Characters of a name in a mail: what somebody else chose to be called is no place for a message."""

LINKS: Final = frozenset({"invitation", "reset"})
"""What is mailed for a link in it; the rest are notices."""

_NOT_YOU: Final = (
    "If this was not you, change your password, end the sign-ins that you do not know, and tell whoever manages people "
    "at {place}."
)
_ASK: Final = "If you did not expect this, ask whoever manages people at {place}."
_IGNORE: Final = "If you did not ask for this, you need not do anything: nothing changes without the link."


@dataclass(frozen=True, slots=True)
class Letter:
    """One mail. ``facts``: lines such as when and where. ``action``: what its link is called."""

    subject: str
    text: str
    action: str
    after: str
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Words:
    subject: str
    text: str
    action: str = "Your account"
    after: str = _NOT_YOU


_WORDS: Final[dict[Kind, _Words]] = {
    "invitation": _Words(
        "Your invitation to {place}",
        "You are invited to sign in to {place} as {user_name}. Choose a password by this link, which works once and "
        "for 7 days.",
        "Accept the invitation",
        "If you do not know {place}, you need not do anything.",
    ),
    "reset": _Words(
        "A new password for {place}",
        "Somebody, probably you, asked for a new password for {user_name} at {place}. Choose it by this link, which "
        "works once and for an hour. All your sign-ins end with it.",
        "Choose a new password",
        _IGNORE,
    ),
    "new_device": _Words(
        "A new sign-in at {place}",
        "You signed in to {place} as {user_name} in a browser that did so for the first time.",
    ),
    "password_changed": _Words(
        "Your password at {place} was changed",
        "The password of {user_name} at {place} was changed, and other sign-ins were ended.",
        after="If this was not you, ask for a new password on the sign-in page at once, and tell whoever manages "
        "people at {place}.",
    ),
    "authenticator_added": _Words(
        "An authenticator app was added at {place}",
        "Signing in as {user_name} at {place} asks for its codes from now on.",
    ),
    "authenticator_removed": _Words(
        "Your authenticator app at {place} was removed", "Its codes no longer work for {user_name} at {place}."
    ),
    "recovery_code_used": _Words(
        "A recovery code was used at {place}",
        "Somebody signed in as {user_name} at {place} with one of the recovery codes. It works no more; codes that are "
        "left: {left}.",
    ),
    "recovery_codes_made": _Words(
        "New recovery codes at {place}", "{user_name} has new recovery codes at {place}; earlier ones work no more."
    ),
    "passkey_added": _Words(
        "A passkey was added at {place}", "The passkey “{name}” now signs in {user_name} at {place}, by itself."
    ),
    "passkey_removed": _Words(
        "A passkey was removed at {place}", "The passkey “{name}” no longer signs in {user_name} at {place}."
    ),
    "passkey_count_went_back": _Words(
        "A passkey at {place} may have been copied",
        "The passkey “{name}” of {user_name} at {place} was used, and its counter was no higher than before. It may "
        "have been copied. If you did not use it in two browsers at once, remove it and add another one.",
    ),
    "email_changed": _Words(
        "Mails from {place} go to another address",
        "Mails for {user_name} at {place} no longer come to this address, and links that were sent to it open nothing.",
        after="If you did not expect this, tell whoever manages people at {place} at once. If you do not know {place}, "
        "you need not do anything.",
    ),
    "identity_bound": _Words(
        "An account at a provider was connected at {place}",
        "Whoever signs in by it at {issuer} signs in as {user_name} at {place} from now on.",
    ),
    "identity_unbound": _Words(
        "The account at the provider was disconnected at {place}",
        "It no longer signs in {user_name} at {place}, and the sign-ins made by it were ended.",
    ),
    "register_put_aside": _Words(
        "A register was not replaced at {place}",
        "Files of {source} look broken and were put into quarantine; what was loaded before stays. "
        "`almoner registers status` tells of them, and `almoner registers import --force` loads what they hold all the "
        "same.",
        after="The next good file ends it.",
    ),
    "watchlist_refused": _Words(
        "A watch list was not replaced at {place}",
        "Files of {source} look broken and were refused; what was loaded before stays. `almoner watchlists status` "
        "tells of them, and `almoner watchlists import --force` loads what they hold all the same.",
        after="The next good file ends it.",
    ),
    "donation_request": _Words(
        "{place}: {amount} for direct donations",
        "{place} has made direct donations, and is asked for {amount} now. Transfer it to the account that was agreed "
        "with you, and name the reference.",
        after="The donations of this request are listed by the interface; each is received as soon as it is paid.",
    ),
    "refund_refused": _Words(
        "A provider refused a refund at {place}",
        "A gift of {amount} does not go back by the payment provider, and is owed to its nonprofit again. `almoner "
        "refunds show` tells of it, docs/runbooks/refunds.md what can be done.",
        after="If the partner asked for it, its owners and finance people were told that nothing went back.",
    ),
    "refund_failed": _Words(
        "A refund at {place} came back",
        "A refund of {amount} failed after the provider had sent it: the donor does not have the money. `almoner "
        "refunds refused` lists it, docs/runbooks/refunds.md says what to do.",
        after="It waits until somebody has seen to it and noted how, with `almoner refunds let-rest`.",
    ),
    "refund_not_sent": _Words(
        "{place}: {amount} did not go back",
        "A refund of {amount} that {place} asked for was not sent, and will not be. The donation is as it was before, "
        "and its organisation will be paid.",
        after="You may ask for it again, unless the donation has left for its organisation, or agree with the donor on "
        "another way.",
    ),
    "token_made": _Words(
        "A token was made at {place}",
        "Commands typed with the token “{name}” are yours from now on: they are recorded as those of {user_name}.",
        after="If this was not you, revoke all tokens on the page “Tokens”, change your password, and tell another "
        "administrator at once.",
    ),
    "roles_changed": _Words(
        "What you may do at {place} was changed",
        "The roles of {user_name} at {place} are now: {roles}.",
        after=_ASK,
    ),
    "deactivated": _Words(
        "You no longer sign in to {place}",
        "{user_name} was deactivated at {place}. All sign-ins were ended, and links in earlier mails open nothing.",
        after=_ASK,
    ),
    "second_factor_reset": _Words(
        "Your second factor at {place} was taken away",
        "An administrator was told that {user_name} lost the second factor. The password, authenticator app, passkeys "
        "and recovery codes of {user_name} at {place} work no more, and all sign-ins were ended. Begin anew by the "
        "link in the invitation that comes with this mail.",
        after="If you did not ask for this, tell whoever manages people at {place} at once.",
    ),
}


def short(name: str) -> str:
    """A name in one line, cut where it is too long for one."""
    line = " ".join(name.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"


def write(kind: Kind, values: Mapping[str, str], facts: Mapping[str, str]) -> Letter:
    """The words of a letter. ``values``: ``place``, ``user_name`` and what the kind names besides."""
    words, values = _WORDS[kind], {name: short(value) for name, value in values.items()}
    return Letter(
        words.subject.format_map(values),
        words.text.format_map(values),
        words.action,
        words.after.format_map(values),
        facts,
    )
