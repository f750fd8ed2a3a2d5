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


class SettlementLineKind(StrEnum):
    """The kind of event that a settlement line reports."""

    PAYMENT = "payment"
    REFUND = "refund"
    DISPUTE = "dispute"
    """The donor's bank debited a payment."""
    DISPUTE_WON = "dispute_won"
    """The donor's bank returned it."""


DISPUTE_KINDS: Final = (SettlementLineKind.DISPUTE, SettlementLineKind.DISPUTE_WON)


class MismatchReason(StrEnum):
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
    def explanation(self) -> str:
        """The reason as a sentence."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    MismatchReason.UNKNOWN_PAYMENT: "no payment of ours has this identifier",
    MismatchReason.NOT_PAID: "we have no record that this payment was made",
    MismatchReason.NOT_REFUNDED: "we have no record that this payment was refunded",
    MismatchReason.OTHER_AMOUNT: "the payment has a different amount",
    MismatchReason.OTHER_CURRENCY: "the payment has a different currency, and conversion is not supported",
    MismatchReason.DISMISSED: "the money was written off because it is not ours",
    MismatchReason.SETTLED_BEFORE: "another report has already settled this",
    MismatchReason.NOT_DISPUTED: "we have no record that this payment was disputed",
    MismatchReason.NOT_WON: "we have no record that this dispute was won",
}


class LineNotDismissible(Exception):
    """An unbooked report line cannot be cleared; the message says why."""


class SettlementReportError(Exception):
    """A report cannot be imported, and nothing was imported; the message names every bad line."""


class ImportInterrupted(Exception):
    """An import stopped before its last line; the message says how to continue."""


LineKey = tuple[str, SettlementLineKind, str]
"""The provider's payment, the kind of the line, and the provider's refund or dispute ID."""


@dataclass(frozen=True, slots=True)
class SettlementLine:
    """One line of a settlement report: a payment, refund or dispute with its gross amount and fee.

    ``provider_refund_or_dispute_id``: the provider's ID of the refund or dispute, because a payment may have several;
    "" if it is not reported.
    """

    kind: SettlementLineKind
    provider_payment_id: str
    gross: Money
    fee: Money
    provider_refund_or_dispute_id: str = ""

    @property
    def key(self) -> LineKey:
        """The line's unique key within a report."""
        return self.provider_payment_id, self.kind, self.provider_refund_or_dispute_id

    @property
    def signed_gross_minor(self) -> int:
        """The gross amount in minor units; negative for refunds and disputes."""
        comes = self.kind in (SettlementLineKind.PAYMENT, SettlementLineKind.DISPUTE_WON)
        return self.gross.minor if comes else -self.gross.minor

    @property
    def signed_net_minor(self) -> int:
        """The net amount that reached our bank account, in minor units."""
        return self.signed_gross_minor - self.fee.minor


@dataclass(frozen=True, slots=True)
class SettlementReport:
    """A provider's report of one payout to us, in one currency."""

    provider: str
    reference: str
    currency: str
    settled_on: date
    sha256: bytes
    lines: tuple[SettlementLine, ...]


@dataclass(frozen=True, slots=True)
class StoredSettlementLine:
    """A stored settlement line. ``imported_at``: when it was imported."""

    id: UUID
    settlement_id: UUID
    provider: str
    line: SettlementLine
    mismatch_reason: MismatchReason | None
    imported_at: datetime


@dataclass(frozen=True, slots=True)
class UnmatchedSettlementLine:
    """A report line that is not booked, with its report's reference.

    ``booked_in_report_reference``: the reference of the report whose equal line is booked.
    """

    report_reference: str
    booked_in_report_reference: str | None
    stored_line: StoredSettlementLine


@dataclass(frozen=True, slots=True)
class CurrencyTotal:
    """The net total of several report lines in one currency."""

    currency: str
    line_count: int
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
    line_count: int
    imported_at: datetime
    matched_count: int
    unmatched_count: int
    fee_minor: int
    net_minor: int


