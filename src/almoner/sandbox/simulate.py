"""Does to a partner's records what somebody else would do, through the same code as in life (settled 9)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.giving.donations import flows
from almoner.giving.donations import service as donations
from almoner.giving.donations.domain import Gift, SessionDonation
from almoner.giving.donations.flows import PaymentWork
from almoner.giving.payments.ports import PaymentProvider
from almoner.giving.sessions import service as sessions
from almoner.giving.sessions.domain import SessionCompleted
from almoner.kit.errors import BadRequest, IncorrectParams
from almoner.kit.money import Money
from almoner.platform.db import Database, Partner
from almoner.platform.http.wire import Out
from almoner.sandbox.ports import Till

FALLBACK_CURRENCY: Final = "USD"


class UnknownRecord(BadRequest):
    code = "sandbox/record_not_found"
    message = "The id names none of your records that this can be done to"


class Declined(BadRequest):
    code = "sandbox/payment_declined"
    message = "The test provider declined the card, or the payment could not be made"


@dataclass(frozen=True, slots=True)
class Giver:
    """What the simulated donor gives and enters. ``currency``: None takes the session's, else USD."""

    amount: int
    currency: str | None
    first_name: str
    last_name: str
    email: str
    consented: bool
    anonymous: bool


class Simulation:
    """The people whom a partner cannot be: donors, for the time being."""

    def __init__(self, db: Database, provider: PaymentProvider, till: Till) -> None:
        self._db = db
        self._work = PaymentWork(db, provider)
        self._till = till

    async def donate(self, partner: Partner, session_id: UUID, giver: Giver, card: str) -> Out:
        """A donor opens the session's page, gives, and pays; the session afterwards.

        Raises NotFound, SessionCompleted, Declined, and what ``flows.begin_payment`` raises.
        """
        async with self._db.read() as tx:
            session = await sessions.get(tx, partner, session_id)
        currency = giver.currency or session.currency or FALLBACK_CURRENCY
        gift = Gift(
            Money(giver.amount, currency),
            giver.first_name,
            giver.last_name,
            giver.email,
            giver.consented,
            giver.anonymous,
        )
        begun = await flows.begin_payment(self._work, session_id, gift)
        if begun.url is None or begun.donation is None:
            raise SessionCompleted
        async with self._db.read() as tx:
            payment = await donations.provider_payment(tx, partner, begun.donation.id)
        await self._pay(payment, card, lambda: flows.return_from_provider(self._work, session_id))
        async with self._db.read() as tx:
            return sessions.record(tx, await sessions.get(tx, partner, session_id))

    async def pay(self, partner: Partner, donation_id: UUID, card: str) -> Out:
        """The donor pays a donation that waits for it; the donation afterwards.

        Raises NotFound, Declined; donation InvalidState when it waits for no payment.
        """
        async with self._db.read() as tx:
            payment = await donations.provider_payment(tx, partner, donation_id)
            session_id = await donations.session_of(tx, donation_id)
        await self._pay(payment, card, lambda: flows.return_from_provider(self._work, session_id))
        async with self._db.read() as tx:
            return donations.record(tx, await donations.get(tx, partner, donation_id))

    async def _pay(self, payment: str, card: str, come_back: Callable[[], Awaitable[SessionDonation]]) -> None:
        status = await self._till.pay(payment, card)
        await come_back()
        if status != "succeeded":
            raise Declined(f"the payment is {status} after card {card[-4:]} was tried")


def needed(**given: object) -> None:
    """Raises IncorrectParams naming everything that the action needs and the body lacks."""
    missing = [f"body.{name} is required for this action" for name, value in given.items() if value is None]
    if missing:
        raise IncorrectParams(*missing)
