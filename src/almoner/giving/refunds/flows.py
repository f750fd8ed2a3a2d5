"""Sending a gift back: the call to the payment provider, between two transactions (house 3).

The recovery point is the ``refund`` row, committed with its posting before the provider is asked; the key of the call
is made from its id. A crash anywhere is repaired by asking the same again (I5, I6).
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.giving.payments import service as payments
from almoner.giving.payments.domain import ProviderFailure, ProviderRefund, RefundRefused
from almoner.giving.payments.ports import PaymentProvider
from almoner.giving.refunds import service
from almoner.kit.money import Money
from almoner.platform import flow
from almoner.platform.db import Database, Tx
from almoner.platform.flow import Done

LEASED: Final = "refund"


@dataclass(frozen=True, slots=True)
class _Ask:
    """One refund to ask for; ``row`` is the leased refund."""

    row: UUID
    payment: str
    money: Money
    key: str


class _Send:
    """Ask the provider of the payment, and record what it answers."""

    name = LEASED

    def __init__(self, provider: PaymentProvider, refund_id: UUID) -> None:
        self._provider = provider
        self._refund_id = refund_id

    async def prepare(self, tx: Tx) -> _Ask | Done[None]:
        """Nothing to ask unless it is begun and a provider sends it."""
        _, refund = await service.lock(tx, self._refund_id)  # nobody asks again who prepared before it was recorded
        if refund.status != "begun" or refund.payment_id is None:
            return Done(None)
        if refund.provider != self._provider.name:
            raise ProviderFailure(f"{refund.provider} is not the provider of this deployment any more")
        payment = await payments.find(tx, refund.payment_id)
        assert payment is not None, "a refund references its payment"
        assert payment.provider_payment is not None, "a gift was paid with it"
        return _Ask(refund.id, payment.provider_payment, refund.money, service.key(tx, refund.id))

    async def call(self, ask: _Ask) -> ProviderRefund | RefundRefused:
        """Ask for it; safe to do twice. Raises ProviderFailure."""
        try:
            return await self._provider.refund(ask.payment, ask.key, ask.money)
        except RefundRefused as refused:
            return refused

    async def record(self, tx: Tx, ask: _Ask, answer: ProviderRefund | RefundRefused) -> Done[None]:
        """It is on its way to the donor, or the provider will not send it."""
        if isinstance(answer, RefundRefused):
            await service.record_refused(tx, ask.row, str(answer))
        else:
            await service.record_sent(tx, ask.row, answer.id)
        return Done(None)


async def send(db: Database, provider: PaymentProvider, refund_id: UUID) -> None:
    """Have the provider send a gift back; when this returns, what it said is recorded. Raises ProviderFailure."""
    await flow.run(db, _Send(provider, refund_id))
