"""Interfaces of the built-in payment provider that the sandbox's tools need."""

from typing import Protocol


class PaymentSimulator(Protocol):
    """Acts as a donor, or the donor's bank, at the built-in payment provider."""

    async def open_dispute_and_get_status(self, payment_id: str) -> str | None:
        """Open a dispute of a paid payment; returns its status, None if nothing can be disputed."""
        ...

    async def decide_dispute(self, payment_id: str, *, won: bool) -> None:
        """Decide an open dispute."""
        ...

    async def fail_next_charge(self, customer_id: str, payment_method_id: str, decline_code: str) -> bool:
        """Have the next charge of a saved card fail with this decline code; False if there is no such card."""
        ...

    async def expire_card(self, customer_id: str, payment_method_id: str) -> bool:
        """Have a saved card expire."""
        ...

    async def renew_card(self, customer_id: str, payment_method_id: str) -> bool:
        """Have the bank of a saved card renew it."""
        ...

    async def pay_with_card_and_get_status(self, payment_id: str, card_number: str) -> str:
        """Pay with a card, or answer its challenge; returns the payment's status."""
        ...
