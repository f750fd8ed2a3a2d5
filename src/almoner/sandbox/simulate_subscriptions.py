"""Simulated banks of donors who give regularly: cards fail, expire and are renewed (settled 11)."""

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import SavedPaymentMethod
from almoner.giving.subscriptions.donation_subscriptions import service as donation_subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import InvalidState
from almoner.platform.database.transactions import Partner
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.ports import PaymentSimulator
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions

ERRORS: Final = (InvalidState,)


def simulated_donation_subscription_actions(context: PaymentContext, simulator: PaymentSimulator) -> SimulatedActions:
    """Simulated actions on donors' saved cards."""
    cards = _SavedCards(context, simulator)
    return {
        ("donationsubscription", "fail_next"): cards.fail_next,
        ("donationsubscription", "expire_card"): cards.expire_card,
        ("donationsubscription", "renew_card"): cards.renew_card,
    }


class _SavedCards:
    def __init__(self, context: PaymentContext, simulator: PaymentSimulator) -> None:
        self._context = context
        self._simulator = simulator

    async def fail_next(self, partner: Partner, plan_id: UUID, body: SimulateBody) -> ResponseRecord:
        """The next charge of the plan's card is declined. Raises NotFound, InvalidState."""
        return await self._act(
            partner,
            plan_id,
            lambda saved: self._simulator.fail_next_charge(saved.customer_id, saved.id, body.decline_code),
        )

    async def expire_card(self, partner: Partner, plan_id: UUID, _body: SimulateBody) -> ResponseRecord:
        """Expire the plan's card; the provider declines its next charge. Raises as ``fail_next``."""
        return await self._act(partner, plan_id, lambda saved: self._simulator.expire_card(saved.customer_id, saved.id))

    async def renew_card(self, partner: Partner, plan_id: UUID, _body: SimulateBody) -> ResponseRecord:
        """Renew the plan's card; the provider reports this. Raises as ``fail_next``."""
        return await self._act(partner, plan_id, lambda saved: self._simulator.renew_card(saved.customer_id, saved.id))

    async def _act(
        self, partner: Partner, plan_id: UUID, act: Callable[[SavedPaymentMethod], Awaitable[bool]]
    ) -> ResponseRecord:
        db = self._context.db
        async with db.read() as tx:
            subscription = await donation_subscriptions.get(tx, partner, plan_id)
        saved = subscription.payment_method
        if saved is None or subscription.status == "cancelled" or not await act(saved):
            raise InvalidState(f"the donation subscription is {subscription.status} and has no saved card")
        await donations_flows.refresh_saved_payment_method(self._context, saved.id)
        async with db.read() as tx:
            return donation_subscriptions.serialise_for_api(tx, await donation_subscriptions.get(tx, partner, plan_id))
