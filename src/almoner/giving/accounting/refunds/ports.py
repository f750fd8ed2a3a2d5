"""What refunds need of a provider whose refunds may fail after they were sent."""

from typing import Protocol

from almoner.giving.accounting.refunds.domain import ProviderRefundState


class RefundStatusReader(Protocol):
    """A payment provider that tells how a refund stands."""

    @property
    def name(self) -> str:
        """As stored with each refund."""
        ...

    async def fetch_refund(self, payment: str, refund: str) -> ProviderRefundState:
        """A refund of the payment, which may have any of its names. Raises NoSuchPayment, ProviderFailure."""
        ...
