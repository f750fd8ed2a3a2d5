"""Looking at a payment's disputes: the question to its provider, between two transactions (architecture 3)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.giving.accounting.disputes import service
from almoner.giving.accounting.disputes.domain import NotNow
from almoner.giving.checkout.payments.domain import ProviderDispute, ProviderFailure, ProviderUnavailable
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements.domain import Rules
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs import leases
from almoner.platform.jobs.leases import Done

AGAIN: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class DisputeWork:
    """What the flow works with. ``rules``: of payouts, whose buckets a disputed gift leaves."""

    db: Database
    provider: PaymentProvider
    rules: Rules


@dataclass(frozen=True, slots=True)
class _Ask:
    """A question that changes nothing."""

    row: UUID | None = None


class _RefreshDispute:
    """See how the disputes of a payment stand, and learn."""

    name = "dispute"

    def __init__(self, work: DisputeWork, payment: str) -> None:
        self._work = work
        self._payment = payment

    async def prepare(self, _tx: Tx) -> _Ask | Done[None]:
        """There is always something to ask."""
        return _Ask()

    async def call(self, _ask: _Ask) -> list[ProviderDispute]:
        """Ask the provider. Raises ProviderFailure."""
        return await self._work.provider.disputes(self._payment)

    async def record(self, tx: Tx, _ask: _Ask, found: list[ProviderDispute]) -> Done[None]:
        """Learn. Raises NotNow."""
        kept_as = next((one.payment for one in found if one.payment), self._payment)
        await service.apply_provider_state(tx, self._work.provider.name, kept_as, found, self._work.rules)
        return Done(None)


async def look(work: DisputeWork, payment: str) -> None:
    """Learn how the disputes of a provider's payment stand. Raises ProviderFailure, NotNow."""
    await leases.run(work.db, _RefreshDispute(work, payment))


async def handle_provider_webhook(work: DisputeWork, payment: str) -> None:
    """Act on a notice about a payment's disputes; a job does what cannot be done now. Raises ProviderUnavailable."""
    try:
        await look(work, payment)
    except ProviderFailure as failure:
        raise ProviderUnavailable from failure
    except NotNow:
        async with work.db.write() as tx:
            await service.ask(tx, payment, tx.now + AGAIN)
