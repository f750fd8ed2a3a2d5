"""Refunds an unallocated payment: the call to the payment provider, between two transactions (architecture 3).

The recovery point is the ``unallocated_payment`` row in ``refunding``, committed with its posting before the call; the
idempotency key is made from its ID. After a crash the same call is repeated (I5, I6).
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
    """One refund to request; ``leased_row_id``: the leased unallocated payment's ID."""

    leased_row_id: UUID
    held: UnallocatedPayment
    key: str


class _RefundUnallocatedPayment:
    """Request a refund of the payment from the provider, and record the response."""

    name = LEASE_KIND

    def __init__(self, provider: PaymentProvider, unallocated_payment_id: UUID) -> None:
        self._provider = provider
        self._held_id = unallocated_payment_id

    async def prepare_call(self, tx: Tx) -> _RefundCall | FlowDone[None]:
        """Lock the payment; done unless a refund was decided and is not yet recorded."""
        locked = await service.get_for_update(
            tx, self._held_id
        )  # so that a worker that prepared earlier does not call again
        if locked.status != "refunding":
            return FlowDone(None)
        if locked.provider != self._provider.name:
            raise ProviderFailure(f"{locked.provider} is not the provider of this deployment any more")
        return _RefundCall(locked.id, locked, service.build_refund_idempotency_key(tx, locked.id))

    async def call_external_service(self, ask: _RefundCall) -> ProviderRefund:
        """Request a refund of the whole payment; safe to repeat. Raises ProviderFailure."""
        return await self._provider.refund_payment(ask.held.provider_payment_id, ask.key, ask.held.money)

    async def record_result(self, tx: Tx, ask: _RefundCall, provider_refund: ProviderRefund) -> FlowDone[None]:
        """Record that the refund is on its way to the donor."""
        await service.mark_refunded(tx, ask.leased_row_id, provider_refund.id)
        return FlowDone(None)


async def refund_unallocated_payment(db: Database, provider: PaymentProvider, unallocated_payment_id: UUID) -> None:
    """Refund an unallocated payment through its provider and record it. Raises ProviderFailure."""
    await leases.run_leased_external_call_flow(db, _RefundUnallocatedPayment(provider, unallocated_payment_id))
