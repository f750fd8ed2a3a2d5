"""Single sign-on: a partner's identity provider, its claims, and the rules for trusting them; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Literal
from uuid import UUID

from almoner.access.credentials.domain import can_be_stored_in_database
from almoner.access.people.domain import MemberRole
from almoner.access.sign_ins.domain import REAUTHENTICATION_LIFETIME
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.database.transactions import Partner

SUBJECT_CLAIMS: Final = ("sub", "oid")
"""Claims that may identify a person: the provider's users cannot choose them (OpenID Connect Core 5.7)."""

CLOCK_SKEW: Final = timedelta(seconds=60)
"""How far the provider's clock may differ from ours."""

STATE_LIFETIME: Final = timedelta(minutes=10)
"""How long somebody may take at the provider."""

LONGEST: Final = 255
MOST_GROUPS: Final = 200
LONGEST_NAME: Final = 60

BoundBy = Literal["provisioned", "invitation", "created", "account"]


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """The identity provider of one partner.

    ``sealed_secret``: None for a public client. ``groups_claim``: None if it grants no roles. ``roles``: roles by the
    provider's groups. ``creates_members``: people with a role from their groups become members at their first sign-in.
    """

    partner: Partner
    name: str
    issuer: str
    client_id: str
    sealed_secret: bytes | None
    subject_claim: str
    groups_claim: str | None
    roles: Mapping[str, MemberRole]
    scopes: tuple[str, ...]
    creates_members: bool
    enabled: bool
    version: int
    created_at: datetime
    updated_at: datetime


DEFAULT_SCOPES: Final = ("openid", "profile", "email")
"""The scopes requested by default."""


@dataclass(frozen=True, slots=True)
class IdentityProviderSettings:
    """The settings of an identity provider as an owner submits them.

    ``secret``: plain text; None keeps the current one, empty for a public client, which has none.
    """

    name: str
    issuer: str
    client_id: str
    secret: str | None = None
    subject_claim: str = "sub"
    groups_claim: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    scopes: tuple[str, ...] = DEFAULT_SCOPES
    creates_members: bool = False
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class SsoOption:
    """The single sign-on button of a sign-in page.

    ``path``: a link that starts the sign-in, not a form: browsers apply ``form-action`` to redirects after a POST.
    """

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """A provider's published configuration (OpenID Connect Discovery 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    uses_client_secret_post: bool
    returns_issuer_in_response: bool
    """Whether authorization responses contain ``iss`` (RFC 9207)."""


@dataclass(frozen=True, slots=True)
class IdentityClaims:
    """The verified claims of an ID token about a person.

    ``authenticated_at``: when they authenticated at the provider, None if unknown. ``used_multi_factor``: more than
    one factor (RFC 8176, ``mfa``).
    """

    issuer: str
    subject: str
    groups: frozenset[str]
    authenticated_at: datetime | None
    user_name: str | None = None
    name: str | None = None
    email: str | None = None
    used_multi_factor: bool = False


@dataclass(frozen=True, slots=True)
class LinkedIdentity:
    """A provider's subject and the person they are linked to."""

    issuer: str
    subject: str
    person_id: UUID


@dataclass(frozen=True, slots=True)
class LinkedAccountSummary:
    """A provider account linked to a person, as account pages show it."""

    issuer: str
    bound_at: datetime
    last_used_at: datetime


class InvalidIdentityProviderSettings(IncorrectParams):
    """Provider settings are invalid. ``problems``: a sentence for each wrong field."""

    message = "Check the SSO settings"

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(*problems.values())
        self.problems = problems


class NoSuchIdentityProvider(NotFound):
    message = "Single sign-on is not set up"


class LastSignInMethodCannotBeRemoved(IncorrectParams):
    message = "This is the only way to sign in"


class SsoRefusalReason(StrEnum):
    """Why a single sign-on attempt was refused, as recorded in the audit log."""

    STATE = "state"
    USED = "used"
    CHANGED = "provider_changed"
    DECLINED = "provider_declined"
    UNREACHABLE = "provider_unreachable"
    ISSUER = "issuer"
    TOKEN = "token"  # noqa: S105 - a reason
    UNKNOWN = "unknown_person"
    DEACTIVATED = "deactivated"
    NAME_TAKEN = "name_taken"
    NO_ROLE = "no_role"
    OTHER_PERSON = "other_person"
    OTHER_WAY_IN = "other_way_in"
    NOT_FRESH = "not_fresh"
    INVITATION = "invitation"


