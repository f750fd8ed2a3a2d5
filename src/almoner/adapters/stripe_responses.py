"""Stripe's responses in strict types: only the fields that we need, all of them validated."""

from typing import Annotated, Any, Literal

import msgspec

from almoner.adapters.stripe_declines import ChargeErrorDetails

Amount = Annotated[int, msgspec.Meta(ge=0)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class Card(msgspec.Struct, frozen=True):
    brand: str
    last4: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}\Z")]
    exp_month: Annotated[int, msgspec.Meta(ge=1, le=12)]
    exp_year: Annotated[int, msgspec.Meta(ge=1970, le=9998)]


class PaymentMethod(msgspec.Struct, frozen=True):
    """A payment method. ``customer``: None once it is detached."""

    id: Name
    type: str
    customer: str | None = None
    card: Card | None = None


class PaymentIntent(msgspec.Struct, frozen=True):
    """A PaymentIntent. ``on_behalf_of``, ``transfer_data``, ``application``: set if other accounts are involved."""

    id: Annotated[str, msgspec.Meta(pattern=r"^pi_[0-9A-Za-z_]+\Z")]
    status: str
    amount_received: Amount
    currency: str
    on_behalf_of: Any = None
    transfer_data: Any = None
    application: Any = None
    last_payment_error: ChargeErrorDetails | None = None
    payment_method: PaymentMethod | str | None = None
    setup_future_usage: str | None = None


class OffSessionIntent(PaymentIntent, frozen=True, kw_only=True):
    """A PaymentIntent that charges a saved payment method, at once when it is ``created``."""

    amount: Amount
    created: int
    livemode: bool
    metadata: dict[str, str]


class OffSessionIntentList(msgspec.Struct, frozen=True):
    data: list[OffSessionIntent]
    has_more: bool


class ObjectMetadata(msgspec.Struct, frozen=True):
    """The owner of an object that may belong to another product; only the fields that identify it."""

    id: str
    metadata: dict[str, Any] | None


class SetupIntent(msgspec.Struct, frozen=True):
    status: str
    payment_method: PaymentMethod | str | None = None


class SetupSession(msgspec.Struct, frozen=True):
    """A Checkout Session that saves a payment method and takes no money."""

    id: Annotated[str, msgspec.Meta(pattern=r"^cs_[0-9A-Za-z_]+\Z", max_length=255)]
    mode: Literal["setup"]
    status: Literal["open", "complete", "expired"]
    livemode: bool
    metadata: dict[str, str]
    client_reference_id: str | None = None
    url: str | None = None
    setup_intent: SetupIntent | None = None


class DeletedObject(msgspec.Struct, frozen=True):
    id: str
    deleted: bool


class CheckoutSessionMetadata(msgspec.Struct, frozen=True):
    """The owner of a Checkout Session that may belong to another product; only the fields that identify it."""

    object: Literal["checkout.session"]
    metadata: dict[str, Any] | None


class CheckoutSessionMetadataList(msgspec.Struct, frozen=True):
    data: list[CheckoutSessionMetadata]


class CheckoutSession(msgspec.Struct, frozen=True):
    """A Checkout Session."""

    id: Annotated[str, msgspec.Meta(pattern=r"^cs_[0-9A-Za-z_]+\Z", max_length=255)]
    status: Literal["open", "complete", "expired"]
    payment_status: Literal["paid", "unpaid", "no_payment_required"]
    amount_total: Amount
    currency: str
    livemode: bool
    metadata: dict[str, str]
    client_reference_id: str | None = None
    url: str | None = None
    payment_intent: PaymentIntent | None = None


class CheckoutSessionList(msgspec.Struct, frozen=True):
    data: list[CheckoutSession]


class ChargeMethod(msgspec.Struct, frozen=True):
    type: str


class Charge(msgspec.Struct, frozen=True):
    """A charge attempt: of a card, it succeeds or fails when it is ``created``."""

    id: str
    created: int
    status: str
    payment_method_details: ChargeMethod | None = None


class ChargeList(msgspec.Struct, frozen=True):
    data: list[Charge]


class Refund(msgspec.Struct, frozen=True):
    """A refund. ``metadata``: ours contains the idempotency key of its request."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    amount: Amount
    currency: str
    payment_intent: str | None
    status: str | None
    metadata: dict[str, str] | None = None
    failure_reason: str | None = None


class RefundList(msgspec.Struct, frozen=True):
    data: list[Refund]
    has_more: bool


class EvidenceDetails(msgspec.Struct, frozen=True):
    due_by: int | None
    submission_count: int


class StripeFile(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class Dispute(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    amount: Amount
    currency: str
    status: str
    reason: str
    created: int
    livemode: bool
    payment_intent: str
    evidence_details: EvidenceDetails
    metadata: dict[str, str] | None = None


class DisputeList(msgspec.Struct, frozen=True):
    data: list[Dispute]


class WebhookEndpoint(msgspec.Struct, frozen=True):
    """A webhook endpoint at Stripe and its event types; ``*`` means all."""

    url: str
    status: str
    enabled_events: list[str]


class WebhookEndpointList(msgspec.Struct, frozen=True):
    data: list[WebhookEndpoint]
