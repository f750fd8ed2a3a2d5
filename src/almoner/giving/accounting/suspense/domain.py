"""Held money and the rules for it, as ``docs/money-rules.md`` writes them down (M6, settled 5); pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from almoner.giving.checkout.payments.domain import BANK_TRANSFER, UnallocatedReason
from almoner.kit.events import InternalEvent
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

UNALLOCATED_PAYMENT: Final = Lifecycle(
    "unallocated_payment",
    {
        "held": frozenset({"refunding", "written_off", "applied"}),
        "refunding": frozenset({"refunded"}),
    },
)
NOTE_LENGTH: Final = 500
BY_RULE: Final = "rule"
"""Who decides when no person has; a person is named by the login at the terminal."""
OTHER_CURRENCY: Final = "The payment is in a different currency from the donation, so you can only refund it."
_AT_ONCE: Final = timedelta()
_WAITS_FOR_A_PERSON: Final = timedelta(days=30)


class RuleAction(StrEnum):
    """What becomes of held money."""

    REFUND = "refund"
    """The provider sends it back to whoever paid."""
    DISMISS = "dismiss"
    """It is none of ours: it leaves the books, and nothing is asked of the provider."""


@dataclass(frozen=True, slots=True)
class UnallocatedPaymentRule:
    """What the service does with money of one reason, and how long a person may do something else before."""

    action: RuleAction
    grace_period: timedelta


RULES: Final[Mapping[UnallocatedReason, UnallocatedPaymentRule]] = {
    UnallocatedReason.DONATION_CANCELLED: UnallocatedPaymentRule(RuleAction.REFUND, _AT_ONCE),
    UnallocatedReason.SESSION_OVER: UnallocatedPaymentRule(RuleAction.REFUND, _AT_ONCE),
    UnallocatedReason.PAID_TWICE: UnallocatedPaymentRule(RuleAction.REFUND, _AT_ONCE),
    UnallocatedReason.SHORT: UnallocatedPaymentRule(RuleAction.REFUND, _AT_ONCE),
    UnallocatedReason.OVER: UnallocatedPaymentRule(RuleAction.REFUND, _AT_ONCE),
    UnallocatedReason.OTHER_CURRENCY: UnallocatedPaymentRule(RuleAction.REFUND, _AT_ONCE),
    UnallocatedReason.OTHER_REFERENCE: UnallocatedPaymentRule(RuleAction.REFUND, _WAITS_FOR_A_PERSON),
    UnallocatedReason.UNKNOWN_PAYMENT: UnallocatedPaymentRule(RuleAction.REFUND, _WAITS_FOR_A_PERSON),
    UnallocatedReason.OTHER_MODE: UnallocatedPaymentRule(RuleAction.DISMISS, _AT_ONCE),
    UnallocatedReason.OTHER_ACCOUNT: UnallocatedPaymentRule(RuleAction.DISMISS, _AT_ONCE),
}


@dataclass(frozen=True, slots=True)
class RuleDecision:
    """What the rule does, and from when on."""

    action: RuleAction
    at: datetime


def rule_decision_of(reason: UnallocatedReason, received_at: datetime, provider: str = "") -> RuleDecision:
    """What becomes of money that is held for this reason since ``received_at``, if no person decides before.

    A bank transfer waits for a person, whatever the reason: it may be accepted, and no provider can send it back.
    """
    rule = RULES[reason]
    return RuleDecision(
        rule.action, received_at + (_WAITS_FOR_A_PERSON if provider == BANK_TRANSFER else rule.grace_period)
    )


def is_posted(reason: UnallocatedReason) -> bool:
    """Whether it is in the books: what went to another account, and money of the other mode, is none of ours (M5)."""
    return reason not in (UnallocatedReason.OTHER_MODE, UnallocatedReason.OTHER_ACCOUNT)


@dataclass(frozen=True, slots=True)
class UnallocatedPayment:
    """Money kept apart. ``payment_id`` and ``donation_id`` are None when nothing of ours matches.

    ``auto_decide_at``: when the rule decides. ``decided_by``: ``RULE`` or who. ``note``: why a person decided.
    ``provider_refund``: what the provider calls the refund, once it is made.
    """

    id: UUID
    provider: str
    provider_payment: str
    payment_id: UUID | None
    donation_id: UUID | None
    reason: UnallocatedReason
    money: Money
    reference: str
    status: str
    received_at: datetime
    auto_decide_at: datetime
    decided_by: str | None
    note: str | None
    provider_refund: str | None

    @property
    def is_by_bank(self) -> bool:
        """Whether it came by bank transfer: an officer sends it back, and no provider is asked."""
        return self.provider == BANK_TRANSFER

    @property
    def is_posted(self) -> bool:
        """Whether it is in the books."""
        return is_posted(self.reason)


class OfficerChoice(StrEnum):
    """What a person decided."""

    REFUND = "refund"
    ASK_AGAIN = "ask_again"
    """The provider is asked again for a refund that was begun before."""
    DONE_BY_HAND = "done_by_hand"
    """It was sent back in the provider's own dashboard."""
    DISMISS = "dismiss"
    ACCEPT = "accept"
    """It is the gift that it was meant to be, of the amount that came."""


@dataclass(frozen=True, slots=True)
class OfficerDecision:
    """What a person decided over held money, and why. ``by``: a login. ``provider_refund``: of a refund by hand."""

    unallocated_id: UUID
    choice: OfficerChoice
    note: str
    by: str
    at: datetime
    provider_refund: str | None = None


@dataclass(frozen=True, slots=True)
class UnallocatedPaymentRefunded:
    """What is told of a refund: identifiers alone; whoever reacts reads the rest."""

    held: UUID


REFUNDED: Final = InternalEvent("internal.unallocated_payment_refunded", UnallocatedPaymentRefunded)
"""Told within giving when money is back with its donor."""


class UnallocatedPaymentError(Exception):
    """What a person asked for cannot be done to this held money; the message says why."""


class NoSuchUnallocatedPayment(Exception):
    """There is no held money of this identifier."""

    def __str__(self) -> str:
        return "There is no held money of this identifier: see `almoner unallocated-payments list --all`."
