"""Operators, their tokens, and approvals that need two operators; pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.access.people.domain import OperatorRole, Person, Realm
from almoner.kit.errors import IncorrectParams

DEFAULT_TOKEN_LIFETIME: Final = timedelta(days=90)
MAX_TOKEN_LIFETIME: Final = timedelta(days=365)
LONGEST_NAME: Final = 100
LONGEST_NOTE: Final = 2000
APPROVAL_LIFETIME: Final = timedelta(days=7)
"""How long a first approval waits for the second."""
MAX_DAILY_INVITATIONS: Final = 5
"""Maximum number of invitations a day to one operator."""
MAX_TOKENS: Final = 10
"""The maximum number of active tokens of one operator."""

EMAIL_CHANGE: Final = "operator.email"
"""The action of the approval that changes an operator's email address."""
EMAIL_CHANGE_NOTE: Final = "Entered the new address."

AccessGrantKind = Literal["invited", "granted", "activated", "changed", "reset"]
"""How one operator gave another access. For a week, the two do not count as two people for approvals."""
ApprovalOutcome = Literal["approved", "changed", "withdrawn", "expired"]


@dataclass(frozen=True, slots=True)
class OperatorAccount:
    """An operator and whether they have set up a way to sign in."""

    person: Person
    has_joined: bool

    @property
    def status_text(self) -> str:
        """The status for display."""
        if not self.person.active:
            return "deactivated"
        return "active" if self.has_joined else "invited"


@dataclass(frozen=True, slots=True)
class OperatorToken:
    """A personal access token as stored; only its operator knows the secret."""

    id: UUID
    person_id: UUID
    name: str
    hint: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether the token works at this real time, if its operator is active."""
        return self.revoked_at is None and now < self.expires_at

    def status_text(self, now: datetime) -> str:
        """The status for display."""
        if self.revoked_at is not None:
            return f"revoked {self.revoked_at:%Y-%m-%d %H:%M} UTC"
        return f"{'active until' if self.is_valid(now) else 'expired'} {self.expires_at:%Y-%m-%d %H:%M} UTC"


class NewOperatorToken(NamedTuple):
    """An operator token that was just created, and its secret."""

    token: OperatorToken
    secret: str


@dataclass(frozen=True, slots=True)
class ApprovalReview:
    """One operator's review for an approval: who, when and on what evidence."""

    by: UUID
    at: datetime
    note: str


@dataclass(frozen=True, slots=True)
class Approval:
    """An action that two operators must review. ``fingerprint``: hash of what the first one reviewed."""

    id: UUID
    action: str
    subject: str
    fingerprint: bytes
    first: ApprovalReview
    expires_at: datetime
    second: ApprovalReview | None = None
    outcome: ApprovalOutcome | None = None


class PendingApproval(NamedTuple):
    """An approval that waits for a second operator, and the operator who gave the first."""

    approval: Approval
    first_approver: Person


class SecondApproval(NamedTuple):
    """The second operator's ID, and their note."""

    approved_by: str
    note: str


@dataclass(frozen=True, slots=True)
class ApprovedDecision:
    """A decision with its required approvals."""

    decided_by: str
    note: str
    second_approval: SecondApproval | None = None

    @property
    def approver_count(self) -> int:
        """How many operators decided."""
        return 1 if self.second_approval is None else 2


class OperatorActionDenied(Exception):
    """The operator may not do this; the message says what to do."""


class InvalidOperatorToken(OperatorActionDenied):
    """The operator token is missing, unknown, expired or revoked."""


class OperatorRoleRequired(OperatorActionDenied):
    """The operator has none of the required roles."""


class SecondOperatorRequired(OperatorActionDenied):
    """A different operator must give the second approval."""


class OperatorsNotIndependent(OperatorActionDenied):
    """One of the two operators recently granted the other access, so they cannot approve together."""


class OwnAccountChangeDenied(OperatorActionDenied):
    """Operators cannot change their own roles or email address."""


