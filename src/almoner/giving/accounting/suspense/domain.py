"""Unallocated payments and their rules, as in ``docs/money-rules.md`` (M6, settled 5); pure."""

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
"""The name recorded for automatic decisions; an operator is recorded by login."""
OTHER_CURRENCY: Final = "The payment is in a different currency from the donation, so you can only refund it."
_AT_ONCE: Final = timedelta()
_WAITS_FOR_A_PERSON: Final = timedelta(days=30)


class AutomaticAction(StrEnum):
    """The automatic action of a rule on an unallocated payment."""

    REFUND = "refund"
    """The provider refunds the payer."""
    DISMISS = "dismiss"
    """The payment is not ours: write it off without contacting the provider."""


@dataclass(frozen=True, slots=True)
class UnallocatedPaymentRule:
    """The automatic action for payments with one reason, and the time before it runs."""

    action: AutomaticAction
    grace_period: timedelta


RULES: Final[Mapping[UnallocatedReason, UnallocatedPaymentRule]] = {
    UnallocatedReason.DONATION_CANCELLED: UnallocatedPaymentRule(AutomaticAction.REFUND, _AT_ONCE),
    UnallocatedReason.SESSION_OVER: UnallocatedPaymentRule(AutomaticAction.REFUND, _AT_ONCE),
    UnallocatedReason.PAID_TWICE: UnallocatedPaymentRule(AutomaticAction.REFUND, _AT_ONCE),
    UnallocatedReason.SHORT: UnallocatedPaymentRule(AutomaticAction.REFUND, _AT_ONCE),
    UnallocatedReason.OVER: UnallocatedPaymentRule(AutomaticAction.REFUND, _AT_ONCE),
    UnallocatedReason.OTHER_CURRENCY: UnallocatedPaymentRule(AutomaticAction.REFUND, _AT_ONCE),
    UnallocatedReason.OTHER_REFERENCE: UnallocatedPaymentRule(AutomaticAction.REFUND, _WAITS_FOR_A_PERSON),
    UnallocatedReason.UNKNOWN_PAYMENT: UnallocatedPaymentRule(AutomaticAction.REFUND, _WAITS_FOR_A_PERSON),
    UnallocatedReason.OTHER_MODE: UnallocatedPaymentRule(AutomaticAction.DISMISS, _AT_ONCE),
    UnallocatedReason.OTHER_ACCOUNT: UnallocatedPaymentRule(AutomaticAction.DISMISS, _AT_ONCE),
}


@dataclass(frozen=True, slots=True)
class ScheduledAutomaticAction:
    """The automatic action for an unallocated payment, and when it is taken."""

    action: AutomaticAction
    due_at: datetime


def compute_scheduled_automatic_action(
    reason: UnallocatedReason, received_at: datetime, provider: str = ""
) -> ScheduledAutomaticAction:
    """The automatic action for an unallocated payment unless an operator decides before.

    Bank transfers always wait for an operator: they may be applied, and no provider can return them.
    """
    rule = RULES[reason]
    return ScheduledAutomaticAction(
        rule.action, received_at + (_WAITS_FOR_A_PERSON if provider == BANK_TRANSFER else rule.grace_period)
    )


def requires_ledger_posting(reason: UnallocatedReason) -> bool:
    """Whether payments with this reason are posted to the ledger."""
    return reason not in (UnallocatedReason.OTHER_MODE, UnallocatedReason.OTHER_ACCOUNT)


@dataclass(frozen=True, slots=True)
class UnallocatedPayment:
    """A received payment that pays no donation. ``payment_id``, ``donation_id``: None if nothing matches.

    ``auto_decide_at``: when the rule decides. ``decided_by``: ``BY_RULE`` or the operator. ``note``: the operator's
    reason. ``provider_refund``: the provider's refund ID, once refunded.
    """

    id: UUID
    provider: str
    provider_payment_id: str
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
    def is_bank_transfer(self) -> bool:
        """Whether it is a bank transfer, which an operator has to return."""
        return self.provider == BANK_TRANSFER

    @property
    def is_posted_to_ledger(self) -> bool:
        """Whether it is posted to the ledger."""
        return requires_ledger_posting(self.reason)


class UnallocatedPaymentResolution(StrEnum):
    """What an operator decided about an unallocated payment."""

    REFUND = "refund"
    RETRY_REFUND = "retry_refund"
    """Retry a refund that was already started."""
    RECORD_MANUAL_REFUND = "record_manual_refund"
    """An operator refunded it in the provider's dashboard."""
    WRITE_OFF = "write_off"
    APPLY = "apply"
    """Apply the payment to its donation, with the amount received."""


@dataclass(frozen=True, slots=True)
class UnallocatedPaymentDecision:
    """An operator's decision about an unallocated payment, with its note."""

    unallocated_payment_id: UUID
    resolution: UnallocatedPaymentResolution
    note: str
    decided_by: str
    decided_at: datetime
    provider_refund_id: str | None = None


@dataclass(frozen=True, slots=True)
class UnallocatedPaymentRefundedEvent:
    """The internal event that an unallocated payment was refunded."""

    held: UUID


REFUNDED: Final = InternalEvent("internal.unallocated_payment_refunded", UnallocatedPaymentRefundedEvent)
"""Published internally when an unallocated payment was refunded."""


class UnallocatedPaymentError(Exception):
    """The requested action on an unallocated payment is not possible; the message says why."""


class NoSuchUnallocatedPayment(Exception):
    """There is no unallocated payment with this ID."""

    def __str__(self) -> str:
        return (
            "There is no unallocated payment with this ID: see Unallocated payments in the console, or `almoner "
            "unallocated-payments list --all`."
        )
