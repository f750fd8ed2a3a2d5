"""The port to payment providers. Implementations are adapters; one contract test covers all of them."""

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
class FutureUseConsent:
    """The donor's consent to later charges; also shown on the provider's page.

    ``text``: in the page's language. ``text_version``: the text's. ``email``: the payment method owner's.
    """

    text: str
    text_version: str
    email: str


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """The payment that we ask a provider to collect. ``idempotency_key``: the idempotency key (I6).

    ``max_card_attempts``: card attempts before the payment fails (H6). ``future_use_consent``: the consent with which
    the payment method is saved; None: it is not saved.
    """

    idempotency_key: str
    money: Money
    description: str
    reference: str
    return_url: str
    cancel_url: str
    callback_url: str
    language: str
    max_card_attempts: int
    future_use_consent: FutureUseConsent | None = None


@dataclass(frozen=True, slots=True)
class OffSessionCharge:
    """A payment with a saved payment method, without the donor. ``idempotency_key``: the idempotency key (I6).

    ``customer_id``, ``payment_method_id``: as saved. ``first_payment_id``: the provider's payment in which the donor
    agreed.
    """

    idempotency_key: str
    money: Money
    description: str
    reference: str
    customer_id: str
    payment_method_id: str
    first_payment_id: str
    callback_url: str
    language: str


@dataclass(frozen=True, slots=True)
class PaymentMethodSetupRequest:
    """A page on which the donor saves another payment method. ``idempotency_key``: the idempotency key.

    ``currency``: of the later charges.
    """

    idempotency_key: str
    reference: str
    currency: str
    description: str
    future_use_consent: FutureUseConsent
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
    """The evidence submitted for a dispute. ``idempotency_key``: the idempotency key (I6).

    ``product_description``: what the donor paid for. ``explanation``: why the payment is genuine.
    """

    idempotency_key: str
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
    def hosted_page_origin(self) -> str:
        """Scheme, host and port of its pages, for the content security policy of forms."""
        ...

    @property
    def fee_schedule(self) -> FeeSchedule:
        """The provider's fee for each payment."""
        ...

    @property
    def currencies(self) -> Collection[str]:
        """The currencies in which the provider accepts every amount exactly."""
        ...

    async def create_payment(self, payment_request: PaymentRequest) -> ProviderPayment:
        """Create an open payment, or return the one created earlier with this key. Raises ProviderFailure."""
        ...

    async def fetch_payment(self, payment_id: str) -> ProviderPayment:
        """The current state of a payment, by any of the provider's IDs for it.

        Raises NoSuchPayment, ProviderFailure.
        """
        ...

    async def cancel_payment(self, payment_id: str) -> ProviderPayment:
        """Cancel an unpaid payment; one that has already ended is returned unchanged. Raises like ``fetch_payment``."""
        ...

    async def charge_off_session(self, charge: OffSessionCharge) -> ProviderPayment:
        """Charge a saved payment method, or return the payment created earlier with this reference.

        A decline is no error: the payment is FAILED, with the reason in ``decline``. Raises PaymentMethodGone,
        ProviderFailure.
        """
        ...

    async def find_charge(self, reference: str, customer_id: str) -> ProviderPayment | None:
        """Find the charge of a saved payment method with this reference, without charging. Raises ProviderFailure."""
        ...

    async def fetch_payment_method(self, customer_id: str, payment_method_id: str) -> SavedPaymentMethod | None:
        """The current data of a saved payment method; None if it was deleted. Raises ProviderFailure."""
        ...

    async def delete_payment_method(self, customer_id: str, payment_method_id: str) -> None:
        """Delete a saved payment method and its customer; safe to repeat. Raises ProviderFailure."""
        ...

    async def create_payment_method_setup(self, setup_request: PaymentMethodSetupRequest) -> ProviderSetup:
        """Create a page to save a payment method, or return the one created with this key. Raises ProviderFailure."""
        ...

    async def fetch_payment_method_setup(self, setup_id: str) -> ProviderSetup:
        """The current state of a page to save a card. Raises NoSuchPayment, ProviderFailure."""
        ...

    async def refund_payment(self, payment_id: str, idempotency_key: str, money: Money) -> ProviderRefund:
        """Refund money of a payment to its payer, or return the refund made with this key.

        Raises NoSuchPayment, RefundRefused, ProviderFailure.
        """
        ...

    async def list_disputes(self, payment_id: str) -> list[ProviderDispute]:
        """The disputes of a payment, oldest first, without inquiries that debit no money.

        Raises NoSuchPayment, ProviderFailure.
        """
        ...

    async def submit_evidence(self, dispute_id: str, evidence: DisputeEvidence) -> None:
        """Submit evidence for an open dispute, once for each key, however long ago.

        Raises EvidenceRefused, ProviderFailure.
        """
        ...

    def parse_webhook(self, headers: Mapping[str, str], body: bytes, received_at: datetime) -> ProviderEvent | None:
        """Parse a webhook with a valid signature, at most five minutes old at ``received_at`` (real time).

        The event's ``subject`` says what to refresh: "payment", "dispute", "refund", "setup" or "payment_method". None:
        the event is not relevant. ``headers``: lower-case names. Raises WebhookRefused.
        """
        ...
