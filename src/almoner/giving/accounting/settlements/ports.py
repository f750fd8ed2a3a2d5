"""What settlements need of a provider that reports its payouts itself. Implementations are adapters."""

from datetime import datetime
from typing import Protocol

from almoner.giving.accounting.settlements.domain import SettlementReport


class PayoutReportSource(Protocol):
    """The payouts of a provider to us, and what is in each."""

    @property
    def name(self) -> str:
        """The provider's name as stored with each payment."""
        ...

    async def list_payouts(self, since: datetime) -> list[str]:
        """The references of what arrived since, the oldest first. Raises ProviderFailure."""
        ...

    async def fetch_report(self, reference: str) -> SettlementReport:
        """Fetch all lines of one payout; the result is the same every time. Raises ProviderFailure."""
        ...
