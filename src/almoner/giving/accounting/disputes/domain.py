"""Disputes: their states, and what each of them does to the donation and to the ledger; pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.giving.checkout.payments.domain import DisputeStatus, ProviderDispute
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

DISPUTE: Final = Lifecycle("dispute", {"open": frozenset({"won", "lost"})})
Outcome = Literal["won", "lost"]
MAX_NOTE: Final = 2000
REFRESH_INTERVAL: Final = timedelta(days=1)
"""How often open disputes are refreshed, in case a webhook gets lost."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """A dispute of a donation's payment or of an unallocated payment.

    ``provider_dispute_id``, ``reason``, ``opened_at``: from the provider. ``decided_by``: None if the provider reported
    the outcome. ``note``: an operator's reason. ``loss``: what we absorb; None until the dispute is lost.
    ``evidence_due_at``: the provider's deadline for evidence; None if it accepts none.
    """

    id: UUID
    provider: str
    provider_payment_id: str
    provider_dispute_id: str
    donation_id: UUID | None
    unallocated_payment_id: UUID | None
    money: Money
    status: DisputeStatus
    reason: str
    opened_at: datetime
    received_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    note: str | None
    loss: "AbsorbedLoss | None" = None
    evidence_due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AbsorbedLoss:
    """The part of a lost dispute that we absorb.

    ``was_disbursed``: the donation was already disbursed. ``recovered_amount``: the part that a returned disbursement
    brought back, if any.
    """

    absorbed_amount: Money
    was_disbursed: bool = False
    recovered_amount: Money | None = None


class LossShares(NamedTuple):
    """The nonprofit's share of a lost dispute, and what we absorb."""

    nonprofit_share: Money
    absorbed_share: Money


class BookedDispute(NamedTuple):
    """A dispute with the kinds of report lines that are booked for it."""

    dispute: Dispute
    booked_line_kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class DisputeOutcome:
    """How a dispute ended. ``recorded_by`` and ``note`` are set if an operator recorded it."""

    outcome: Outcome
    recorded_by: str | None = None
    note: str | None = None


class DisputeError(Exception):
    """The requested change of a dispute is not possible; the message says why."""


class ConcurrentChangeError(Exception):
    """Another change of the donation is in progress; try again in a moment."""


def outcome_from_provider(provider_dispute: ProviderDispute) -> DisputeOutcome | None:
    """The outcome that the provider reports; None while the dispute is open."""
    match provider_dispute.status:
        case DisputeStatus.WON:
            return DisputeOutcome("won")
        case DisputeStatus.LOST:
            return DisputeOutcome("lost")
        case DisputeStatus.OPEN:
            return None


def matches_payment_mode_and_currency(provider_dispute: ProviderDispute, paid: Money, *, is_live: bool) -> bool:
    """Whether the dispute has the payment's mode (live or test) and currency."""
    return provider_dispute.is_live_mode is is_live and provider_dispute.money.currency == paid.currency


def is_consistent_with_payment(
    provider_dispute: ProviderDispute, paid: Money, withdrawn_minor: int, *, is_live: bool
) -> bool:
    """Whether the dispute's amount fits the payment, given what is already refunded or disputed (M5)."""
    # A dispute that was won before we heard of it may have been refunded since.
    gone = 0 if provider_dispute.status is DisputeStatus.WON else withdrawn_minor
    return (
        matches_payment_mode_and_currency(provider_dispute, paid, is_live=is_live)
        and 0 < provider_dispute.money.minor <= paid.minor - gone
    )


def split_loss_with_nonprofit(lost: Money, owed_to_nonprofit: Money) -> LossShares:
    """Split a lost dispute into the nonprofit's part, at most ``owed_to_nonprofit``, and ours."""
    from_nonprofit = min(lost.minor, owed_to_nonprofit.minor)
    return LossShares(Money(from_nonprofit, lost.currency), Money(lost.minor - from_nonprofit, lost.currency))
