"""Credentials and the throttling of failed attempts; pure."""

import string
import unicodedata
from base64 import b32encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, Literal
from uuid import UUID

from almoner.kit.errors import IncorrectParams, ServiceUnavailable
from almoner.platform.audit.log import Actor

SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 200
_MAX_TYPED: Final = 2048
"""The maximum length of a typed password; normalising makes it shorter."""
_LEAST_DIFFERENT: Final = 5
_TOLD_NAME: Final = 4
"""User names shorter than this may occur in a password, because they occur in many words."""
_AROUND: Final = string.digits + string.punctuation + " "

STEP_SECONDS: Final = 30
"""The length of a time step of a one-time password (RFC 6238)."""
CLOCK_DRIFT_STEPS: Final = 1
"""The number of time steps by which an authenticator's clock may be off (ASVS 6.5.5)."""
RECOVERY_CODE_COUNT: Final = 10
"""Recovery codes made at once."""
_CODE_BYTES: Final = 10  # 80 bits: 16 characters
_CODE_SIGNS: Final = str.maketrans("018", "olb")
"""What people type for letters of base 32, which has no 0, 1 and 8."""

CHALLENGE_LIFETIME: Final = timedelta(minutes=5)
_LONGEST_PASSKEY_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class AuditContext:
    """Who changes a person's credentials, and from which network address, for the audit log."""

    actor: Actor
    ip_address: str | None


@dataclass(frozen=True, slots=True)
class AuthenticationFactors:
    """The authentication factors that a person has set up. ``recovery_codes`` is the number left."""

    password: bool
    authenticator: bool
    passkeys: int
    recovery_codes: int

    @property
    def has_second_factor(self) -> bool:
        """Whether the person has an authentication factor other than a password."""
        return self.authenticator or self.passkeys > 0


NO_FACTORS: Final = AuthenticationFactors(password=False, authenticator=False, passkeys=0, recovery_codes=0)


@dataclass(frozen=True, slots=True)
class Passkey:
    """A person's passkey.

    ``sign_count``: the last signature counter of its device; synced passkeys always report 0.
    ``sign_count_not_increased``: at the last use.
    """

    id: UUID
    person_id: UUID
    credential: bytes
    public_key: bytes
    sign_count: int
    name: str
    created_at: datetime
    last_used_at: datetime | None
    sign_count_not_increased: bool = False


PasswordProblem = Literal["too_short", "too_long", "has_user_name", "common", "unusable"]
_PASSWORD_PROBLEMS: Final[dict[PasswordProblem, str]] = {
    "too_short": f"Password must be at least {SHORTEST_PASSWORD} characters. Try several unusual words",
    "too_long": f"Password must be {LONGEST_PASSWORD} characters or fewer",
    "has_user_name": "Password must not contain your username",
    "common": "This is a common password and is easy to guess. Choose a different one",
    "unusable": "The password contains characters that are not valid",
}


class PasswordTooWeak(IncorrectParams):
    message = "This password is too easy to guess"

    def __init__(self, *problems: PasswordProblem) -> None:
        super().__init__(*(_PASSWORD_PROBLEMS[one] for one in problems))
        self.problems = problems


class SignInOverloaded(ServiceUnavailable):
    message = "Too many people are signing in right now. Try again in a moment"


class AuthenticatorExists(Exception):
    """The person already has an authenticator app, which must be removed before another is set up."""


class AuthenticatorNotPending(Exception):
    """No authenticator app is being set up."""


class LastSecondFactorCannotBeRemoved(Exception):
    """The person must have a second factor, so the last one cannot be removed."""


class NoSuchPasskey(LookupError):
    """The person has no passkey with this ID."""


class InvalidPasskeyResponse(Exception):
    """The browser's passkey response is not valid; the message says why, for logs and tests only."""


class AttemptThrottled(Exception):
    """Too many failed attempts: this one was not checked. ``until`` is real time."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


def normalise_password(password: str) -> str:
    """The password in NFKC, so that all ways to type it are equal (NIST 800-63B). Raises PasswordTooWeak."""
    try:
        password.encode()
    except UnicodeEncodeError:
        raise PasswordTooWeak("unusable") from None
    if len(password) > _MAX_TYPED:
        return password  # too long for any password: normalising many combining marks takes quadratic time
    return unicodedata.normalize("NFKC", password)


def ensure_strong_password(password: str, user_name: str, common_passwords: frozenset[str]) -> None:
    """Check that a password is long enough and not a common one (NIST 800-63B). Raises PasswordTooWeak.

    ``password`` is normalised. Raises PasswordTooWeak with all problems.
    """
    low = password.casefold()
    problems: list[PasswordProblem] = []
    if len(password) < SHORTEST_PASSWORD:
        problems.append("too_short")
    if len(password) > LONGEST_PASSWORD:
        problems.append("too_long")
    if any(name in low for name in _forbidden_names(user_name)):
        problems.append("has_user_name")
    if not problems and (low in common_passwords or low.strip(_AROUND) in common_passwords or _is_monotonous(low)):
        problems.append("common")
    if problems:
        raise PasswordTooWeak(*problems)


def _forbidden_names(user_name: str) -> Iterable[str]:
    whole = unicodedata.normalize("NFKC", user_name).casefold()
    return [name for name in (whole, whole.partition("@")[0]) if len(name) >= _TOLD_NAME]


def _is_monotonous(low: str) -> bool:
    """Few different characters, one piece again and again, or a run such as abcdefghijkl."""
    if len(set(low)) < _LEAST_DIFFERENT:
        return True
    if any(low == (low[:size] * len(low))[: len(low)] for size in range(1, len(low) // 2 + 1)):
        return True
    steps = {ord(after) - ord(before) for before, after in pairwise(low)}
    return steps <= {1} or steps <= {-1}


def can_be_stored_in_database(text: str) -> bool:
    """Whether the database can store the text: no NUL and no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


