"""Rules that let a payment start, require an email code, or make the donor wait (H6, H7, H11); pure.

All moments here are real time. A try is one card at the provider; a source is an address or a device.
"""

import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from hmac import compare_digest
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final
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
"""Codes sent in an hour for one network address, which an office or a telephone network may share."""

ALERT_WINDOW: Final = timedelta(minutes=10)  # H7
_ALERT_DECLINES: Final = 30  # H7: more than these
_ALERT_SHARE: Final = 0.2  # H7: of all attempts, more than this
ALERT_DURATION: Final = timedelta(minutes=30)
"""A partner is calm when so long no decline has found the rule of H7 true."""

_IPV6_NETWORK: Final = 64
"""One customer has at least so much of IPv6: its 2^64 addresses are one source."""


@dataclass(frozen=True, slots=True)
class CardTestingLimits:
    """The limits that protect against card testing.

    ``per_minute``, ``per_hour``: payments that one address may begin; ``per_day``: one device. ``budget``: attempts of
    one source in any hour, those not yet made on open payments included. ``first``: attempts on the payment of a source
    that has nothing open; ``beside``: beside open ones. ``suspect_after``: declines of one source in an hour after
    which a code is asked for, if ``asks`` says that it ever is. ``open_for``: how long a payment may be left open.
    It is ended at the provider then: room that is given back while the page still takes cards would be attempts twice.
    """

    per_minute: int
    per_hour: int
    per_day: int
    budget: int
    first: int
    tries_beside_open: int
    suspect_after: int
    payment_lifetime: timedelta
    asks_for_code: bool


STRICT_LIMITS: Final = CardTestingLimits(
    6,
    20,
    10,
    budget=6,
    first=3,
    tries_beside_open=1,
    suspect_after=3,
    payment_lifetime=_TEN_MINUTES,
    asks_for_code=True,
)
LOOSE_LIMITS: Final = CardTestingLimits(
    500,
    5_000,
    5_000,
    budget=25_000,
    first=5,
    tries_beside_open=5,
    suspect_after=25_000,
    payment_lifetime=2 * DAY,
    asks_for_code=False,
)
"""No real card is there to be tested, but partners' own tests are."""


@dataclass(frozen=True, slots=True)
class BrowserFingerprint:
    """Keyed hashes of a browser's network address and device cookie (None without one)."""

    address: bytes
    device: bytes | None

    @property
    def sources(self) -> list[bytes]:
        """The hashes of address and device that attempts are counted by."""
        return [self.address] if self.device is None else [self.address, self.device]


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """Recent declines, open attempts and blocks of one address or device.

    ``declines``: moments within the last hour, oldest first. ``open_since``: when the oldest of those payments began.
    """

    declines: tuple[datetime, ...]
    open_tries: int
    blocked_until: datetime | None
    open_since: datetime | None = None

    @property
    def used_budget(self) -> int:
        """Card attempts in the last hour, including those still possible on open payments."""
        return len(self.declines) + self.open_tries


@dataclass(frozen=True, slots=True)
class VelocityState:
    """Everything that the decision about a new payment depends on.

    ``device_begun``: by the device in the last day. ``forced``: the partner is under attack. ``passed``: a code was
    given for this session and email address, and has not been spent.
    """

    sources: tuple[SourceHistory, ...]
    address_attempts: tuple[datetime, ...]
    device_attempts: tuple[datetime, ...]
    device_known: bool
    code_forced: bool
    code_passed: bool


class PaymentBlocked(Exception):
    """The payment may not start now."""


class CodeRequired(PaymentBlocked):
    """The donor must first enter a code sent to their email address."""


class WaitReason(Enum):
    """Why a donor must wait."""

    SLOW = "slow"
    """Too many payments were started from the address or device."""
    DECLINED = "declined"
    """Cards were declined."""
    CROWDED = "crowded"
    """Others on the same address have started payments and not finished them."""
    CODES = "codes"
    """The email address has received too many codes."""
    CODES_CROWDED = "codes_crowded"
    """No more codes for this network address."""


class RateLimited(PaymentBlocked):
    """The payment may not start before ``until``."""

    def __init__(self, until: datetime, why: WaitReason = WaitReason.SLOW) -> None:
        super().__init__()
        self.until = until
        self.why = why


class CodesExhausted(RateLimited):
    """No further email code is sent before ``until``."""


