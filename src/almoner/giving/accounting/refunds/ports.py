"""The port to a provider whose refunds may fail after they were sent."""

from typing import Protocol

from almoner.giving.accounting.refunds.domain import ProviderRefundState


class RefundStatusReader(Protocol):
    """A payment provider that reports the status of a refund."""

    @property
    def name(self) -> str:
        """The provider's name as stored with each refund."""
        ...

    async def fetch_refund(self, payment_id: str, refund_id: str) -> ProviderRefundState:
        """A refund of the payment; ``payment_id`` may be any of its IDs. Raises NoSuchPayment, ProviderFailure."""
        ...
