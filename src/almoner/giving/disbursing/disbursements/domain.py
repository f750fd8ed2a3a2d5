"""Disbursements: their states, and why settled donations are not disbursed (settled 4 and 5); pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.giving.checkout.donations.domain import DisbursementBatch, Donation
from almoner.giving.checkout.hosted_page.domain import donation_amounts_for
from almoner.giving.disbursing.verifications.domain import EligibilityStatus
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

CREATED: Final = "disbursement.created"
UPDATED: Final = "disbursement.updated"
DISBURSEMENT: Final = Lifecycle(
    "disbursement",
    {
        "PENDING": frozenset({"SENT"}),
        "SENT": frozenset({"PAID", "RETURNED"}),
        "PAID": frozenset({"RETURNED"}),  # settled 5: a returned disbursement
    },
)
DisbursementStatus = Literal["PENDING", "SENT", "PAID", "RETURNED"]
TRANSFER_LEFT_BANK: Final = "a bank statement has the transfer but not its return: import the one with the return"
MAX_REASON_LENGTH: Final = 500
MAX_NOTE_LENGTH: Final = 2000


class WaitingReason(StrEnum):
    """Why a disbursement is not sent yet."""

    ON_HOLD = "on_hold"
    VERIFICATION_MISSING = EligibilityStatus.MISSING.value
    VERIFICATION_PENDING = EligibilityStatus.PENDING.value
    VERIFICATION_REJECTED = EligibilityStatus.REJECTED.value
    VERIFICATION_EXPIRED = EligibilityStatus.EXPIRED.value
    ORGANISATION_INACTIVE = "organisation_inactive"
    BELOW_THRESHOLD = "below_threshold"

    @property
    def description(self) -> str:
        """The reason as a sentence."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    WaitingReason.ON_HOLD: "disbursements to the organisation are on hold",
    WaitingReason.VERIFICATION_MISSING: "the organisation has no monetary donation verification",
    WaitingReason.VERIFICATION_PENDING: "the organisation's monetary donation verification is pending",
    WaitingReason.VERIFICATION_REJECTED: "the organisation's monetary donation verification was rejected",
    WaitingReason.VERIFICATION_EXPIRED: "the organisation's monetary donation verification has expired",
    WaitingReason.ORGANISATION_INACTIVE: "the register no longer lists the organisation as active",
    WaitingReason.BELOW_THRESHOLD: "the amount is below the minimum disbursement",
}


class DisbursementError(Exception):
    """The requested change of a disbursement is not possible; the message says why."""


class DonationInOtherDisbursement(DisbursementError):
    """The donation was added to another disbursement in the meantime; try again."""


class SecondConfirmationRequired(DisbursementError):
    """A second operator must confirm a payment of this size."""


class CannotReleaseOwnHold(DisbursementError):
    """The operator who placed a hold cannot release it alone."""


@dataclass(frozen=True, slots=True)
class DisbursementRules:
    """The smallest disbursement, in multiples of the currency's minimum donation."""

    minimum_as_multiple_of_minimum_donation: int = 0

    def minimum_disbursement_minor(self, currency: str) -> int:
        """The minimum disbursement in minor units."""
        return max(1, self.minimum_as_multiple_of_minimum_donation * donation_amounts_for(currency).minimum)


@dataclass(frozen=True, slots=True)
class Disbursement:
    """One disbursement. ``waiting_reason``: why a PENDING one is not sent by the next run.

    ``donation_count``: their number; ``propagating``: some donations do not have its status yet.
    """

    id: UUID
    partner_id: UUID
    organisation_id: UUID
    money: Money
    donation_count: int
    status: DisbursementStatus
    waiting_reason: WaitingReason | None
    end_to_end_id: str
    created_at: datetime
    ready_at: datetime | None
    sent_at: datetime | None
    paid_at: datetime | None
    returned_at: datetime | None
    return_reason: str | None
    propagating: bool

    @property
    def batch(self) -> DisbursementBatch:
        """The partner, nonprofit and currency of its donations."""
        return DisbursementBatch(self.partner_id, self.organisation_id, self.money.currency)


@dataclass(frozen=True, slots=True)
class DisbursementHold:
    """A decision to hold or release disbursements to a nonprofit; the newest one counts.

    ``partner_id``: None for all partners. ``second_decided_by``: the second operator.
    """

    partner_id: UUID | None
    organisation_id: UUID
    is_held: bool
    note: str
    decided_by: str
    decided_at: datetime
    second_decided_by: str | None = None
    second_note: str | None = None


