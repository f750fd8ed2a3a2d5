"""What the sandbox's tools need of the built-in payment provider."""

from typing import Protocol


class PaymentSimulator(Protocol):
    """Acts as a donor, or the donor's bank, at the built-in payment provider."""

    async def open_dispute(self, payment: str) -> str | None:
        """Open a dispute of a paid payment; returns its status, None if nothing can be disputed."""
        ...

    async def decide_dispute(self, payment: str, *, won: bool) -> None:
        """Decide an open dispute."""
        ...

    async def pay_with_card(self, payment: str, card: str) -> str:
        """Try a card, or answer its challenge; returns the payment's status."""
        ...
