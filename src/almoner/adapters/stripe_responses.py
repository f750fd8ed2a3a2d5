"""What Stripe answers, in the strict forms that we take it in: only what is needed, and all of that as expected."""

from typing import Annotated, Any, Literal

import msgspec

Amount = Annotated[int, msgspec.Meta(ge=0)]


class PaymentIntent(msgspec.Struct, frozen=True):
    """A PaymentIntent. ``on_behalf_of``, ``transfer_data``, ``application``: set when others have a hand in it."""

    id: Annotated[str, msgspec.Meta(pattern=r"^pi_[0-9A-Za-z_]+\Z")]
    status: str
    amount_received: Amount
    currency: str
    on_behalf_of: Any = None
    transfer_data: Any = None
    application: Any = None
    last_payment_error: Any = None


class CheckoutSessionOwner(msgspec.Struct, frozen=True):
    """Of a Checkout Session that may be another product's, in whatever form: only what says whose it is."""

    object: Literal["checkout.session"]
    metadata: dict[str, Any] | None


class CheckoutSessionOwnerList(msgspec.Struct, frozen=True):
    data: list[CheckoutSessionOwner]


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


class ChargeReference(msgspec.Struct, frozen=True):
    id: str


class ChargeList(msgspec.Struct, frozen=True):
    data: list[ChargeReference]


class Refund(msgspec.Struct, frozen=True):
    """A refund. ``metadata``: ours has the key that it was asked for with."""

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


class Dispute(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    amount: Amount
    currency: str
    status: str
    reason: str
    created: int
    livemode: bool
    payment_intent: str


class DisputeList(msgspec.Struct, frozen=True):
    data: list[Dispute]


class WebhookEndpoint(msgspec.Struct, frozen=True):
    """Where Stripe tells of events, and of which; ``*`` is all of them."""

    url: str
    status: str
    enabled_events: list[str]


class WebhookEndpoints(msgspec.Struct, frozen=True):
    data: list[WebhookEndpoint]
