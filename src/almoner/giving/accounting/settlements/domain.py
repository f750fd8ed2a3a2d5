"""Settlements: the provider's report of a payout to us, and how its lines match our records (M7); pure."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from almoner.giving.accounting.disputes.domain import Dispute
from almoner.giving.accounting.refunds.domain import Refund
from almoner.giving.accounting.suspense.domain import UnallocatedPayment
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.checkout.payments.domain import DisputeStatus, Payment
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

SETTLEMENT_LINE: Final = Lifecycle("settlement_line", {"exception": frozenset({"matched", "cleared"})})
MAX_NOTE: Final = 2000


class LineKind(StrEnum):
    """The kind of event that a settlement line reports."""

    PAYMENT = "payment"
    REFUND = "refund"
    DISPUTE = "dispute"
    """The donor's bank debited a payment."""
    DISPUTE_WON = "dispute_won"
    """The donor's bank returned it."""


DISPUTE_KINDS: Final = (LineKind.DISPUTE, LineKind.DISPUTE_WON)


class Mismatch(StrEnum):
    """Why a report line does not match a payment and is not booked."""

    UNKNOWN_PAYMENT = "unknown_payment"
    NOT_PAID = "not_paid"
    NOT_REFUNDED = "not_refunded"
    OTHER_AMOUNT = "other_amount"
    OTHER_CURRENCY = "other_currency"
    DISMISSED = "dismissed"
    SETTLED_BEFORE = "settled_before"
    NOT_DISPUTED = "not_disputed"
    NOT_WON = "not_won"

    @property
    def sentence(self) -> str:
        """The reason as a sentence."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    Mismatch.UNKNOWN_PAYMENT: "no payment of ours has this identifier",
    Mismatch.NOT_PAID: "we have no record that this payment was made",
    Mismatch.NOT_REFUNDED: "we have no record that this payment was refunded",
    Mismatch.OTHER_AMOUNT: "the payment has a different amount",
    Mismatch.OTHER_CURRENCY: "the payment has a different currency, and conversion is not supported",
    Mismatch.DISMISSED: "the money was written off because it is not ours",
    Mismatch.SETTLED_BEFORE: "another report has already settled this",
    Mismatch.NOT_DISPUTED: "we have no record that this payment was disputed",
    Mismatch.NOT_WON: "we have no record that this dispute was won",
}


class DismissLineError(Exception):
    """An unbooked report line cannot be cleared; the message says why."""


class SettlementReportError(Exception):
    """A report cannot be imported, and nothing was imported; the message names every bad line."""


class ImportInterrupted(Exception):
    """An import stopped before its last line; the message says how to continue."""


LineKey = tuple[str, LineKind, str]
"""The provider's payment, the kind of the line, and the provider's refund or dispute ID."""


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One line of a settlement report: a payment, refund or dispute with its gross amount and fee.

    ``refund``: the provider's ID of the refund or dispute, because a payment may have several; "" if it is not
    reported.
    """

    kind: LineKind
    payment: str
    gross: Money
    fee: Money
    refund: str = ""

    @property
    def key(self) -> LineKey:
        """The line's unique key within a report."""
        return self.payment, self.kind, self.refund

    @property
    def signed_gross(self) -> int:
        """The gross amount in minor units; negative for refunds and disputes."""
        comes = self.kind in (LineKind.PAYMENT, LineKind.DISPUTE_WON)
        return self.gross.minor if comes else -self.gross.minor

    @property
    def signed_net(self) -> int:
        """The net amount that reached our bank account, in minor units."""
        return self.signed_gross - self.fee.minor


@dataclass(frozen=True, slots=True)
class SettlementReport:
    """A provider's report of one payout to us, in one currency."""

    provider: str
    reference: str
    currency: str
    settled_on: date
    sha256: bytes
    lines: tuple[ReportLine, ...]


@dataclass(frozen=True, slots=True)
class StoredReportLine:
    """A stored settlement line. ``since``: when it was imported."""

    id: UUID
    settlement_id: UUID
    provider: str
    line: ReportLine
    reason: Mismatch | None
    since: datetime


@dataclass(frozen=True, slots=True)
class UnmatchedLine:
    """A report line that is not booked, with its report's reference.

    ``booked_in``: the reference of the report whose equal line is booked.
    """

    reference: str
    booked_in: str | None
    stored: StoredReportLine


@dataclass(frozen=True, slots=True)
class CurrencyTotal:
    """The net total of several report lines in one currency."""

    currency: str
    lines: int
    net_minor: int


