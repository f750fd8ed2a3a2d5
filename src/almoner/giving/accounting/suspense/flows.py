"""Sending unallocated money back: the call to the payment provider, between two transactions (architecture 3).

The recovery point is the ``unallocated_payment`` row in ``refunding``, committed with its posting before the provider
is asked; the key of the call is made from its id. A crash anywhere is repaired by asking the same again (I5, I6).
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.giving.accounting.suspense import service
from almoner.giving.accounting.suspense.domain import UnallocatedPayment
from almoner.giving.checkout.payments.domain import ProviderFailure, ProviderRefund
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs import leases
from almoner.platform.jobs.leases import FlowDone

LEASE_KIND: Final = "unallocated_payment"


@dataclass(frozen=True, slots=True)
class _RefundCall:
    """One refund to ask for; ``row`` is the leased held payment."""

    row: UUID
    held: UnallocatedPayment
    key: str


class _RefundUnallocatedPayment:
    """Ask the provider of the payment, and record what it answers."""

    name = LEASE_KIND

    def __init__(self, provider: PaymentProvider, unallocated_payment_id: UUID) -> None:
        self._provider = provider
        self._held_id = unallocated_payment_id

    async def prepare(self, tx: Tx) -> _RefundCall | FlowDone[None]:
        """Nothing to ask unless a refund was decided and is not recorded yet."""
        locked = await service.get_for_update(
            tx, self._held_id
        )  # so that nobody asks again who prepared before it was recorded
        if locked.status != "refunding":
            return FlowDone(None)
        if locked.provider != self._provider.name:
            raise ProviderFailure(f"{locked.provider} is not the provider of this deployment any more")
        return _RefundCall(locked.id, locked, service.refund_idempotency_key(tx, locked.id))

    async def call(self, ask: _RefundCall) -> ProviderRefund:
        """Ask for the whole of it; safe to do twice. Raises ProviderFailure."""
        return await self._provider.refund(ask.held.provider_payment, ask.key, ask.held.money)

    async def record(self, tx: Tx, ask: _RefundCall, provider_refund: ProviderRefund) -> FlowDone[None]:
        """It is on its way to the donor."""
        await service.record_refund(tx, ask.row, provider_refund.id)
        return FlowDone(None)


async def refund_unallocated_payment(db: Database, provider: PaymentProvider, unallocated_payment_id: UUID) -> None:
    """Refund an unallocated payment through its provider and record it. Raises ProviderFailure."""
    await leases.run_leased_flow(db, _RefundUnallocatedPayment(provider, unallocated_payment_id))
