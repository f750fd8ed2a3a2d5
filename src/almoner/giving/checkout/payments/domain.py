"""Payments at a provider: attempts, their states at the provider, and why a payment is unallocated (M4-M6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.kit.errors import BadRequest, ServiceUnavailable
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

PAYMENT: Final = Lifecycle(
    "payment",
    {
        # A cancelled attempt may still turn out to be paid: the provider's state counts.
        "starting": frozenset({"open", "succeeded", "held", "failed", "cancelled"}),
        "open": frozenset({"succeeded", "held", "failed", "cancelled"}),
        "failed": frozenset({"succeeded", "held"}),
        "cancelled": frozenset({"succeeded", "held"}),
    },
)
LIVE_STATUSES: Final = ("starting", "open")
SETTLED_STATUSES: Final = ("succeeded", "held")
_WHOLE: Final = 10_000  # basis points
RETURN_PURPOSE: Final = "return"
"""The purpose of the token in a payment's return URL: it shows the payment's status, but nothing about the payer."""
BANK_TRANSFER: Final = "bank_transfer"
"""The provider name of donors' transfers to our own account, which bank statements report."""

TRANSFER_LIFETIME: Final = timedelta(days=30)  # settled 5: once the donor has confirmed it
MAX_TRIES: Final = 5  # H6: cards tried on one payment, and in one session
_CLOCK_SKEW: Final = timedelta(minutes=1)


class ProviderStatus(StrEnum):
    """The status of a payment at its provider."""

    OPEN = "open"
    PROCESSING = "processing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class UnallocatedReason(StrEnum):
    """Why a received payment pays no donation."""

    DONATION_CANCELLED = "donation_cancelled"
    SESSION_OVER = "session_over"
    PAID_TWICE = "paid_twice"
    SHORT = "short"
    OVER = "over"
    OTHER_CURRENCY = "other_currency"
    OTHER_REFERENCE = "other_reference"
    OTHER_MODE = "other_mode"
    OTHER_ACCOUNT = "other_account"
    UNKNOWN_PAYMENT = "unknown_payment"


@dataclass(frozen=True, slots=True)
class Payment:
    """One attempt to pay a donation.

    ``provider_payment_id``, ``payment_page_url``: None until the provider has responded.
    ``card_attempt_count``: card attempts that we know of; ``max_card_attempts``: their limit (H6). ``pages_url``,
    ``api_url``: our own base URLs when it started, so that a repeated call is identical (I6). ``off_session``: a saved
    payment method is charged without the donor. ``called_at``: when the provider was first called. ``succeeded_at``:
    when the provider says that it succeeded; None if unknown or not plausible, and then our own time counts.
    """

    id: UUID
    donation_id: UUID
    provider: str
    provider_payment_id: str | None
    payment_page_url: str | None
    status: str
    money: Money
    description: str
    language: str
    card_attempt_count: int
    created_at: datetime
    max_card_attempts: int
    pages_url: str
    api_url: str
    off_session: bool = False
    called_at: datetime | None = None
    succeeded_at: datetime | None = None

    @property
    def is_payable(self) -> bool:
        """Whether the donor can still pay it."""
        return self.status in LIVE_STATUSES


class DeclineAction(StrEnum):
    """How to proceed after a saved payment method was declined."""

    RETRY = "retry"
    """The bank may accept it on another day."""
    ASK_DONOR = "ask_donor"
    """Only the donor can fix it: the card has expired, or its details are wrong."""
    AUTHENTICATE = "authenticate"
    """The bank requires authentication, so the donor must visit a page."""
    NEVER = "never"
    """The bank will never accept this method; trying again costs a fee. The donor may add another."""
    REVOKED = "revoked"
    """The donor revoked the mandate at the bank: nothing may be charged any more."""


@dataclass(frozen=True, slots=True)
class Decline:
    """Why a saved payment method was not charged. ``decline_code``: the bank's reason; never shown to donors."""

    action: DeclineAction
    decline_code: str


@dataclass(frozen=True, slots=True)
class SavedPaymentMethod:
    """A payment method that a donor left at a provider to be charged later.

    ``customer_id``: its owner's ID at the provider. ``expires_at``: the end of the card's last month, UTC.
    """

    customer_id: str
    id: str
    type: str
    brand: str
    last4: str
    expires_at: datetime

    def is_renewal_of(self, other: "SavedPaymentMethod") -> bool:
        """Whether the other one is the same card with an earlier expiry."""
        return other.expires_at < self.expires_at and replace(other, expires_at=self.expires_at) == self


@dataclass(frozen=True, slots=True)
class ProviderPayment:
    """A payment as fetched from its provider.

    ``payment_page_url``: None if it can no longer be paid there. ``attempts``: card attempts. ``is_live_mode``: whether
    it is real money. ``goes_to_our_account``: whether it goes to our own account there. ``payment_method``: the saved
    payment method, once paid. ``decline``: why a saved payment method was not charged. ``succeeded_at``: when it
    succeeded, if the provider says so.
    """

    id: str
    payment_page_url: str | None
    status: ProviderStatus
    money: Money
    reference: str
    attempts: int
    is_live_mode: bool
    goes_to_our_account: bool = True
    payment_method: SavedPaymentMethod | None = None
    decline: Decline | None = None
    succeeded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProviderSetup:
    """A page on which a donor saves a payment method without paying. ``payment_method``: None until it succeeds."""

    id: str
    setup_page_url: str | None
    status: ProviderStatus
    reference: str
    is_live_mode: bool
    payment_method: SavedPaymentMethod | None = None


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """A verified provider webhook; its content is only a hint to fetch (M5).

    ``payment_id``: the provider's ID of the payment, or of the setup or saved payment method for those subjects. A
    payment may have several IDs; the ``id`` that fetching it returns is the one that we store. ``refund_id``: the
    refund's ID, if it is about one.
    """

    id: str
    type: str
    payment_id: str
    is_live_mode: bool
    subject: Literal["payment", "dispute", "refund", "setup", "payment_method"] = "payment"
    refund_id: str = ""


