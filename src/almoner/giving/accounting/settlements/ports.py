"""The port to providers that report their payouts by API. Implementations are adapters."""

from datetime import datetime
from typing import Protocol

from almoner.giving.accounting.settlements.domain import SettlementReport


class PayoutReportSource(Protocol):
    """Reads a provider's payouts to us and their lines."""

    @property
    def name(self) -> str:
        """The provider's name as stored with each payment."""
        ...

    async def list_payout_references(self, since: datetime) -> list[str]:
        """The references of payouts that arrived since then, oldest first. Raises ProviderFailure."""
        ...

    async def fetch_report(self, reference: str) -> SettlementReport:
        """Fetch all lines of one payout; the result is the same every time. Raises ProviderFailure."""
        ...
