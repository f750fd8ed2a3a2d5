"""What the sandbox's tools need of the built-in payment provider."""

from typing import Protocol


class PaymentSimulator(Protocol):
    """The provider's pages, as a donor would use them."""

    async def open_dispute(self, payment: str) -> str | None:
        """The donor's bank wants a paid payment back; the dispute's status, None when nothing is left to dispute."""
        ...

    async def decide_dispute(self, payment: str, *, won: bool) -> None:
        """The donor's bank decides over an open dispute."""
        ...

    async def pay_with_card(self, payment: str, card: str) -> str:
        """Try a card on a payment, or answer the challenge that is open; the payment's status afterwards."""
        ...
