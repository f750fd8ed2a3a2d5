"""What settlements need of a provider that reports its payouts itself. Implementations are adapters."""

from datetime import datetime
from typing import Protocol

from almoner.giving.accounting.settlements.domain import SettlementReport


class PayoutReportSource(Protocol):
    """The payouts of a provider to us, and what is in each."""

    @property
    def name(self) -> str:
        """As stored with each payment."""
        ...

    async def list_payouts(self, since: datetime) -> list[str]:
        """The references of what arrived since, the oldest first. Raises ProviderFailure."""
        ...

    async def fetch_report(self, reference: str) -> SettlementReport:
        """All lines of one payout; the same as often as it is asked for. Raises ProviderFailure."""
        ...
