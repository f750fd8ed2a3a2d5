"""Fetches a payment's disputes from its provider, outside transactions (architecture 3)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.giving.accounting.disputes import service
from almoner.giving.accounting.disputes.domain import ConcurrentChangeError
from almoner.giving.checkout.payments.domain import ProviderDispute, ProviderFailure, ProviderUnavailable
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs import leases
from almoner.platform.jobs.leases import FlowDone

RETRY_DELAY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class DisputeContext:
    """The database, provider and disbursement rules that the flow needs."""

    db: Database
    provider: PaymentProvider
    rules: DisbursementRules


@dataclass(frozen=True, slots=True)
class _ProviderCall:
    """A read-only provider call."""

    leased_row_id: UUID | None = None


class _RefreshDispute:
    """Fetch the disputes of a payment and apply them."""

    name = "dispute"

    def __init__(self, context: DisputeContext, payment: str) -> None:
        self._context = context
        self._payment = payment

    async def prepare_call(self, _tx: Tx) -> _ProviderCall | FlowDone[None]:
        """Return the call; it is always made."""
        return _ProviderCall()

    async def call_external_service(self, _ask: _ProviderCall) -> list[ProviderDispute]:
        """Fetch the disputes from the provider. Raises ProviderFailure."""
        return await self._context.provider.list_disputes(self._payment)

    async def record_result(
        self, tx: Tx, _ask: _ProviderCall, provider_disputes: list[ProviderDispute]
    ) -> FlowDone[None]:
        """Apply the fetched disputes. Raises ConcurrentChangeError."""
        kept_as = next((one.payment_id for one in provider_disputes if one.payment_id), self._payment)
        await service.apply_provider_state(
            tx, self._context.provider.name, kept_as, provider_disputes, self._context.rules
        )
        return FlowDone(None)


async def refresh_disputes(context: DisputeContext, provider_payment_id: str) -> None:
    """Fetch a payment's disputes from its provider and apply them. Raises ProviderFailure, ConcurrentChangeError."""
    await leases.run_leased_external_call_flow(context.db, _RefreshDispute(context, provider_payment_id))


async def handle_provider_webhook(context: DisputeContext, provider_payment_id: str) -> None:
    """Handle a webhook about a payment's disputes; a job retries what fails. Raises ProviderUnavailable."""
    try:
        await refresh_disputes(context, provider_payment_id)
    except ProviderFailure as failure:
        raise ProviderUnavailable from failure
    except ConcurrentChangeError:
        async with context.db.write() as tx:
            await service.enqueue_refresh(tx, provider_payment_id, tx.now + RETRY_DELAY)
