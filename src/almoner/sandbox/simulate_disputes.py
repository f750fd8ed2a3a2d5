"""Simulated banks of donors: they want a paid donation back, and decide who keeps it (settled 9)."""

from typing import Final
from uuid import UUID

from almoner.giving.accounting.disputes import flows as disputes_flows
from almoner.giving.accounting.disputes.domain import ConcurrentChangeError
from almoner.giving.accounting.disputes.flows import DisputeContext
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation, InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.platform.database.transactions import Partner
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.ports import PaymentSimulator
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions

ERRORS: Final = (InvalidState,)


def simulated_dispute_actions(context: DisputeContext, simulator: PaymentSimulator) -> SimulatedActions:
    """The simulated actions of donors' banks."""
    return {("donation", "dispute"): _Banks(context, simulator).dispute}


class _Banks:
    def __init__(self, context: DisputeContext, simulator: PaymentSimulator) -> None:
        self._db = context.db
        self._context = context
        self._simulator = simulator

    async def dispute(self, partner: Partner, donation_id: UUID, body: SimulateBody) -> ResponseRecord:
        """The donor's bank wants a gift back; with an ``outcome`` it also decides, over this dispute or an open one.

        The donation afterwards. Raises NotFound, InvalidState.
        """
        async with self._db.read() as tx:
            donation = await donations.get(tx, partner, donation_id)
            payment = await payments.find(tx, donation.payment_id) if donation.payment_id else None
        if payment is None or payment.provider_payment_id is None:
            raise InvalidState(f"the donation is {donation.status}: no card has paid it, so no bank can want it back")
        if donation.disputed_at is not None and body.outcome is None:
            raise InvalidState("the donation is disputed: name an outcome, won or lost")
        await self._disputed(payment.provider_payment_id, donation, body)
        try:
            await disputes_flows.refresh_disputes(self._context, payment.provider_payment_id)
        except ConcurrentChangeError as busy:
            raise InvalidState("something else is under way with the donation; try again in a moment") from busy
        async with self._db.read() as tx:
            return donations.serialise_for_api(tx, await donations.get(tx, partner, donation_id))

    async def _disputed(self, payment: str, donation: Donation, body: SimulateBody) -> None:
        # The provider may have opened one that we have not heard of yet: then this one is that one.
        status = await self._simulator.open_dispute_and_get_status(payment)
        if status is None or (status != "open" and donation.disputed_at is None):
            raise InvalidState("nothing of the donation is left to dispute, or it was disputed and decided before")
        if body.outcome is not None:
            await self._simulator.decide_dispute(payment, won=body.outcome == "won")
