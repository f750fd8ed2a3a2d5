"""What refunds need of a provider whose refunds may fail after they were sent."""

from typing import Protocol

from almoner.giving.accounting.refunds.domain import ProviderRefundState


class RefundStatusReader(Protocol):
    """A payment provider that reports the status of a refund."""

    @property
    def name(self) -> str:
        """The provider's name as stored with each refund."""
        ...

    async def fetch_refund(self, payment: str, refund: str) -> ProviderRefundState:
        """A refund of the payment, which may have any of its names. Raises NoSuchPayment, ProviderFailure."""
        ...
