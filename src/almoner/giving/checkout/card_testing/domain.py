"""Rules that let a payment start, require an email code, or make the donor wait (H6, H7, H11); pure.

All times here are real time. A try is one card attempt at the provider; a source is an address or a device.
"""

import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from hmac import compare_digest
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, NamedTuple
from uuid import UUID

MINUTE: Final = timedelta(minutes=1)
_TEN_MINUTES: Final = timedelta(minutes=10)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(hours=24)
BLOCK_DURATION: Final = timedelta(minutes=30)  # H6

CODE_DIGITS: Final = 6
CODE_LIFETIME: Final = timedelta(minutes=10)  # H11
MAX_CODE_ATTEMPTS: Final = 5  # H11
MAX_CODES_PER_EMAIL: Final = 3
"""The maximum number of codes to one email address."""
MAX_CODES_PER_ADDRESS: Final = 20
"""The maximum number of codes an hour for one network address, which an office or mobile network may share."""

ALERT_WINDOW: Final = timedelta(minutes=10)  # H7
_ALERT_DECLINES: Final = 30  # H7: more than these
_ALERT_SHARE: Final = 0.2  # H7: of all attempts, more than this
ALERT_DURATION: Final = timedelta(minutes=30)
"""How long an alert lasts after the last decline that met the rule of H7."""

_IPV6_NETWORK: Final = 64
"""The prefix length of an IPv6 source: one customer has at least 2^64 addresses."""


@dataclass(frozen=True, slots=True)
class CardTestingLimits:
    """The limits that protect against card testing.

    ``ip_address_payments_per_minute``, ``ip_address_payments_per_hour``: payments that one address may start;
    ``device_payments_per_day``: one device. ``source_card_attempts_per_hour``: card attempts of one source in any hour,
    including those still possible on open payments. ``card_attempts_without_open_payments``: attempts on a source's
    payment without open ones; ``card_attempts_with_open_payments``: with open ones.
    ``email_code_required_after_declines``: declines of one source in an hour after which a code is required, if
    ``may_require_email_code``. ``open_payment_lifetime``: how long a payment may stay open; it is then cancelled at the
    provider, because attempts returned to the budget while its page still takes cards would count twice.
    """

    ip_address_payments_per_minute: int
    ip_address_payments_per_hour: int
    device_payments_per_day: int
    source_card_attempts_per_hour: int
    card_attempts_without_open_payments: int
    card_attempts_with_open_payments: int
    email_code_required_after_declines: int
    open_payment_lifetime: timedelta
    may_require_email_code: bool


STRICT_LIMITS: Final = CardTestingLimits(
    6,
    20,
    10,
    source_card_attempts_per_hour=6,
    card_attempts_without_open_payments=3,
    card_attempts_with_open_payments=1,
    email_code_required_after_declines=3,
    open_payment_lifetime=_TEN_MINUTES,
    may_require_email_code=True,
)
LOOSE_LIMITS: Final = CardTestingLimits(
    500,
    5_000,
    5_000,
    source_card_attempts_per_hour=25_000,
    card_attempts_without_open_payments=5,
    card_attempts_with_open_payments=5,
    email_code_required_after_declines=25_000,
    open_payment_lifetime=2 * DAY,
    may_require_email_code=False,
)
"""Limits where no real card can be tested, but partners run their own tests."""


@dataclass(frozen=True, slots=True)
class BrowserFingerprint:
    """Keyed hashes of a browser's network address and device cookie (None without one)."""

    ip_address_hash: bytes
    device_cookie_hash: bytes | None

    @property
    def source_hashes(self) -> list[bytes]:
        """The hashes of address and device that attempts are counted by."""
        return (
            [self.ip_address_hash]
            if self.device_cookie_hash is None
            else [self.ip_address_hash, self.device_cookie_hash]
        )


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """Recent declines, open attempts and blocks of one address or device.

    ``decline_times``: times within the last hour, oldest first. ``oldest_open_payment_at``: when the oldest open
    payment started.
    """

    decline_times: tuple[datetime, ...]
    open_attempt_count: int
    blocked_until: datetime | None
    oldest_open_payment_at: datetime | None = None

    @property
    def used_attempt_count(self) -> int:
        """Card attempts in the last hour, including those still possible on open payments."""
        return len(self.decline_times) + self.open_attempt_count


