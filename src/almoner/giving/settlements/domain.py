"""Settlements: what a provider reports of its payments to us, and how that goes with what we know (M7); pure."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from almoner.giving.donations.domain import Donation
from almoner.giving.payments.domain import Payment
from almoner.giving.suspense.domain import Held
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

SETTLEMENT_LINE: Final = Lifecycle("settlement_line", {"exception": frozenset({"matched", "cleared"})})
MAX_NOTE: Final = 2000


class LineKind(StrEnum):
    """What a line reports."""

    PAYMENT = "payment"
    REFUND = "refund"


class Mismatch(StrEnum):
    """Why a line is not booked."""

    UNKNOWN_PAYMENT = "unknown_payment"
    NOT_PAID = "not_paid"
    NOT_REFUNDED = "not_refunded"
    OTHER_AMOUNT = "other_amount"
    OTHER_CURRENCY = "other_currency"
    DISMISSED = "dismissed"
    SETTLED_BEFORE = "settled_before"

    @property
    def sentence(self) -> str:
        """For people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    Mismatch.UNKNOWN_PAYMENT: "no payment of ours has this identifier",
    Mismatch.NOT_PAID: "as far as we know this payment was not made",
    Mismatch.NOT_REFUNDED: "as far as we know nothing of this payment was refunded",
    Mismatch.OTHER_AMOUNT: "the payment was of another amount",
    Mismatch.OTHER_CURRENCY: "the payment was in another currency, and conversion is not supported",
    Mismatch.DISMISSED: "the money was found to be none of ours",
    Mismatch.SETTLED_BEFORE: "another report settled this before",
}


class NotCleared(Exception):
    """A line cannot be cleared; the message says why."""


class ReportRefused(Exception):
    """A report cannot be imported, and nothing of it was; the message names every bad line."""


class ImportInterrupted(Exception):
    """An import has ended before its last line; the message says how to go on."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a report. ``gross``: what the donor paid or was given back; ``fee``: what the provider keeps."""

    kind: LineKind
    payment: str
    gross: Money
    fee: Money

    @property
    def key(self) -> tuple[str, LineKind]:
        """What is reported once."""
        return self.payment, self.kind

    @property
    def signed_gross(self) -> int:
        """In minor units, below zero for a refund, as the report has it."""
        return self.gross.minor if self.kind is LineKind.PAYMENT else -self.gross.minor

    @property
    def signed_net(self) -> int:
        """What came to our bank account by it, in minor units."""
        return self.signed_gross - self.fee.minor


@dataclass(frozen=True, slots=True)
class Report:
    """What a provider paid out at once: its own ``reference``, one currency, at least one line."""

    provider: str
    reference: str
    currency: str
    settled_on: date
    sha256: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line as it is kept. ``since``: when it was imported."""

    id: UUID
    settlement_id: UUID
    provider: str
    line: Line
    reason: Mismatch | None
    since: datetime


@dataclass(frozen=True, slots=True)
class Unbooked:
    """A line that is not booked, with the ``reference`` of its report.

    ``booked_in``: the reference of the report that has the same and is booked.
    """

    reference: str
    booked_in: str | None
    stored: StoredLine


@dataclass(frozen=True, slots=True)
class Sum:
    """Of several lines: what came to our bank account by them, below zero when it left, in minor units."""

    currency: str
    lines: int
    net_minor: int


@dataclass(frozen=True, slots=True)
class Settlement:
    """An imported report, with how many of its lines are booked, and their sums in minor units."""

    id: UUID
    provider: str
    reference: str
    currency: str
    settled_on: date
    sha256: str
    lines: int
    imported_at: datetime
    matched: int
    exceptions: int
    fee_minor: int
    net_minor: int


@dataclass(frozen=True, slots=True)
class Known:
    """What we know of a provider's payment. ``counted``: whether a line of this kind was booked for it."""

    payment: Payment | None
    donation: Donation | None
    held: Held | None
    counted: bool


def mismatch(line: Line, known: Known) -> Mismatch | None:
    """Why a line cannot be booked, None when it can: to held money if there is some, else to the donation."""
    if known.held is not None:
        return _mismatch_held(line, known.held, counted=known.counted)
    if known.payment is None:
        return Mismatch.UNKNOWN_PAYMENT
    if line.kind is LineKind.REFUND:
        return Mismatch.NOT_REFUNDED
    if known.donation is None or known.donation.payment_id != known.payment.id:
        return Mismatch.NOT_PAID
    if known.counted or known.donation.settlement is not None:
        return Mismatch.SETTLED_BEFORE
    return _difference(line, known.payment.money)


def _mismatch_held(line: Line, held: Held, *, counted: bool) -> Mismatch | None:
    if not held.posted or held.status == "dismissed":
        return Mismatch.DISMISSED
    if line.kind is LineKind.REFUND and held.status != "refunded":
        return Mismatch.NOT_REFUNDED
    if counted:
        return Mismatch.SETTLED_BEFORE
    return _difference(line, held.money)


def _difference(line: Line, expected: Money) -> Mismatch | None:
    if line.gross.currency != expected.currency:
        return Mismatch.OTHER_CURRENCY
    return None if line.gross == expected else Mismatch.OTHER_AMOUNT
