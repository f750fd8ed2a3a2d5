"""Sending a gift back: the call to the payment provider, between two transactions (architecture 3).

The recovery point is the ``refund`` row, committed with its posting before the provider is asked; the key of the call
is made from its id. A crash anywhere is repaired by asking the same again (I5, I6).
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.giving.accounting.refunds import service
from almoner.giving.accounting.refunds.domain import NotNow, SentBack
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import (
    NoSuchPayment,
    NoticeRefused,
    ProviderFailure,
    ProviderRefund,
    ProviderUnavailable,
    RefundRefused,
)
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.kit.money import Money
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs import leases
from almoner.platform.jobs.leases import Done

LEASED: Final = "refund"
AGAIN: Final = timedelta(minutes=1)


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
        """Nothing to ask unless it is pending and a provider sends it."""
        _, refund = await service.lock(tx, self._refund_id)  # nobody asks again who prepared before it was recorded
        if refund.status != "pending" or refund.payment_id is None:
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


@dataclass(frozen=True, slots=True)
class RefundWork:
    """What a look works with."""

    db: Database
    provider: RefundStatusReader


@dataclass(frozen=True, slots=True)
class _Question:
    """A question that changes nothing."""

    row: UUID | None = None


class _RefreshRefund:
    """See how a refund stands that was sent, and learn."""

    name = "refund_look"

    def __init__(self, work: RefundWork, payment: str, refund: str) -> None:
        self._work = work
        self._named = payment, refund

    async def prepare(self, _tx: Tx) -> _Question | Done[None]:
        """There is always something to ask."""
        return _Question()

    async def call(self, _ask: _Question) -> SentBack:
        """Ask the provider. Raises ProviderFailure."""
        return await self._work.provider.sent_back(*self._named)

    async def record(self, tx: Tx, _ask: _Question, found: SentBack) -> Done[None]:
        """Learn. Raises NotNow."""
        await service.apply_provider_state(tx, self._work.provider.name, found)
        return Done(None)


async def look(work: RefundWork, payment: str, refund: str) -> None:
    """Learn how a refund stands at its provider. Raises ProviderFailure, NotNow."""
    await leases.run(work.db, _RefreshRefund(work, payment, refund))


async def handle_provider_webhook(work: RefundWork, payment: str, refund: str) -> None:
    """Act on a notice about a refund; a job does what cannot be done now. Raises NoticeRefused, ProviderUnavailable."""
    try:
        await look(work, payment, refund)
    except NoSuchPayment as failure:
        raise NoticeRefused("the notice names a refund that its provider does not know") from failure
    except ProviderFailure as failure:
        raise ProviderUnavailable from failure
    except NotNow:
        async with work.db.write() as tx:
            await service.look_later(tx, payment, refund, tx.now + AGAIN)


async def send(db: Database, provider: PaymentProvider, refund_id: UUID) -> None:
    """Have the provider send a gift back; when this returns, what it said is recorded. Raises ProviderFailure."""
    await leases.run(db, _Send(provider, refund_id))
