"""A sign-in, its lifetime and its device label; pure. Times of sign-ins are real time."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.access.credentials.domain import AuthenticationFactors
from almoner.access.people.domain import Person, Realm
from almoner.kit.errors import IncorrectParams

Method = Literal["password", "password_totp", "password_recovery", "passkey", "provider"]
EndReason = Literal["signed_out", "revoked", "deactivated", "password_changed"]
Purpose = Literal["invitation", "reset"]
InvalidLinkReason = Literal["unknown", "used", "replaced", "revoked", "expired"]

REAUTHENTICATION_LIFETIME: Final = timedelta(minutes=10)
SEEN_INTERVAL: Final = timedelta(minutes=1)
TICKET_LIFETIME: Final = timedelta(minutes=10)
"""The maximum time between the first and the second factor."""
RETENTION: Final = timedelta(days=90)
"""How long ended sign-ins and links are kept."""
DEVICE_LIFETIME: Final = timedelta(days=180)
"""How long a browser is recognised after a sign-in."""
MAX_HOURLY_RESETS: Final = 3
LINK_LIFETIMES: Final[dict[Purpose, timedelta]] = {"invitation": timedelta(days=7), "reset": timedelta(hours=1)}
"""In business time."""


@dataclass(frozen=True, slots=True)
class SessionLifetime:
    """How long a sign-in lasts without activity, and at most."""

    idle_timeout: timedelta
    max_lifetime: timedelta


MEMBER_LIFETIME: Final = SessionLifetime(timedelta(hours=12), timedelta(days=30))
OPERATOR_LIFETIME: Final = SessionLifetime(timedelta(minutes=30), timedelta(hours=12))


def session_lifetime_for_realm(realm: Realm) -> SessionLifetime:
    """How long sign-ins of the realm last."""
    return MEMBER_LIFETIME if realm.partner else OPERATOR_LIFETIME


@dataclass(frozen=True, slots=True)
class Browser:
    """The browser behind a request: network address, User-Agent, and device cookie if any."""

    ip_address: str
    user_agent: str = ""
    device_cookie: str | None = None


@dataclass(frozen=True, slots=True)
class SignIn:
    """A browser session in which a person is signed in.

    ``device``: its display name. ``authenticated_at``: the last authentication. ``end_reason``: why it ended early.
    """

    id: UUID
    realm: Realm
    person_id: UUID
    method: Method
    address: str
    device: str
    created_at: datetime
    authenticated_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None
    end_reason: EndReason | None = None

    @property
    def ended_or_expires_at(self) -> datetime:
        """When the sign-in ended, or will end without further activity."""
        return self.ended_at or min(
            self.expires_at, self.last_seen_at + session_lifetime_for_realm(self.realm).idle_timeout
        )

    def is_unexpired(self, real_now: datetime) -> bool:
        """Whether the sign-in is valid, provided that the person is active."""
        return self.end_reason is None and real_now < self.ended_or_expires_at


@dataclass(frozen=True, slots=True)
class NewSignIn:
    """A sign-in that was just created, with the secrets for its cookies.

    ``session_secret``: for the session cookie; not stored. ``device_cookie``: for the cookie that recognises the
    browser for ``DEVICE_LIFETIME``.
    """

    sign_in: SignIn
    person: Person
    session_secret: str
    device_cookie: str


@dataclass(frozen=True, slots=True)
class PendingSecondFactor:
    """The first factor was right; ``ticket`` proves it for ten minutes until the second factor is given.

    ``factors``: the person's authentication factors.
    """

    ticket: str
    person: Person
    factors: AuthenticationFactors


@dataclass(frozen=True, slots=True)
class EmailLink:
    """An emailed single-use link; its times are business time. ``revoked``: it was made invalid (0028)."""

    id: UUID
    person_id: UUID
    purpose: Purpose
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    replaced_at: datetime | None = None
    revoked: bool = False

    def invalid_reason(self, now: datetime) -> InvalidLinkReason | None:
        """Why the link no longer works; None if it does."""
        if self.used_at is not None:
            return "used"
        if self.replaced_at is not None:
            return "replaced"
        if self.revoked:
            return "revoked"
        return "expired" if now >= self.expires_at else None


class EmailAddressRecentlyChanged(IncorrectParams):
    """Links that set a password are not sent yet to the person's new email address. ``until``: when they are."""

    message = "The email address has just changed"

    def __init__(self, name: str, until: datetime) -> None:
        super().__init__(
            f"the email address of {name} was changed less than 7 days ago. Links that set a password are sent to it "
            f"from {until:%Y-%m-%d %H:%M} UTC. To give access sooner, remove the member and invite the new address"
        )
        self.until = until


class SignInFailed(Exception):
    """The credentials are wrong; the same error for all reasons (ASVS 6.3.8)."""


class SecondFactorTicketExpired(Exception):
    """The time between the first step and the second factor ran out: sign-in must start again."""


class InvalidEmailLink(Exception):
    """The emailed link no longer works; ``why`` may be shown."""

    def __init__(self, why: InvalidLinkReason) -> None:
        super().__init__(why)
        self.why = why


_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
_UNKNOWN_DEVICE: Final = "Unknown browser"


def device_label(user_agent: str) -> str:
    """The browser and system in a User-Agent, for display: ``Firefox on Windows``."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), None)
    return f"{browser or _UNKNOWN_DEVICE} on {system}" if system else browser or _UNKNOWN_DEVICE
