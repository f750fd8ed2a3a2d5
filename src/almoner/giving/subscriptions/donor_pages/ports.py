"""What the page needs of the flows that call the payment provider; wiring provides it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class DonorPayments:
    """``origin``: of the provider's pages. All raise ServiceUnavailable.

    ``pay``: the page on which an open date is paid, None where it is over; raises AccountPaused. ``refresh``: learn how
    such a payment went. ``change_card``: the page on which a plan's card is changed, None where that is over or was
    asked for too often; the provider leads back to the address. ``finish_card_change``: the plan of such a change, and
    whether it was made.
    """

    origin: str
    pay: Callable[[UUID], Awaitable[str | None]]
    refresh: Callable[[UUID], Awaitable[None]]
    change_card: Callable[[UUID, str], Awaitable[str | None]]
    finish_card_change: Callable[[UUID], Awaitable[tuple[UUID, bool]]]
