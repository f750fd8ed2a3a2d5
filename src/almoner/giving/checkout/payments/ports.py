"""What giving needs of a payment provider. Implementations are adapters; one contract test runs on all of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from almoner.giving.checkout.payments.domain import (
    DisputeEvidenceKind,
    FeeSchedule,
    ProviderDispute,
    ProviderEvent,
    ProviderPayment,
    ProviderRefund,
    ProviderSetup,
    SavedPaymentMethod,
)
from almoner.kit.money import Money


@dataclass(frozen=True, slots=True)
class FutureUse:
    """The donor's consent to later charges; also shown on the provider's page.

    ``text``: in the page's language. ``version``: of the text. ``email``: of the payment method's owner.
    """

    text: str
    version: str
    email: str


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """The payment that we ask a provider to collect. ``key``: the idempotency key (I6).

    ``max_attempts``: how many cards the provider may take before the payment fails (H6). ``save_for``: the payment
    method is saved to be charged later; None: it is not.
    """

    key: str
    money: Money
    description: str
    reference: str
    return_url: str
    cancel_url: str
    callback_url: str
    language: str
    max_attempts: int
    save_for: FutureUse | None = None


@dataclass(frozen=True, slots=True)
class OffSessionCharge:
    """A payment with a saved payment method, without the donor. ``key``: the idempotency key (I6).

    ``customer``, ``payment_method``: as saved. ``first_payment``: the provider's payment in which the donor agreed.
    """

    key: str
    money: Money
    description: str
    reference: str
    customer: str
    payment_method: str
    first_payment: str
    callback_url: str
    language: str


@dataclass(frozen=True, slots=True)
class SetupOrder:
    """A page on which the donor saves another payment method. ``key``: the idempotency key.

    ``currency``: of what it will be charged for.
    """

    key: str
    reference: str
    currency: str
    description: str
    save_for: FutureUse
    return_url: str
    cancel_url: str
    callback_url: str
    language: str


@dataclass(frozen=True, slots=True)
class ProviderEvidenceFile:
    """A file that is submitted for a dispute."""

    kind: DisputeEvidenceKind
    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class DisputeEvidence:
    """What is submitted for a dispute. ``key``: the idempotency key (I6).

    ``product_description``: what the donor paid for. ``explanation``: why the payment is genuine.
    """

    key: str
    product_description: str | None
    explanation: str | None
    files: Sequence[ProviderEvidenceFile] = ()


class PaymentProvider(Protocol):
    """A payment provider with hosted payment pages."""

    @property
    def name(self) -> str:
        """The provider's name as stored with each payment and used in its webhook URL."""
        ...

    @property
    def origin(self) -> str:
        """Scheme, host and port of its pages, for the page rules about where forms may lead."""
        ...

    @property
    def fee_schedule(self) -> FeeSchedule:
        """The provider's fee for each payment."""
        ...

    @property
    def currencies(self) -> Collection[str]:
        """The currencies in which the provider accepts every amount exactly."""
        ...

    async def create(self, order: PaymentOrder) -> ProviderPayment:
        """A new open payment, or the one made earlier with this key. Raises ProviderFailure."""
        ...

    async def fetch(self, payment: str) -> ProviderPayment:
        """The current state of a payment, by any of the provider's IDs for it.

        Raises NoSuchPayment, ProviderFailure.
        """
        ...

    async def cancel(self, payment: str) -> ProviderPayment:
        """End a payment that is not paid; one that has ended is shown as it ended. Raises as ``fetch``."""
        ...

    async def charge_off_session(self, charge: OffSessionCharge) -> ProviderPayment:
        """Charge a saved payment method, or return the payment made earlier with this reference.

        A decline is an answer: FAILED, with ``decline``. Raises PaymentMethodGone, ProviderFailure.
        """
        ...

    async def find_charge(self, reference: str, customer: str) -> ProviderPayment | None:
        """The charge of a saved payment method made with this reference, without making one. Raises ProviderFailure."""
        ...

    async def fetch_payment_method(self, customer: str, payment_method: str) -> SavedPaymentMethod | None:
        """The current data of a saved payment method; None if it was deleted. Raises ProviderFailure."""
        ...

    async def delete_payment_method(self, customer: str, payment_method: str) -> None:
        """Delete a saved payment method and its customer; safe to repeat. Raises ProviderFailure."""
        ...

    async def create_setup(self, order: SetupOrder) -> ProviderSetup:
        """A new page to save a payment method, or the one made earlier with this key. Raises ProviderFailure."""
        ...

    async def fetch_setup(self, setup: str) -> ProviderSetup:
        """The current state of a page to save a card. Raises NoSuchPayment, ProviderFailure."""
        ...

    async def refund(self, payment: str, key: str, money: Money) -> ProviderRefund:
        """Refund money of a payment to its payer, or return the refund made with this key.

        Raises NoSuchPayment, RefundRefused, ProviderFailure.
        """
        ...

    async def disputes(self, payment: str) -> list[ProviderDispute]:
        """The disputes of a payment, oldest first, without inquiries that debit no money.

        Raises NoSuchPayment, ProviderFailure.
        """
        ...

    async def submit_evidence(self, dispute: str, evidence: DisputeEvidence) -> None:
        """Submit evidence for an open dispute, once for each key, however long ago.

        Raises EvidenceRefused, ProviderFailure.
        """
        ...

    def parse_webhook(self, headers: Mapping[str, str], body: bytes, at: datetime) -> ProviderEvent | None:
        """Parse a webhook with a valid signature, at most five minutes old at ``at`` (real time).

        ``subject`` of the event: "dispute" means look at the payment's disputes, "refund" at the refund that it names,
        "setup" and "payment_method" at these, "payment" at the payment.
        None: it is about nothing that matters here. ``headers``: lower-case names. Raises WebhookRefused.
        """
        ...