@dataclass(frozen=True, slots=True)
class Settlement:
    """An imported report, with the number of booked lines and the sums in minor units."""

    id: UUID
    provider: str
    reference: str
    currency: str
    settled_on: date
    sha256: bytes
    lines: int
    imported_at: datetime
    matched: int
    exceptions: int
    fee_minor: int
    net_minor: int


@dataclass(frozen=True, slots=True)
class PaymentMatch:
    """The records of a payment that a report line names: donation, refunds, disputes, bookings.

    ``refunds``: sent refunds of the donation, oldest first; ``debited_refunds``: those with a booked line.
    ``disputes``: of the payment, oldest first; ``reported``: those with a booked line of this kind.
    """

    payment: Payment | None
    donation: Donation | None
    unallocated: UnallocatedPayment | None
    already_booked: bool
    refunds: tuple[Refund, ...] = ()
    debited_refunds: frozenset[UUID] = frozenset()
    disputes: tuple[Dispute, ...] = ()
    reported: frozenset[UUID] = frozenset()


def mismatch_reason(line: ReportLine, payment_match: PaymentMatch) -> Mismatch | None:
    """Why a report line cannot be booked; None if it can."""
    if line.kind in DISPUTE_KINDS:
        ours = payment_match.unallocated is not None or payment_match.payment is not None
        disputed = match_dispute(line, payment_match) if ours else Mismatch.UNKNOWN_PAYMENT
        return disputed if isinstance(disputed, Mismatch) else None
    if payment_match.unallocated is not None:
        return _unallocated_mismatch(line, payment_match.unallocated, counted=payment_match.already_booked)
    if payment_match.payment is None:
        return Mismatch.UNKNOWN_PAYMENT
    if line.kind is LineKind.REFUND:
        found = match_refund(line, payment_match)
        return found if isinstance(found, Mismatch) else None
    if payment_match.donation is None or payment_match.donation.payment_id != payment_match.payment.id:
        return Mismatch.NOT_PAID
    if payment_match.already_booked or payment_match.donation.settlement is not None:
        return Mismatch.SETTLED_BEFORE
    return _amount_mismatch(line, payment_match.payment.money)


def match_refund(line: ReportLine, payment_match: PaymentMatch) -> Refund | Mismatch:
    """The donation refund that a report line belongs to, or why there is none."""
    sent = [one for one in payment_match.refunds if not line.refund or one.provider_refund == line.refund]
    if not sent:
        return Mismatch.NOT_REFUNDED
    if line.gross.currency != sent[0].money.currency:
        return Mismatch.OTHER_CURRENCY
    undrawn = [one for one in sent if one.id not in payment_match.debited_refunds]
    if not undrawn:
        return Mismatch.SETTLED_BEFORE
    return next((one for one in undrawn if one.money == line.gross), Mismatch.OTHER_AMOUNT)


def match_dispute(line: ReportLine, payment_match: PaymentMatch) -> Dispute | Mismatch:
    """The dispute that a report line belongs to, or why there is none."""
    named = [one for one in payment_match.disputes if not line.refund or one.provider_dispute == line.refund]
    if not named:
        return Mismatch.NOT_DISPUTED
    if line.kind is LineKind.DISPUTE_WON:
        named = [one for one in named if one.status is DisputeStatus.WON]
    if not named:
        return Mismatch.NOT_WON
    if line.gross.currency != named[0].money.currency:
        return Mismatch.OTHER_CURRENCY
    untold = [one for one in named if one.id not in payment_match.reported]
    if not untold:
        return Mismatch.SETTLED_BEFORE
    return next((one for one in untold if one.money == line.gross), Mismatch.OTHER_AMOUNT)


def _unallocated_mismatch(
    line: ReportLine, unallocated_payment: UnallocatedPayment, *, counted: bool
) -> Mismatch | None:
    if not unallocated_payment.is_posted or unallocated_payment.status == "written_off":
        return Mismatch.DISMISSED
    if line.kind is LineKind.REFUND and unallocated_payment.status != "refunded":
        return Mismatch.NOT_REFUNDED
    if counted:
        return Mismatch.SETTLED_BEFORE
    return _amount_mismatch(line, unallocated_payment.money)


def _amount_mismatch(line: ReportLine, expected: Money) -> Mismatch | None:
    if line.gross.currency != expected.currency:
        return Mismatch.OTHER_CURRENCY
    return None if line.gross == expected else Mismatch.OTHER_AMOUNT
