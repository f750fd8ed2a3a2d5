"""Refunds a donation: the call to the payment provider, between two transactions (architecture 3).

The recovery point is the ``refund`` row, committed with its posting before the call; the idempotency key is made from
its ID. After a crash the same call is repeated (I5, I6).
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.giving.accounting.refunds import service
from almoner.giving.accounting.refunds.domain import ConcurrentChangeError, ProviderRefundState
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import (
    NoSuchPayment,
    ProviderFailure,
    ProviderRefund,
    ProviderUnavailable,
    RefundRefused,
    WebhookRefused,
)
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.kit.money import Money
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs import leases
from almoner.platform.jobs.leases import FlowDone

LEASE_KIND: Final = "refund"
RETRY_DELAY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class _RefundCall:
    """One refund to request; ``leased_row_id``: the leased refund's ID."""

    leased_row_id: UUID
    payment: str
    money: Money
    key: str


class _SendRefund:
    """Request a refund of the payment from the provider, and record the response."""

    name = LEASE_KIND

    def __init__(self, provider: PaymentProvider, refund_id: UUID) -> None:
        self._provider = provider
        self._refund_id = refund_id

    async def prepare_call(self, tx: Tx) -> _RefundCall | FlowDone[None]:
        """Lock the refund; done unless it is pending and sent by a provider."""
        _, refund = await service.get_for_update_with_donation(
            tx, self._refund_id
        )  # a concurrent worker that prepared earlier must not call again
        if refund.status != "pending" or refund.payment_id is None:
            return FlowDone(None)
        if refund.provider != self._provider.name:
            raise ProviderFailure(f"{refund.provider} is not the provider of this deployment any more")
        payment = await payments.find(tx, refund.payment_id)
        assert payment is not None, "a refund references its payment"
        assert payment.provider_payment_id is not None, "a gift was paid with it"
        return _RefundCall(
            refund.id, payment.provider_payment_id, refund.money, service.refund_idempotency_key(tx, refund.id)
        )

    async def call_external_service(self, ask: _RefundCall) -> ProviderRefund | RefundRefused:
        """Request the refund; safe to repeat. Raises ProviderFailure."""
        try:
            return await self._provider.refund_payment(ask.payment, ask.key, ask.money)
        except RefundRefused as refused:
            return refused

    async def record_result(self, tx: Tx, ask: _RefundCall, answer: ProviderRefund | RefundRefused) -> FlowDone[None]:
        """Record that the refund is on its way to the donor, or that the provider refused it."""
        if isinstance(answer, RefundRefused):
            await service.record_provider_refusal(tx, ask.leased_row_id, str(answer))
        else:
            await service.record_refund_sent(tx, ask.leased_row_id, answer.id)
        return FlowDone(None)


@dataclass(frozen=True, slots=True)
class RefundContext:
    """The dependencies of the refund flows."""

    db: Database
    provider: RefundStatusReader


@dataclass(frozen=True, slots=True)
class _StatusCall:
    """A read-only provider call."""

    leased_row_id: UUID | None = None


class _RefreshRefund:
    """Fetch the state of a sent refund and apply it."""

    name = "refund_look"

    def __init__(self, context: RefundContext, payment: str, refund: str) -> None:
        self._context = context
        self._named = payment, refund

    async def prepare_call(self, _tx: Tx) -> _StatusCall | FlowDone[None]:
        """Return the call; it is always made."""
        return _StatusCall()

    async def call_external_service(self, _ask: _StatusCall) -> ProviderRefundState:
        """Fetch the refund from the provider. Raises ProviderFailure."""
        return await self._context.provider.fetch_refund(*self._named)

    async def record_result(self, tx: Tx, _ask: _StatusCall, refund_state: ProviderRefundState) -> FlowDone[None]:
        """Apply the fetched state. Raises ConcurrentChangeError."""
        await service.apply_provider_state(tx, self._context.provider.name, refund_state)
        return FlowDone(None)


async def refresh_refund(context: RefundContext, provider_payment_id: str, provider_refund_id: str) -> None:
    """Refresh the status of a refund from its provider. Raises ProviderFailure, ConcurrentChangeError."""
    await leases.run_leased_external_call_flow(
        context.db, _RefreshRefund(context, provider_payment_id, provider_refund_id)
    )


async def handle_provider_webhook(context: RefundContext, provider_payment_id: str, provider_refund_id: str) -> None:
    """Handle a webhook about a refund; a job retries what fails.

    Raises WebhookRefused, ProviderUnavailable.
    """
    try:
        await refresh_refund(context, provider_payment_id, provider_refund_id)
    except NoSuchPayment as failure:
        raise WebhookRefused("the notice names a refund that its provider does not know") from failure
    except ProviderFailure as failure:
        raise ProviderUnavailable from failure
    except ConcurrentChangeError:
        async with context.db.write() as tx:
            await service.enqueue_refresh(tx, provider_payment_id, provider_refund_id, tx.now + RETRY_DELAY)


async def send_refund(db: Database, provider: PaymentProvider, refund_id: UUID) -> None:
    """Send a refund through the provider and record the result. Raises ProviderFailure."""
    await leases.run_leased_external_call_flow(db, _SendRefund(provider, refund_id))
