"""What the sandbox's tools need of the built-in payment provider."""

from typing import Protocol


class Till(Protocol):
    """The provider's pages, as a donor would use them."""

    async def pay(self, payment: str, card: str) -> str:
        """Try a card on a payment, confirming whatever the bank asks; the payment's status afterwards."""
        ...
