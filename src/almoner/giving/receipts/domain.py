"""Receipts: their content, frozen when issued, and the donation's progress since (spec 4.8; settled 5)."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, Literal
from uuid import UUID

from almoner.giving.checkout.donations.domain import GIFT_PAGE_PURPOSE, Donation, RefundedAmount
from almoner.giving.checkout.sessions.domain import Benefits
from almoner.kit.money import Money

PAGE_PURPOSE: Final = GIFT_PAGE_PURPOSE
"""The purpose of the token in the private link."""


class DoneeError(Exception):
    """A donee cannot be proposed, approved or ended; the message says why."""


@dataclass(frozen=True, slots=True)
class Donee:
    """The organisation that legally receives a partner's donations, for US taxes. ``ein``: nine digits.

    One operator proposes it, another approves it; receipts name it from its approval until its end.
    """

    id: UUID
    partner_id: UUID
    legal_name: str
    ein: str
    address: str
    proposed_by: str
    proposed_note: str
    proposed_at: datetime
    approved_by: str | None = None
    approved_note: str | None = None
    approved_at: datetime | None = None
    ended_by: str | None = None
    ended_at: datetime | None = None

    @property
    def approval_status(self) -> Literal["proposed", "approved", "ended"]:
        """``proposed``, ``approved`` or ``ended``."""
        if self.ended_at is not None:
            return "ended"
        return "proposed" if self.approved_at is None else "approved"

    @property
    def formatted_ein(self) -> str:
        """The EIN for display: ``12-3456789``."""
        return f"{self.ein[:2]}-{self.ein[2:]}"


@dataclass(frozen=True, slots=True)
class ReceiptIssuer:
    """The issuer of a partner's receipts, with the last number used."""

    name: str | None
    prefix: str
    last_number: int


@dataclass(frozen=True, slots=True)
class DonationReassignment:
    """The nonprofit to which a donation was reassigned, and when."""

    organisation_name: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """One receipt. ``organisation``, ``register`` and ``register_number`` at the time of issue.

    ``money``: what the donor paid; ``cover_minor``: the part of it that covers the fee. ``donee``: who acknowledges it
    for US taxes; without one it confirms a payment and is no tax receipt. ``received_at``: when the payment was
    received. Later changes are not frozen: the amount refunded, and a reassignment.
    """

    donation_id: UUID
    partner_id: UUID
    number: int
    prefix: str
    issuer: str
    language: str
    organisation: str
    register: str
    register_number: str
    first_name: str
    last_name: str
    anonymous: bool
    payment_id: UUID
    money: Money
    cover_minor: int
    received_at: datetime
    issued_at: datetime
    donee: Donee | None = None
    benefits: Benefits | None = None
    refunded: RefundedAmount | None = None
    passed_on: DonationReassignment | None = None

    @property
    def current_nonprofit_name(self) -> str:
        """The donation's current nonprofit."""
        return self.passed_on.organisation_name if self.passed_on else self.organisation

    @property
    def is_fully_refunded(self) -> bool:
        """Whether all of the donation was refunded."""
        return self.refunded is not None and self.refunded.money == self.money

    @property
    def unrefunded_minor(self) -> int:
        """The amount that was not refunded."""
        return self.money.minor - (self.refunded.money.minor if self.refunded else 0)

    @property
    def display_number(self) -> str:
        """The number for display: ``000042``, with a prefix ``ACME-000042``."""
        return f"{self.prefix}-{self.number:06d}" if self.prefix else f"{self.number:06d}"

    @property
    def file_name(self) -> str:
        """The file name of the PDF."""
        return f"receipt-{self.display_number}.pdf"

    @property
    def amount_without_fee_cover_minor(self) -> int:
        """The amount without the part that covers the fee, in minor units."""
        return self.money.minor - self.cover_minor


class DonationStage(Enum):
    """The stages of a donation, in order."""

    RECEIVED = "received"
    SETTLED = "settled"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """One stage of a donation; ``at``: None until it is reached. ``current``: the stage in progress."""

    stage: DonationStage
    at: datetime | None
    current: bool


_CHECKED: Final = "gift.wait.verification"
_WAITS: Final = {
    "verification_missing": _CHECKED,
    "verification_pending": _CHECKED,
    "verification_rejected": _CHECKED,
    "verification_expired": _CHECKED,
    "on_hold": "gift.wait.held",
    "organisation_inactive": "gift.wait.held",
    "below_threshold": "gift.wait.threshold",
}
"""Message keys for why a disbursement waits, by the reason that partners see."""
_STANDS_STILL: Final = {"refund": "gift.wait.refund", "dispute": "gift.wait.dispute"}
"""Message keys for why a donation waits at any stage."""


def refund_or_dispute_waiting_reason(donation: Donation) -> str | None:
    """Why a received donation waits, such as a dispute or a pending refund."""
    if donation.status != "RECEIVED_PAYMENT":
        return None
    if donation.disputed_at is not None:
        return "dispute"
    gone = donation.refunded.money.minor if donation.refunded else 0
    return "refund" if donation.withdrawn_minor > gone else None


def progress_of_donation(receipt: Receipt, donation: Donation) -> list[ProgressStep]:
    """The stages of a donation, each with its time."""
    moments = {
        DonationStage.RECEIVED: receipt.received_at,
        DonationStage.SETTLED: donation.settlement.settled_at if donation.settlement else None,
        DonationStage.SENT: donation.disbursed_at if donation.status == "DISBURSED" else None,
    }
    waited_for = next((stage for stage, at in moments.items() if at is None), None)
    return [ProgressStep(stage, at, stage is waited_for) for stage, at in moments.items()]


def waiting_message_key(steps: list[ProgressStep], waiting_reason: str | None) -> str | None:
    """The catalogue key that says why a donation waits; None once it is disbursed."""
    for step in steps:
        if step.current:
            if waiting_reason in _STANDS_STILL:
                return _STANDS_STILL[waiting_reason]
            return (
                _WAITS[waiting_reason]
                if waiting_reason in _WAITS and step.stage is DonationStage.SENT
                else f"gift.next.{step.stage.value}"
            )
    return None
