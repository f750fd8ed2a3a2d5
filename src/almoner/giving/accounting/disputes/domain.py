"""Disputes: their states, and what each of them does to the gift and to the books; pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.giving.checkout.payments.domain import DisputeStatus, ProviderDispute
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

DISPUTE: Final = Lifecycle("dispute", {"open": frozenset({"won", "lost"})})
Outcome = Literal["won", "lost"]
MAX_NOTE: Final = 2000
REFRESH_INTERVAL: Final = timedelta(days=1)
"""An open dispute is looked at again so often: a notice may get lost."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """One dispute, of a payment that paid a donation, or of held money.

    ``provider_dispute``, ``reason``, ``opened_at``: the provider's. ``decided_by``: None when the provider told it.
    ``note``: why a person decided. ``loss``: who bears a lost one; None until it is lost.
    """

    id: UUID
    provider: str
    provider_payment: str
    provider_dispute: str
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


@dataclass(frozen=True, slots=True)
class AbsorbedLoss:
    """What of a lost dispute no gift bore, and we do. ``disbursed``: a payout had been sent with the gift.

    ``recovered``: what of it that payout has brought back; None while it has not come back.
    """

    absorbed: Money
    disbursed: bool = False
    recovered: Money | None = None


@dataclass(frozen=True, slots=True)
class DisputeOutcome:
    """How a dispute ended. ``by``, ``note``: of a person; None when its provider says so."""

    outcome: Outcome
    by: str | None = None
    note: str | None = None


class DisputeError(Exception):
    """What was asked of a dispute cannot be done; the message says why."""


class RetryLater(Exception):
    """Something else is under way with the gift: it has to be looked at again in a moment."""


def outcome_of(found: ProviderDispute) -> DisputeOutcome | None:
    """How the provider says that it ended; None while it is open."""
    match found.status:
        case DisputeStatus.WON:
            return DisputeOutcome("won")
        case DisputeStatus.LOST:
            return DisputeOutcome("lost")
        case DisputeStatus.OPEN:
            return None


def matches_payment(found: ProviderDispute, paid: Money, *, live: bool) -> bool:
    """Whether it is in the mode and the currency of this payment."""
    return found.live is live and found.money.currency == paid.currency


def is_plausible_dispute(found: ProviderDispute, paid: Money, gone_minor: int, *, live: bool) -> bool:
    """Whether it can be a dispute of this payment, of which so much is refunded or drawn by others (M5)."""
    # What was won before we heard of it may have been refunded since.
    gone = 0 if found.status is DisputeStatus.WON else gone_minor
    return matches_payment(found, paid, live=live) and 0 < found.money.minor <= paid.minor - gone


def split_loss(lost: Money, owed: Money) -> tuple[Money, Money]:
    """Who bears a lost dispute: the gift, of which so much is owed, and us."""
    gift = min(lost.minor, owed.minor)
    return Money(gift, lost.currency), Money(lost.minor - gift, lost.currency)