class RefusedDisbursement(NamedTuple):
    """A disbursement that could not be updated, and why."""

    disbursement_id: UUID
    reason: str


class WaitingDisbursements(NamedTuple):
    """The disbursements that wait for one reason, and when the oldest of them was created."""

    reason: WaitingReason
    disbursement_count: int
    oldest_created_at: datetime


class ReadyDisbursements(NamedTuple):
    """The disbursements of a currency that the next run sends."""

    disbursement_count: int
    total: Money


class NumberedHold(NamedTuple):
    """A hold with its ID, from which the next page of a list continues."""

    hold_id: int
    hold: DisbursementHold


@dataclass(frozen=True, slots=True)
class DisbursementConfirmation:
    """Operators' confirmation that the bank paid a disbursement.

    ``second_operator_and_note``: the second operator and their note.
    """

    confirmed_by: str
    single_operator_limit_minor: int = 0
    note: str | None = None
    second_operator_and_note: tuple[str, str] | None = None


SANDBOX_CONFIRMATION: Final = DisbursementConfirmation("sandbox")
"""In the sandbox the run itself confirms, because there is no bank."""


@dataclass(frozen=True, slots=True)
class DisbursementFilters:
    """Filters of a list of disbursements; None: not filtered."""

    organisation_id: UUID | None = None
    status: DisbursementStatus | None = None


@dataclass(frozen=True, slots=True)
class OperatorDisbursementFilters:
    """Operators' filters for the disbursements of all partners; None: no filter."""

    status: DisbursementStatus | None = None
    waiting_reason: WaitingReason | None = None
    partner_id: UUID | None = None
    organisation_id: UUID | None = None
    money: Money | None = None


@dataclass(frozen=True, slots=True)
class DisbursementTotals:
    """Sums over disbursements of one currency."""

    disbursement_count: int
    donation_count: int
    total_minor: int  # across partners, so it may exceed the maximum amount
    currency: str

    def with_disbursement(self, disbursement: Disbursement) -> "DisbursementTotals":
        """The totals including one more disbursement."""
        return DisbursementTotals(
            self.disbursement_count + 1,
            self.donation_count + disbursement.donation_count,
            self.total_minor + disbursement.money.minor,
            self.currency,
        )


def new_disbursement(disbursement_id: UUID, batch: DisbursementBatch, now: datetime) -> Disbursement:
    """A new, empty disbursement for a partner, nonprofit and currency."""
    return Disbursement(
        id=disbursement_id,
        partner_id=batch.partner_id,
        organisation_id=batch.organisation_id,
        money=Money(0, batch.currency),
        donation_count=0,
        status="PENDING",
        waiting_reason=WaitingReason.BELOW_THRESHOLD,
        end_to_end_id=end_to_end_id_of(disbursement_id),
        created_at=now,
        ready_at=None,
        sent_at=None,
        paid_at=None,
        returned_at=None,
        return_reason=None,
        propagating=False,
    )


def end_to_end_id_of(disbursement_id: UUID) -> str:
    """The end-to-end ID of the bank transfer: the 26 characters of the identifier."""
    return encode_uuid(disbursement_id)


def waiting_reason_of(
    eligibility: EligibilityStatus, *, is_on_hold: bool, is_organisation_active: bool, money: Money, minimum_minor: int
) -> WaitingReason | None:
    """Why a disbursement is not sent; None if it is.

    ``is_on_hold``: an operator holds it. ``is_organisation_active``: its register lists the organisation. Of several
    reasons, operators' come first, then the register's, the organisation's, and the minimum amount.
    """
    if is_on_hold:
        return WaitingReason.ON_HOLD
    if not is_organisation_active:
        return WaitingReason.ORGANISATION_INACTIVE
    if eligibility is not EligibilityStatus.APPROVED:
        return WaitingReason(eligibility.value)
    if money.minor < minimum_minor:
        return WaitingReason.BELOW_THRESHOLD
    return None


@dataclass(frozen=True, slots=True)
class DonationDeductions:
    """Fee and refunds that are deducted from a donation, in minor units.

    The fee is negative if more arrived than was donated.
    """

    fee_minor: int
    refunded_minor: int


def deductions_of(donation: Donation) -> DonationDeductions:
    """The deductions between the donated and the disbursed amount."""
    given = donation.money.minor
    arrived = donation.settlement.money.minor if donation.settlement else given
    return DonationDeductions(given - arrived, arrived - donation.net_amount_for_nonprofit.minor)
