"""Simulated donors: they give on a session's page and pay, as real ones do (settled 9)."""

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from almoner.giving.banking.bank_statements import service as bank_lines
from almoner.giving.checkout.bank_transfers import service as transfers
from almoner.giving.checkout.donations import flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import (
    Donation,
    Gift,
    InvalidState,
    SessionDonation,
    Standing,
    TooManyTries,
    WrongTargetCurrency,
)
from almoner.giving.checkout.donations.flows import PaymentWork
from almoner.giving.checkout.payments.domain import ProviderUnavailable
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import SessionCompleted, SessionExpired
from almoner.kit.errors import BadRequest
from almoner.kit.money import Money
from almoner.platform.database.transactions import Partner
from almoner.platform.http.wire import Out
from almoner.sandbox import simulate_direct
from almoner.sandbox.ports import PaymentSimulator
from almoner.sandbox.schemas import SimulateIn
from almoner.sandbox.simulate import Moves, needed

FALLBACK_CURRENCY: Final = "USD"
_BY: Final = "sandbox"


class Declined(BadRequest):
    code = "sandbox/payment_declined"
    message = "The test provider declined the card, or the payment could not be made"


ERRORS: Final = (
    Declined,
    InvalidState,
    WrongTargetCurrency,
    TooManyTries,
    SessionExpired,
    SessionCompleted,
    ProviderUnavailable,
)


def actions(work: PaymentWork, simulator: PaymentSimulator) -> Moves:
    """What donors do."""
    donors = _Donors(work, simulator)
    return {("donationsession", "donate"): donors.donate, ("donation", "pay"): donors.pay}


class _Donors:
    def __init__(self, work: PaymentWork, simulator: PaymentSimulator) -> None:
        self._db = work.db
        self._work = work
        self._till = simulator

    async def donate(self, partner: Partner, session_id: UUID, body: SimulateIn) -> Out:
        """A donor opens the session's page, gives, and pays; the session afterwards.

        Raises NotFound, SessionCompleted, Declined, and what ``flows.begin_payment`` raises.
        """
        needed(amount=body.amount, firstName=body.first_name, lastName=body.last_name, email=body.email)
        async with self._db.read() as tx:
            session = await sessions.get(tx, partner, session_id)
        gift = _gift(body, body.currency_code or session.currency or FALLBACK_CURRENCY)
        if body.way == "transfer":
            return await self._transfer(partner, session_id, gift)
        begun = await flows.begin_payment(self._work, session_id, gift)
        if begun.url is None or begun.donation is None:
            raise SessionCompleted
        async with self._db.read() as tx:
            payment = await donations.provider_payment(tx, partner, begun.donation.id)
        await self._pay(payment, body.card, lambda: flows.return_from_provider(self._work, session_id))
        async with self._db.read() as tx:
            return sessions.record(tx, await sessions.get(tx, partner, session_id))

    async def _transfer(self, partner: Partner, session_id: UUID, gift: Gift) -> Out:
        """The donor asks for the details of a bank transfer, and says that it was sent."""
        begun = await flows.begin_transfer(self._work, session_id, gift)
        if begun.standing is not Standing.UNDER_WAY:
            raise SessionCompleted
        async with self._db.write() as tx:
            await transfers.confirm(tx, session_id)
            return sessions.record(tx, await sessions.get(tx, partner, session_id))

    async def pay(self, partner: Partner, donation_id: UUID, body: SimulateIn) -> Out:
        """Whoever is to pay a donation that waits for it does; the donation afterwards.

        The partner pays all that it is asked for together with a direct one. Raises NotFound, Declined; donation
        InvalidState when it waits for no payment.
        """
        async with self._db.read() as tx:
            donation = await donations.get(tx, partner, donation_id)
        if donation.type == "direct":
            return await simulate_direct.pay_donation(self._db, partner, donation)
        if (told := await self._hear_bank(donation, body)) is not None:
            return told
        async with self._db.read() as tx:
            payment = await donations.provider_payment(tx, partner, donation_id)
            session_id = await donations.session_of(tx, donation_id)
        await self._pay(payment, body.card, lambda: flows.return_from_provider(self._work, session_id))
        async with self._db.read() as tx:
            return donations.record(tx, await donations.get(tx, partner, donation_id))

    async def _hear_bank(self, donation: Donation, body: SimulateIn) -> Out | None:
        """Our bank tells of a transfer under the reference of a donation; None when it is paid otherwise."""
        async with self._db.write() as tx:
            payment = await transfers.named(tx, donation)
            if payment is None or payment.provider_payment is None:
                return None
            money = Money(body.amount or payment.money.minor, body.currency_code or payment.money.currency)
            await bank_lines.hear_simulated(tx, money, payment.provider_payment, by=_BY)
            return donations.record(tx, await donations.get(tx, Partner(donation.partner_id), donation.id))

    async def _pay(self, payment: str, card: str, come_back: Callable[[], Awaitable[SessionDonation]]) -> None:
        status = await self._till.pay(payment, card)
        await come_back()
        if status != "succeeded":
            raise Declined(f"the payment is {status} after card {card[-4:]} was tried")


def _gift(body: SimulateIn, currency: str) -> Gift:
    return Gift(
        Money(body.amount or 0, currency),
        body.first_name or "",
        body.last_name or "",
        body.email or "",
        consented=body.consented_to_be_contacted_by_org == "yes",
        anonymous=body.anonymous == "yes",
    )