def clean_passkey_name(entered_name: str) -> str:
    """The name that a person gives a passkey, on one line; ``Passkey`` if empty."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in entered_name).split())
    return line[:_LONGEST_PASSKEY_NAME].rstrip() or "Passkey"


def parse_one_time_code(entered_code: str) -> str | None:
    """The six digits of a typed one-time code, spaces removed; None if it is not such a code."""
    signs = [sign for sign in entered_code if not sign.isspace() and sign != "-"]
    digits = [unicodedata.decimal(sign, None) for sign in signs]
    return "".join(map(str, digits)) if len(digits) == 6 and None not in digits else None


def encode_recovery_code(random_bytes: bytes) -> str:
    """Ten random bytes as a recovery code: ``abcd-efgh-ijkl-mnop``."""
    text = b32encode(random_bytes[:_CODE_BYTES]).decode().lower()
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


def parse_recovery_code(entered_code: str) -> str | None:
    """The typed recovery code in canonical form, whatever its case, spaces and hyphens; None if invalid."""
    signs = "".join(entered_code.replace("-", "").split()).lower().translate(_CODE_SIGNS)
    if len(signs) != 16 or not signs.isascii() or not signs.isalnum():
        return None
    return "-".join(signs[at : at + 4] for at in range(0, 16, 4))


@dataclass(frozen=True, slots=True)
class ThrottlePolicy:
    """After ``free_attempts`` failures, wait 1, 2, 4 ... seconds, up to ``max_delay``.

    One failure expires per ``failure_lifetime``.
    """

    free_attempts: int
    max_delay: timedelta
    failure_lifetime: timedelta


@dataclass(frozen=True, slots=True)
class FailedAttempts:
    """How many attempts have failed, and when the last one did (real time)."""

    failures: int
    last_at: datetime

    def count_unexpired(self, policy: ThrottlePolicy, now: datetime) -> int:
        """How many failures still count at this time."""
        return max(0, self.failures - max(timedelta(), now - self.last_at) // policy.failure_lifetime)

    def next_allowed_at(self, policy: ThrottlePolicy, now: datetime) -> datetime | None:
        """When the next attempt is allowed; None if it is allowed now."""
        over = self.count_unexpired(policy, now) - policy.free_attempts
        if over < 0:
            return None
        wait = min(timedelta(seconds=2 ** min(over, 20)), policy.max_delay)
        return self.last_at + wait if self.last_at + wait > now else None


MINUTE: Final = timedelta(minutes=1)
ATTEMPT_RETENTION: Final = timedelta(hours=24)
REFUSAL_LOG_INTERVAL: Final = MINUTE
"""The minimum interval between two audit entries for refused sign-ins with the same user name."""

PASSWORD_THROTTLE: Final = ThrottlePolicy(free_attempts=5, max_delay=MINUTE, failure_lifetime=timedelta(hours=1))
"""Limit for one user name from one network, or from one device that signed in before: at most 71 attempts in the first
hour.
"""
NAME_THROTTLE: Final = ThrottlePolicy(free_attempts=20, max_delay=MINUTE, failure_lifetime=timedelta(minutes=5))
"""Limit for one user name from unknown networks and devices: under 100 attempts in any hour (ASVS 6.3.1)."""
NETWORK_THROTTLE: Final = ThrottlePolicy(free_attempts=50, max_delay=MINUTE, failure_lifetime=timedelta(minutes=5))
"""Limit for all user names from one network, against password lists leaked from other sites."""
WIDER_NETWORK_THROTTLE: Final = ThrottlePolicy(free_attempts=200, max_delay=MINUTE, failure_lifetime=MINUTE)
"""Limit for all user names from a /48 or /24 network, because one customer may control all 65,536 networks in it."""
CODE_THROTTLE: Final = ThrottlePolicy(free_attempts=5, max_delay=MINUTE, failure_lifetime=timedelta(hours=1))
"""Like ``PASSWORD_THROTTLE``, for the six-digit code after the password."""
CODE_THROTTLE_ANYWHERE: Final = ThrottlePolicy(
    free_attempts=10, max_delay=timedelta(minutes=15), failure_lifetime=timedelta(hours=1)
)
"""Limit for six-digit codes from anywhere: 120 attempts a day have a chance of 1 in 2,700.

The attacker already knows the password.
"""
