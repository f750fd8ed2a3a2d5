"""Payments, test cards and what becomes of an attempt; pure."""

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Final, Literal

from almoner.kit.states import Lifecycle
from almoner.kit.time import end_of_month

PAYMENT: Final = Lifecycle(
    "provider_test.payment",
    {
        "open": frozenset({"processing", "succeeded", "failed", "cancelled"}),
        "processing": frozenset({"open", "succeeded", "failed", "cancelled"}),
    },
)

DISPUTE: Final = Lifecycle("provider_test.dispute", {"open": frozenset({"won", "lost"})})

MAX_ATTEMPTS: Final = 5  # H6: a card tester gets no sixth try on one payment; the merchant may ask for fewer
DISPUTED_AFTER: Final = timedelta(days=1)  # settled 9
EVIDENCE_WITHIN: Final = timedelta(days=7)
WINNING_EVIDENCE: Final = "winning_evidence"
LOSING_EVIDENCE: Final = "losing_evidence"
"""Text in an explanation that makes a dispute lost at once."""

ATTEMPT_FAILED: Final = "attempt_failed"
"""The webhook for a declined card after which another one may be tried; ``failed`` reports the last one."""
METHOD_UPDATED: Final = "payment_method.updated"
RENEWED_FOR_YEARS: Final = 3
PaymentKind = Literal["payment", "setup", "charge"]
"""``setup`` saves a card and takes no money; ``charge`` takes money with a saved card, without the donor."""

_RETRY_GAPS: Final = tuple(timedelta(seconds=seconds) for seconds in (2, 10, 60, 300, 1800, 3600))
"""Waits before the second and later attempts of a callback; the last one repeats."""
GIVE_UP_AFTER: Final = timedelta(days=3)


class DeclineReason(StrEnum):
    """Why the card's bank declined, for the merchant only. Donors always see the same message (H6)."""

    DECLINED = "card_declined"
    INSUFFICIENT_FUNDS = "insufficient_funds"
    NOT_CONFIRMED = "authentication_failed"
    NOT_A_TEST_CARD = "not_a_test_card"
    AUTHENTICATION_REQUIRED = "authentication_required"
    EXPIRED = "expired_card"
    LOST = "lost_card"
    REVOKED = "revocation_of_authorization"


CHARGE_DECLINES: Final = (
    DeclineReason.DECLINED,
    DeclineReason.INSUFFICIENT_FUNDS,
    DeclineReason.LOST,
    DeclineReason.AUTHENTICATION_REQUIRED,
    DeclineReason.EXPIRED,
    DeclineReason.REVOKED,
)
"""How the next charge of a saved card can be made to fail."""


class CardOutcome(StrEnum):
    """The outcome of a test card (settled 9)."""

    SUCCEEDS = "succeeds"
    DECLINED = "declined"
    INSUFFICIENT_FUNDS = "insufficient_funds"
    CHALLENGED = "challenged"
    DISPUTED_LATER = "disputed_later"
    DECLINED_LATER = "declined_later"
    ALWAYS_CHALLENGED = "always_challenged"


TEST_CARDS: Final = {
    "4242424242424242": CardOutcome.SUCCEEDS,
    "4000000000000002": CardOutcome.DECLINED,
    "4000000000009995": CardOutcome.INSUFFICIENT_FUNDS,
    "4000000000003220": CardOutcome.CHALLENGED,
    "4000000000000259": CardOutcome.DISPUTED_LATER,
    "4000000000000341": CardOutcome.DECLINED_LATER,
    "4000002760003184": CardOutcome.ALWAYS_CHALLENGED,
}


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment as the provider keeps it. ``amount`` in minor units.

    ``agreement``: what the card is saved for once it is paid. ``payment_method_id``: the card that was saved, or is
    charged. ``first_payment_id``: of a charge, in which the donor agreed to it. ``updated_at``: when the status last
    changed; None before it is stored.
    """

    id: str
    kind: PaymentKind
    amount: int
    currency: str
    description: str
    reference: str
    return_url: str
    cancel_url: str
    callback_url: str
    language: str
    status: str
    attempts: int
    max_attempts: int
    last_decline: str | None
    brand: str | None
    last_four: str | None
    disputes_later: bool
    created_at: datetime
    agreement: str | None = None
    agreement_version: str | None = None
    email: str | None = None
    payment_method_id: str | None = None
    first_payment_id: str | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PaymentMethod:
    """A card that a donor saved to be charged later.

    ``behaviour``: of its test card. ``fails_with``: why the next charge fails. ``changes``: how often it was renewed.
    """

    id: str
    customer: str
    brand: str
    last_four: str
    expires_at: datetime
    behaviour: str
    fails_with: str | None
    agreement: str
    agreement_version: str
    email: str
    callback_url: str
    changes: int
    created_at: datetime

    def charge_decline_reason(self, now: datetime) -> DeclineReason | None:
        """Why a charge fails now; None when it succeeds."""
        if self.fails_with is not None:
            return DeclineReason(self.fails_with)
        if self.expires_at < now:
            return DeclineReason.EXPIRED
        match self.behaviour:
            case CardOutcome.DECLINED_LATER:
                return DeclineReason.DECLINED
            case CardOutcome.ALWAYS_CHALLENGED:
                return DeclineReason.AUTHENTICATION_REQUIRED
        return None


class ChargeRefusal(Enum):
    """Why nothing was charged."""

    NO_SUCH_METHOD = "no_such_method"
    NO_SUCH_AGREEMENT = "no_such_agreement"
    KEY_REUSED = "key_reused"


@dataclass(frozen=True, slots=True)
class Refund:
    """Money that was refunded to the donor. ``amount``: in minor units."""

    id: str
    payment_id: str
    amount: int
    currency: str


DISPUTE_OPENED: Final = "dispute.opened"


@dataclass(frozen=True, slots=True)
class Dispute:
    """A payment that the card's bank wants back, from ``opened_at`` on. ``amount`` in minor units."""

    id: str
    payment_id: str
    amount: int
    currency: str
    status: str
    reason: str
    opened_at: datetime
    evidence_submitted_at: datetime | None = None

    @property
    def evidence_due_at(self) -> datetime | None:
        """Until when evidence is accepted; None if it is not or no longer."""
        accepts = self.status == "open" and self.evidence_submitted_at is None
        return self.opened_at + EVIDENCE_WITHIN if accepts else None