@dataclass(frozen=True, slots=True)
class VelocityState:
    """Everything that the decision about a new payment depends on.

    ``device_attempts``: by the device in the last day. ``code_forced``: the partner is under attack. ``code_passed``: a
    code was entered for this session and email address, and is not yet used.
    """

    sources: tuple[SourceHistory, ...]
    address_attempts: tuple[datetime, ...]
    device_attempts: tuple[datetime, ...]
    device_known: bool
    code_forced: bool
    code_passed: bool


class AllowedPayment(NamedTuple):
    """The permission to start a payment: the number of card attempts, and the email code that it uses, if any."""

    max_card_attempts: int
    email_code_id: UUID | None


class PaymentBlocked(Exception):
    """The payment may not start now."""


class EmailCodeRequired(PaymentBlocked):
    """The donor must first enter a code sent to their email address."""


class RateLimitReason(Enum):
    """Why a donor must wait."""

    SLOW = "slow"
    """Too many payments were started from the address or device."""
    DECLINED = "declined"
    """Cards were declined."""
    CROWDED = "crowded"
    """Others on the same address have unfinished payments."""
    CODES = "codes"
    """The email address has received too many codes."""
    CODES_CROWDED = "codes_crowded"
    """Too many codes were sent for this network address."""


class RateLimited(PaymentBlocked):
    """The payment may not start before ``until``."""

    def __init__(self, until: datetime, why: RateLimitReason = RateLimitReason.SLOW) -> None:
        super().__init__()
        self.until = until
        self.why = why


class EmailCodesExhausted(RateLimited):
    """No further email code is sent before ``until``."""


class EmailCodeCheckResult(Enum):
    """The result of checking a typed code."""

    RIGHT = "right"
    MISSING = "missing"
    WRONG = "wrong"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class EmailCode:
    """An email code that was sent. ``recipient`` is encrypted; ``spent``: it was used to start a payment."""

    id: UUID
    session_id: UUID
    email: bytes
    recipient: bytes
    expires_at: datetime
    failed_attempts: int
    spent: bool

    def is_valid_at(self, at: datetime) -> bool:
        """Whether the code may still be entered."""
        return not self.spent and self.failed_attempts < MAX_CODE_ATTEMPTS and at < self.expires_at

    def check_entered_code(self, entered_code: str, expected_code: str, at: datetime) -> EmailCodeCheckResult:
        """Check an entered code; an expired one is never reported as right or wrong (H11)."""
        if not (given := extract_digits(entered_code)):
            return EmailCodeCheckResult.MISSING
        if not self.is_valid_at(at):
            return EmailCodeCheckResult.OVER
        return EmailCodeCheckResult.RIGHT if compare_digest(given, expected_code) else EmailCodeCheckResult.WRONG


@dataclass(frozen=True, slots=True)
class PartnerEmailCode:
    """An email code to be sent, and its partner."""

    code: EmailCode
    partner_id: UUID


@dataclass(frozen=True, slots=True)
class PaymentOutcome:
    """What the provider reports about a payment: declined cards, paid, ended."""

    payment_id: UUID
    declined_attempt_count: int
    is_paid: bool
    has_ended: bool


@dataclass(frozen=True, slots=True)
class CardTestingSuspect:
    """The partner and browser of a payment on which a card was declined."""

    partner_id: UUID
    browser: BrowserFingerprint


@dataclass(frozen=True, slots=True)
class RecentDeclines:
    """Recent declines by address, device and partner."""

    ip_address_decline_count: int
    device_decline_count: int
    partner_decline_count: int
    partner_attempt_count: int