class TokenOwnerMismatch(OperatorActionDenied):
    """Operators can create tokens only for themselves."""


class OperatorNotInvitable(OperatorActionDenied):
    """The operator cannot be invited again: they have joined or are deactivated."""


class LastAdministratorRequired(OperatorActionDenied):
    """At least one administrator must remain."""


def fingerprint_email(address: str) -> bytes:
    """The fingerprint of a new address in an approval; the case of ASCII letters does not count."""
    return hashlib.sha256(address.encode().lower()).digest()


def token_prefix(*, sandbox: bool) -> str:
    """The prefix of operator tokens: ``op_live_``, ``op_sandbox_``."""
    return f"op_{'sandbox' if sandbox else 'live'}_"


def parse_token_lifetime(days: int) -> timedelta:
    """A token lifetime given in days. Raises IncorrectParams."""
    if not 1 <= days <= MAX_TOKEN_LIFETIME.days:
        raise IncorrectParams(f"days: a token can be valid for 1 to {MAX_TOKEN_LIFETIME.days} days, not {days}")
    return timedelta(days=days)


def parse_token_name(text: str) -> str:
    """The name for a token. Raises IncorrectParams."""
    name = text.strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise IncorrectParams(f"name: enter 1 to {LONGEST_NAME} characters")
    return name


def ensure_token_valid(token: OperatorToken, operator: Person, now: datetime) -> None:
    """Raises InvalidOperatorToken unless the token works at this real time."""
    named = f"The token {token.name!r} of {operator.display_name} (ending in {token.hint})"
    if not operator.active:
        raise InvalidOperatorToken(f"{operator.display_name} is deactivated. Ask an administrator for help.")
    if token.revoked_at is not None:
        raise InvalidOperatorToken(f"{named} is revoked. Use another token or create one at /operator/tokens.")
    if now >= token.expires_at:
        day = f"{token.expires_at:%Y-%m-%d}"
        raise InvalidOperatorToken(f"{named} expired on {day}. Create a new one at /operator/tokens.")


def ensure_has_role(
    operator: Person, operator_id: str, roles: Sequence[OperatorRole], administrators: Sequence[Person]
) -> None:
    """Raises OperatorRoleRequired, naming who can grant one, unless the operator has one of the roles."""
    if operator.has_role(*roles):
        return
    lacks = f"{operator.display_name} lacks the role {' or '.join(roles)}"
    others = [one.display_name for one in administrators if one.id != operator.id]
    if administrators and not others:
        raise OperatorRoleRequired(
            f"{lacks}, and nobody can change their own roles: add somebody who has it, under Operators in the console "
            f"or with `almoner operators add <email> --role {roles[0]}`, or add a second administrator, who can grant "
            f"it there or with `almoner operators set-roles {operator_id}`."
        )
    raise OperatorRoleRequired(
        f"{lacks}: {', '.join(others) or 'an administrator'} can grant it under Operators in the console, or with "
        f"`almoner operators set-roles {operator_id}`."
    )


VIEW_LIFETIME: Final = timedelta(minutes=15)
"""How long an operator can view a partner's pages, in real time."""
LONGEST_VIEW_REASON: Final = 500
SHORTEST_VIEW_REASON: Final = 10


@dataclass(frozen=True, slots=True)
class PartnerViewSession:
    """An operator's view of a partner's pages. ``expires_at``: when it ends automatically."""

    id: UUID
    partner_id: UUID
    person_id: UUID
    reason: str
    started_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None


def build_read_only_member(partner_view: PartnerViewSession, operator: Person) -> Person:
    """The member as whom an operator views a partner's pages: read only, without secrets and donors' personal data."""
    profile = {"userName": operator.user_name, "displayName": operator.display_name, "active": True}
    realm, started = Realm(partner_view.partner_id), partner_view.started_at
    return Person(partner_view.id, realm, profile, True, 1, started, started, frozenset({"read_only"}))