class EvidenceRefusal(Enum):
    """Why evidence was not accepted."""

    NO_SUCH_DISPUTE = "no_such_dispute"
    NO_SUCH_FILE = "no_such_file"
    SUBMITTED_BEFORE = "submitted_before"
    CLOSED = "closed"


class RefundRefusal(Enum):
    """Why nothing was sent back."""

    NO_SUCH_PAYMENT = "no_such_payment"
    KEY_REUSED = "key_reused"
    TOO_MUCH = "too_much"


@dataclass(frozen=True, slots=True)
class Callback:
    """A callback to the merchant, leased for one attempt."""

    id: str
    url: str
    body: bytes
    attempts: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Card:
    """A card as typed, already checked for form. The number is kept out of every repr. ``expiry``: year and month."""

    number: str = field(repr=False)
    expiry: tuple[int, int] = (2099, 12)

    @property
    def last_four(self) -> str:
        """The last four digits, which with the brand are all that is stored."""
        return self.number[-4:]

    @property
    def expires_at(self) -> datetime:
        """The last second of its last month."""
        return end_of_month(*self.expiry)

    @property
    def brand(self) -> str:
        """The brand by the first digits."""
        return {"4": "visa", "5": "mastercard", "2": "mastercard", "3": "amex"}.get(self.number[0], "other")

    @property
    def outcome(self) -> CardOutcome | None:
        """The simulated outcome of a test card; None if the number is not a test card."""
        return TEST_CARDS.get(self.number)


@dataclass(frozen=True, slots=True)
class CardForm:
    """The four fields of the form as posted."""

    number: str = field(repr=False)
    expiry: str
    cvc: str = field(repr=False)
    name: str

    def parse_card_or_field_errors(self, now: datetime) -> Card | dict[str, str]:
        """The card, or the message key of each invalid field."""
        digits = re.sub(r"[\s-]", "", _ascii_digits(self.number))
        problems = {}
        if not digits:
            problems["number"] = "test_provider.number.missing"
        elif not re.fullmatch(r"\d{12,19}", digits, re.ASCII) or not is_luhn_valid(digits):
            problems["number"] = "test_provider.number.wrong"
        expiry = _parse_expiry(_ascii_digits(self.expiry))
        if not self.expiry.strip():
            problems["expiry"] = "test_provider.expiry.missing"
        elif expiry is None:
            problems["expiry"] = "test_provider.expiry.wrong"
        elif expiry < (now.year, now.month):
            problems["expiry"] = "test_provider.expiry.past"
        if not re.fullmatch(r"\d{3,4}", _ascii_digits(self.cvc).strip(), re.ASCII):
            problems["cvc"] = "test_provider.cvc.wrong"
        if not self.name.strip():
            problems["name"] = "test_provider.name.missing"
        return problems if problems or expiry is None else Card(digits, expiry)


def is_luhn_valid(digits: str) -> bool:
    """Whether the check digit of a card number is right (ISO/IEC 7812-1 annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _ascii_digits(text: str) -> str:
    """Any script's digits as their ASCII twins: keyboards write their own."""
    values = ((character, unicodedata.decimal(character, None)) for character in text)
    return "".join(character if value is None else str(value) for character, value in values)


def _parse_expiry(text: str) -> tuple[int, int] | None:
    """(year, month) of ``MM/YY`` or ``MM/YYYY`` with any usual separator."""
    match = re.fullmatch(r"(0?[1-9]|1[0-2])\s*[/.\- ]?\s*(\d{2}|20\d{2})", text.strip(), re.ASCII)
    if match is None:
        return None
    year = int(match[2])
    return (year if year > 99 else 2000 + year, int(match[1]))


def retry_delay(attempts: int) -> timedelta:
    """The wait after ``attempts`` failed attempts."""
    return _RETRY_GAPS[min(attempts, len(_RETRY_GAPS)) - 1]
