"""No payment simulator: with a real payment provider there are no simulated donors."""

from almoner.giving.checkout.donations.domain import InvalidState

_WHY = "simulated donors pay at the built-in provider; pay on the provider's own page, with one of its test cards"


class DisabledPaymentSimulator:
    """Rejects simulated payments with an explanation."""

    async def pay_with_card_and_get_status(self, payment_id: str, card_number: str) -> str:  # noqa: ARG002
        """Raises InvalidState."""
        raise InvalidState(_WHY)

    async def fail_next_charge(self, customer_id: str, payment_method_id: str, decline_code: str) -> bool:  # noqa: ARG002
        """Raises InvalidState."""
        raise InvalidState(_WHY)

    async def expire_card(self, customer_id: str, payment_method_id: str) -> bool:  # noqa: ARG002
        """Raises InvalidState."""
        raise InvalidState(_WHY)

    async def renew_card(self, customer_id: str, payment_method_id: str) -> bool:  # noqa: ARG002
        """Raises InvalidState."""
        raise InvalidState(_WHY)

    async def open_dispute_and_get_status(self, payment_id: str) -> str | None:  # noqa: ARG002
        """Raises InvalidState."""
        raise InvalidState(_WHY)

    async def decide_dispute(self, payment_id: str, *, won: bool) -> None:  # noqa: ARG002
        """Raises InvalidState."""
        raise InvalidState(_WHY)