@dataclass(frozen=True, slots=True)
class PaymentMatch:
    """The records of a payment that a report line names: donation, refunds, disputes, bookings.

    ``refunds``: sent refunds of the donation, oldest first; ``debited_refund_ids``: those with a booked line.
    ``disputes``: of the payment, oldest first; ``booked_dispute_ids``: those with a booked line of this kind.
    """

    payment: Payment | None
    donation: Donation | None
    unallocated_payment: UnallocatedPayment | None
    already_booked: bool
    refunds: tuple[Refund, ...] = ()
    debited_refund_ids: frozenset[UUID] = frozenset()
    disputes: tuple[Dispute, ...] = ()
    booked_dispute_ids: frozenset[UUID] = frozenset()


def mismatch_reason(line: SettlementLine, payment_match: PaymentMatch) -> MismatchReason | None:
    """Why a report line cannot be booked; None if it can."""
    if line.kind in DISPUTE_KINDS:
        ours = payment_match.unallocated_payment is not None or payment_match.payment is not None
        disputed = match_dispute(line, payment_match) if ours else MismatchReason.UNKNOWN_PAYMENT
        return disputed if isinstance(disputed, MismatchReason) else None
    if payment_match.unallocated_payment is not None:
        return _unallocated_mismatch(line, payment_match.unallocated_payment, counted=payment_match.already_booked)
    if payment_match.payment is None:
        return MismatchReason.UNKNOWN_PAYMENT
    if line.kind is SettlementLineKind.REFUND:
        found = match_refund(line, payment_match)
        return found if isinstance(found, MismatchReason) else None
    if payment_match.donation is None or payment_match.donation.payment_id != payment_match.payment.id:
        return MismatchReason.NOT_PAID
    if payment_match.already_booked or payment_match.donation.settlement is not None:
        return MismatchReason.SETTLED_BEFORE
    return _amount_mismatch(line, payment_match.payment.money)


def match_refund(line: SettlementLine, payment_match: PaymentMatch) -> Refund | MismatchReason:
    """The donation refund that a report line belongs to, or why there is none."""
    sent = [
        one
        for one in payment_match.refunds
        if not line.provider_refund_or_dispute_id or one.provider_refund == line.provider_refund_or_dispute_id
    ]
    if not sent:
        return MismatchReason.NOT_REFUNDED
    if line.gross.currency != sent[0].money.currency:
        return MismatchReason.OTHER_CURRENCY
    undrawn = [one for one in sent if one.id not in payment_match.debited_refund_ids]
    if not undrawn:
        return MismatchReason.SETTLED_BEFORE
    return next((one for one in undrawn if one.money == line.gross), MismatchReason.OTHER_AMOUNT)


def match_dispute(line: SettlementLine, payment_match: PaymentMatch) -> Dispute | MismatchReason:
    """The dispute that a report line belongs to, or why there is none."""
    named = [
        one
        for one in payment_match.disputes
        if not line.provider_refund_or_dispute_id or one.provider_dispute_id == line.provider_refund_or_dispute_id
    ]
    if not named:
        return MismatchReason.NOT_DISPUTED
    if line.kind is SettlementLineKind.DISPUTE_WON:
        named = [one for one in named if one.status is DisputeStatus.WON]
    if not named:
        return MismatchReason.NOT_WON
    if line.gross.currency != named[0].money.currency:
        return MismatchReason.OTHER_CURRENCY
    untold = [one for one in named if one.id not in payment_match.booked_dispute_ids]
    if not untold:
        return MismatchReason.SETTLED_BEFORE
    return next((one for one in untold if one.money == line.gross), MismatchReason.OTHER_AMOUNT)


def _unallocated_mismatch(
    line: SettlementLine, unallocated_payment: UnallocatedPayment, *, counted: bool
) -> MismatchReason | None:
    if not unallocated_payment.is_posted_to_ledger or unallocated_payment.status == "written_off":
        return MismatchReason.DISMISSED
    if line.kind is SettlementLineKind.REFUND and unallocated_payment.status != "refunded":
        return MismatchReason.NOT_REFUNDED
    if counted:
        return MismatchReason.SETTLED_BEFORE
    return _amount_mismatch(line, unallocated_payment.money)


def _amount_mismatch(line: SettlementLine, expected: Money) -> MismatchReason | None:
    if line.gross.currency != expected.currency:
        return MismatchReason.OTHER_CURRENCY
    return None if line.gross == expected else MismatchReason.OTHER_AMOUNT