class CodeResult(Enum):
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

    def check(self, entered: str, right: str, at: datetime) -> CodeResult:
        """Check an entered code; an expired one is never reported as right or wrong (H11)."""
        if not (given := extract_digits(entered)):
            return CodeResult.MISSING
        if not self.is_valid_at(at):
            return CodeResult.OVER
        return CodeResult.RIGHT if compare_digest(given, right) else CodeResult.WRONG


@dataclass(frozen=True, slots=True)
class CodeMail:
    """An email code to be sent, and its partner."""

    code: EmailCode
    partner_id: UUID


@dataclass(frozen=True, slots=True)
class PaymentOutcome:
    """What the provider reports about a payment: declined cards, paid, ended."""

    payment_id: UUID
    declined: int
    paid: bool
    ended: bool


@dataclass(frozen=True, slots=True)
class DeclineSource:
    """The partner and browser behind a payment on which a card was declined."""

    partner_id: UUID
    visitor: BrowserFingerprint


@dataclass(frozen=True, slots=True)
class RecentDeclines:
    """Recent declines by address, device and partner."""

    by_address: int
    by_device: int
    declines: int
    attempts: int


def allowed_tries_for(state: VelocityState, limits: CardTestingLimits, at: datetime) -> int:
    """How many cards may be tried on a new payment. Raises RateLimited, CodeRequired."""
    _ensure_below_rate(state.address_attempts, MINUTE, limits.per_minute, at)
    _ensure_below_rate(state.address_attempts, HOUR, limits.per_hour, at)
    _ensure_below_rate(state.device_attempts, DAY, limits.per_day, at)
    pauses = [seen.blocked_until for seen in state.sources if seen.blocked_until and seen.blocked_until > at]
    if pauses:
        raise RateLimited(max(pauses), WaitReason.DECLINED)
    full = [_budget_exceeded(seen, limits, at) for seen in state.sources if seen.used_budget >= limits.budget]
    if full:
        raise max(full, key=lambda wait: wait.until)
    declined = max(len(seen.declines) for seen in state.sources)
    suspicious = state.code_forced or declined >= limits.suspect_after or not state.device_known
    if limits.asks_for_code and suspicious and not state.code_passed:
        raise CodeRequired
    beside_others = any(seen.open_tries for seen in state.sources)
    left = limits.budget - max(seen.used_budget for seen in state.sources)
    return min(limits.tries_beside_open if beside_others else limits.first, left)


def sources_to_block(visitor: BrowserFingerprint, recent: RecentDeclines, limits: CardTestingLimits) -> list[bytes]:
    """The addresses and devices whose declines in the last hour exceed the limit (H6)."""
    counted = zip(visitor.sources, (recent.by_address, recent.by_device), strict=False)
    return [source for source, declines in counted if declines >= limits.budget]


def is_under_attack(recent: RecentDeclines, limits: CardTestingLimits) -> bool:
    """Whether a partner's declines in ten minutes indicate card testing (H7)."""
    return (
        limits.asks_for_code and recent.declines > _ALERT_DECLINES and recent.declines > recent.attempts * _ALERT_SHARE
    )


def source_of_address(address: str) -> str:
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


def extract_digits(entered: str) -> str:
    """The digits in a typed text, as ASCII."""
    return "".join(str(unicodedata.digit(sign)) for sign in entered if unicodedata.digit(sign, None) is not None)


def _ensure_below_rate(moments: tuple[datetime, ...], window: timedelta, max_count: int, at: datetime) -> None:
    """Raises RateLimited when ``max_count`` of the moments lie within the window."""
    within = [moment for moment in moments if moment > at - window]
    if len(within) >= max_count:
        raise RateLimited(within[-max_count] + window)


def _budget_exceeded(seen: SourceHistory, limits: CardTestingLimits, at: datetime) -> RateLimited:
    """Until the oldest decline is forgotten or the oldest open payment is ended, whichever comes first."""
    waits = [RateLimited(seen.declines[0] + HOUR, WaitReason.DECLINED)] if seen.declines else []
    if seen.open_tries:
        ends = (seen.open_since or at) + limits.payment_lifetime
        # An overdue one has not been ended yet: the provider is being asked, or its bank is busy with it.
        waits.append(RateLimited(max(ends, at + MINUTE), WaitReason.CROWDED))
    return min(waits, key=lambda wait: wait.until)