class DisputeStatus(StrEnum):
    """The state of a dispute at its provider. The money is debited when it opens and returned when it is won."""

    OPEN = "open"
    WON = "won"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ProviderDispute:
    """A dispute as fetched from its provider.

    ``money``: the debited amount, without the provider's fee. ``is_live_mode``: whether it is real money.
    ``payment_id``: the payment's ID as we store it, if it was fetched by another one. ``evidence_due_at``: the
    provider's deadline for evidence; None if it accepts none any more.
    """

    id: str
    money: Money
    status: DisputeStatus
    reason: str
    opened_at: datetime
    is_live_mode: bool
    payment_id: str = ""
    evidence_due_at: datetime | None = None


DisputeEvidenceKind = Literal["receipt", "customer_communication", "service_documentation", "refund_policy", "other"]
"""The files that can be submitted for a dispute, one of each kind."""


@dataclass(frozen=True, slots=True)
class ProviderRefund:
    """A refund that the provider has sent to the payer; ``id`` is the provider's."""

    id: str
    money: Money


class FeeRate(NamedTuple):
    """A fee as a fraction of the payment, plus a fixed part in minor units."""

    fraction: float
    fixed_minor: int


@dataclass(frozen=True, slots=True)
class FeeSchedule:
    """A provider's fee: basis points plus a fixed part.

    ``fixed_minor``: the fixed part by currency, in its minor units; 0 for a missing currency.
    """

    basis_points: int
    fixed_minor: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.basis_points < _WHOLE or any(part < 0 for part in self.fixed_minor.values()):
            raise ValueError("a tariff keeps less than the whole, and never adds to it")

    def fee_for(self, money: Money) -> Money:
        """The fee for this payment."""
        share = (money.minor * self.basis_points + _WHOLE // 2) // _WHOLE
        return Money(min(money.minor, share + self.fixed_minor.get(money.currency, 0)), money.currency)

    def fee_rate_for(self, currency: str) -> FeeRate:
        """The fee on payments in a currency."""
        return FeeRate(self.basis_points / _WHOLE, self.fixed_minor.get(currency, 0))

    def gross_up(self, net: Money) -> Money:
        """The smallest payment that leaves this amount after the fee. Raises MoneyError."""
        whole = net.minor + self.fixed_minor.get(net.currency, 0)
        # Rounding moves the fee by at most half a unit, so the result is this or slightly more.
        least = max(net.minor, (whole * _WHOLE - _WHOLE // 2) // (_WHOLE - self.basis_points))
        total = Money(least, net.currency)
        while total - self.fee_for(total) < net:
            total = Money(total.minor + 1, net.currency)
        return total


class ProviderFailure(Exception):
    """The provider call failed; repeating it with the same key is safe."""


class NoSuchPayment(ProviderFailure):
    """The provider does not know the payment."""


class PaymentNotRecognised(NoSuchPayment):
    """The provider knows the payment, but this deployment did not create it."""


class PaymentMethodGone(ProviderFailure):
    """The provider no longer has the saved payment method: nothing was charged."""


class RefundRefused(ProviderFailure):
    """The provider refuses the refund for good; an operator must act."""


class EvidenceRefused(ProviderFailure):
    """The provider refuses the evidence for good; an operator must act."""


class ProviderUnavailable(ServiceUnavailable):
    message = "The payment provider is not available at the moment; try again later"


class WebhookRefused(BadRequest):
    code = "payment/notice_refused"
    message = "The webhook is not from this provider: its signature, age or format is not valid"


def find_unrecognised_payment_reason(
    provider_payment: ProviderPayment, *, is_live_mode: bool
) -> UnallocatedReason | None:
    """Why a provider's payment is not ours (other mode or account); None if it is."""
    if provider_payment.is_live_mode is not is_live_mode:
        return UnallocatedReason.OTHER_MODE
    return None if provider_payment.goes_to_our_account else UnallocatedReason.OTHER_ACCOUNT


def plausible_success_time(payment: Payment, stated_at: datetime | None, now: datetime) -> datetime | None:
    """When an attempt succeeded, as its provider states; None if that is before the attempt or in the future.

    A provider's clock may be a little behind ours, and some state whole seconds.
    """
    if stated_at is None or stated_at < payment.created_at - _CLOCK_SKEW:
        return None
    succeeded_at = max(stated_at, payment.created_at)
    return succeeded_at if succeeded_at <= now else None


def payment_mismatch_reason(
    expected: Money, reference: str, provider_payment: ProviderPayment
) -> UnallocatedReason | None:
    """How a provider's payment differs from what we ordered; None if it matches."""
    if provider_payment.reference != reference:
        return UnallocatedReason.OTHER_REFERENCE
    if provider_payment.money.currency != expected.currency:
        return UnallocatedReason.OTHER_CURRENCY
    if provider_payment.money < expected:
        return UnallocatedReason.SHORT
    if expected < provider_payment.money:
        return UnallocatedReason.OVER
    return None
