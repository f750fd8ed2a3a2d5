"""The port to the flows that call the payment provider; wiring provides it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID


class CardChangeResult(NamedTuple):
    """The subscription of a card change, and whether its card is now the one saved there."""

    subscription_id: UUID
    is_card_changed: bool


@dataclass(frozen=True, slots=True)
class DonorPaymentFunctions:
    """The payment functions that the page needs; all raise ServiceUnavailable.

    ``provider_page_origin``: of the provider's pages.
    ``create_payment_url``: returns the page to pay an open due date, None if it is closed; raises AccountPaused.
    ``refresh_payment``: refreshes such a payment. ``start_card_change``: returns the page to change the card, None if
    the subscription ended or the limit was reached; the provider redirects to the given URL. ``finish_card_change``:
    finishes a card change after the donor came back.
    """

    provider_page_origin: str
    create_payment_url: Callable[[UUID], Awaitable[str | None]]
    refresh_payment: Callable[[UUID], Awaitable[None]]
    start_card_change: Callable[[UUID, str], Awaitable[str | None]]
    finish_card_change: Callable[[UUID], Awaitable[CardChangeResult]]