class SsoRefused(Exception):
    """Single sign-on failed. ``text`` is for operators and logs; ``reported`` is the provider's error message."""

    def __init__(self, reason: SsoRefusalReason, text: str, *, reported: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text
        self.reported = reported

    @property
    def details(self) -> str:
        """What is wrong with the provider's response, in English; empty if the reason says everything."""
        known = (self.text if self.reason is SsoRefusalReason.TOKEN else None, self.reported)
        return " ".join(one for one in known if one)


def roles_from_groups(provider: IdentityProvider, claims: IdentityClaims) -> frozenset[MemberRole]:
    """The roles that the groups in a token grant; none without the claim."""
    return frozenset(role for value, role in provider.roles.items() if value in claims.groups)


def change_affects_granted_roles(before: IdentityProvider, after: IdentityProvider) -> bool:
    """Whether a settings change affects the roles that the provider grants."""
    heeded = ("issuer", "client_id", "subject_claim", "groups_claim", "roles", "enabled")
    return any(getattr(before, name) != getattr(after, name) for name in heeded)


def authentication_time_from_claims(claims: IdentityClaims, real_now: datetime) -> datetime:
    """When the person authenticated at the provider; long ago if it does not say.

    A provider with an existing session returns without asking for credentials.
    """
    return min(real_now, claims.authenticated_at or real_now - REAUTHENTICATION_LIFETIME)


def parse_identity_claims(provider: IdentityProvider, claims: Mapping[str, Any]) -> IdentityClaims:
    """The identity in a verified token's claims. Raises SsoRefused if there is no subject."""
    subject = claims.get(provider.subject_claim)
    if not isinstance(subject, str) or not 1 <= len(subject) <= LONGEST or not can_be_stored_in_database(subject):
        raise SsoRefused(
            SsoRefusalReason.TOKEN, f"The identity provider's response has no valid {provider.subject_claim} claim."
        )
    verified = claims.get("email_verified") in (True, "true")
    return IdentityClaims(
        provider.issuer,
        subject,
        _texts_of_claim(claims.get(provider.groups_claim) if provider.groups_claim else None),
        _moment_of_claim(claims.get("auth_time")),
        _text_of_claim(claims.get("preferred_username")),
        _text_of_claim(claims.get("name")),
        _text_of_claim(claims.get("email")) if verified else None,
        "mfa" in _texts_of_claim(claims.get("amr")),
    )


def needs_userinfo(provider: IdentityProvider, claims: Mapping[str, Any]) -> bool:
    """Whether the userinfo endpoint must be asked for missing claims (OpenID Connect Core 5.4)."""
    return any(name not in claims for name in _userinfo_claims(provider))


def merge_userinfo(
    provider: IdentityProvider, claims: Mapping[str, Any], userinfo: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Token claims completed from userinfo; email and email_verified come from the same source.

    Raises SsoRefused when userinfo is about another person (5.3.2).
    """
    if userinfo.get("sub") != claims.get("sub"):
        raise SsoRefused(SsoRefusalReason.TOKEN, "The identity provider's response is about somebody else.")
    wanted = [name for name in _userinfo_claims(provider) if name not in claims]
    if "email" in wanted:
        wanted.append("email_verified")
        claims = {name: value for name, value in claims.items() if name != "email_verified"}
    return {**claims, **{name: userinfo[name] for name in wanted if name in userinfo}}


def _userinfo_claims(provider: IdentityProvider) -> list[str]:
    return ["preferred_username", "name", "email", *([provider.groups_claim] if provider.groups_claim else [])]


def is_fresh_authentication(claims: IdentityClaims, started_at: datetime) -> bool:
    """Whether the person authenticated after we asked for it (``max_age=0``, OpenID Connect Core 3.1.2.1)."""
    return claims.authenticated_at is not None and claims.authenticated_at >= started_at - CLOCK_SKEW


def _texts_of_claim(claim: Any) -> frozenset[str]:
    if isinstance(claim, str):
        return frozenset({claim})
    if isinstance(claim, list):
        return frozenset(value for value in claim if isinstance(value, str))
    return frozenset()


def _moment_of_claim(claim: Any) -> datetime | None:
    if not isinstance(claim, int | float) or not 0 < claim < 2**35:
        return None
    return datetime.fromtimestamp(claim, UTC)


def _text_of_claim(claim: Any) -> str | None:
    found = claim.strip() if isinstance(claim, str) else ""
    return found if 1 <= len(found) <= LONGEST and can_be_stored_in_database(found) else None