def max_card_attempts(state: VelocityState, limits: CardTestingLimits, at: datetime) -> int:
    """How many cards may be tried on a new payment. Raises RateLimited, EmailCodeRequired."""
    _ensure_below_rate(state.address_attempts, MINUTE, limits.ip_address_payments_per_minute, at)
    _ensure_below_rate(state.address_attempts, HOUR, limits.ip_address_payments_per_hour, at)
    _ensure_below_rate(state.device_attempts, DAY, limits.device_payments_per_day, at)
    pauses = [seen.blocked_until for seen in state.sources if seen.blocked_until and seen.blocked_until > at]
    if pauses:
        raise RateLimited(max(pauses), RateLimitReason.DECLINED)
    full = [
        _budget_exceeded(seen, limits, at)
        for seen in state.sources
        if seen.used_attempt_count >= limits.source_card_attempts_per_hour
    ]
    if full:
        raise max(full, key=lambda wait: wait.until)
    declined = max(len(seen.decline_times) for seen in state.sources)
    suspicious = state.code_forced or declined >= limits.email_code_required_after_declines or not state.device_known
    if limits.may_require_email_code and suspicious and not state.code_passed:
        raise EmailCodeRequired
    beside_others = any(seen.open_attempt_count for seen in state.sources)
    left = limits.source_card_attempts_per_hour - max(seen.used_attempt_count for seen in state.sources)
    return min(
        limits.card_attempts_with_open_payments if beside_others else limits.card_attempts_without_open_payments, left
    )


def sources_to_block(
    browser: BrowserFingerprint, recent_declines: RecentDeclines, limits: CardTestingLimits
) -> list[bytes]:
    """The addresses and devices whose declines in the last hour exceed the limit (H6)."""
    counted = zip(
        browser.source_hashes,
        (recent_declines.ip_address_decline_count, recent_declines.device_decline_count),
        strict=False,
    )
    return [source for source, declines in counted if declines >= limits.source_card_attempts_per_hour]


def is_under_attack(recent_declines: RecentDeclines, limits: CardTestingLimits) -> bool:
    """Whether a partner's declines in ten minutes indicate card testing (H7)."""
    return (
        limits.may_require_email_code
        and recent_declines.partner_decline_count > _ALERT_DECLINES
        and recent_declines.partner_decline_count > recent_declines.partner_attempt_count * _ALERT_SHARE
    )


def truncate_ipv6_address_to_network(address: str) -> str:
    """The address as one source: itself, or its network for IPv6."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed.packed, _IPV6_NETWORK), strict=False))
    return str(parsed)


def extract_digits(entered_text: str) -> str:
    """The digits in a typed text, as ASCII."""
    return "".join(str(unicodedata.digit(sign)) for sign in entered_text if unicodedata.digit(sign, None) is not None)


def _ensure_below_rate(moments: tuple[datetime, ...], window: timedelta, max_count: int, at: datetime) -> None:
    """Raises RateLimited if ``max_count`` of the times are within the window."""
    within = [moment for moment in moments if moment > at - window]
    if len(within) >= max_count:
        raise RateLimited(within[-max_count] + window)


def _budget_exceeded(seen: SourceHistory, limits: CardTestingLimits, at: datetime) -> RateLimited:
    """The wait until the oldest decline expires or the oldest open payment is cancelled, whichever is first."""
    waits = [RateLimited(seen.decline_times[0] + HOUR, RateLimitReason.DECLINED)] if seen.decline_times else []
    if seen.open_attempt_count:
        ends = (seen.oldest_open_payment_at or at) + limits.open_payment_lifetime
        # An overdue payment is still open: it is being cancelled, or its bank is processing it.
        waits.append(RateLimited(max(ends, at + MINUTE), RateLimitReason.CROWDED))
    return min(waits, key=lambda wait: wait.until)
