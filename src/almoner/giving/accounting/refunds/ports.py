"""What refunds need of a provider whose refunds may fail after they were sent."""

from typing import Protocol

from almoner.giving.accounting.refunds.domain import SentBack


class RefundStatusReader(Protocol):
    """A payment provider that tells how a refund stands."""

    @property
    def name(self) -> str:
        """As stored with each refund."""
        ...

    async def sent_back(self, payment: str, refund: str) -> SentBack:
        """A refund of the payment, which may have any of its names. Raises NoSuchPayment, ProviderFailure."""
        ...
