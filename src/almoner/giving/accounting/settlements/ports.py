"""What settlements need of a provider that reports its payouts itself. Implementations are adapters."""

from datetime import datetime
from typing import Protocol

from almoner.giving.accounting.settlements.domain import Report


class PayoutReports(Protocol):
    """The payouts of a provider to us, and what is in each."""

    @property
    def name(self) -> str:
        """As stored with each payment."""
        ...

    async def paid_out(self, since: datetime) -> list[str]:
        """The references of what arrived since, the oldest first. Raises ProviderFailure."""
        ...

    async def report(self, reference: str) -> Report:
        """All lines of one payout; the same as often as it is asked for. Raises ProviderFailure."""
        ...
