"""Simulated donors: they give on a session's page and pay, as real ones do (settled 9)."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final
from uuid import UUID

from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import (
    CheckoutState,
    Donation,
    DonationDetails,
    InvalidState,
    SessionDonation,
    TooManyCardAttempts,
    WrongTargetCurrency,
)
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import ProviderUnavailable
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import DonationSession, SessionAlreadyCompleted, SessionExpired
from almoner.giving.subscriptions.agreements import service as agreements
from almoner.kit.errors import BadRequest, IncorrectParams
from almoner.kit.money import Money
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import Partner
from almoner.platform.http.wire import ResponseRecord
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.sandbox import simulate_direct
from almoner.sandbox.ports import PaymentSimulator
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions, ensure_required_fields

_FALLBACK_CURRENCY: Final = "USD"
_BY: Final = "sandbox"


class PaymentDeclined(BadRequest):
    code = "sandbox/payment_declined"
    message = "The test provider declined the card, or the payment could not be made"


ERRORS: Final = (
    PaymentDeclined,
    InvalidState,
    WrongTargetCurrency,
    TooManyCardAttempts,
    SessionExpired,
    SessionAlreadyCompleted,
    ProviderUnavailable,
)


def simulated_donation_actions(
    context: PaymentContext, simulator: PaymentSimulator, catalogues: TranslationCatalogues
) -> SimulatedActions:
    """The simulated actions of donors."""
    donors = _Donors(context, simulator, catalogues)
    return {("donationsession", "donate"): donors.donate, ("donation", "pay"): donors.pay}


class _Donors:
    def __init__(self, context: PaymentContext, simulator: PaymentSimulator, catalogues: TranslationCatalogues) -> None:
        self._db = context.db
        self._context = context
        self._simulator = simulator
        self._catalogues = catalogues

    async def donate(self, partner: Partner, session_id: UUID, body: SimulateBody) -> ResponseRecord:
        """A donor opens the session's page, gives, and pays; the session afterwards.

        Raises NotFound, SessionAlreadyCompleted, PaymentDeclined, and what ``flows.start_payment`` raises.
        """
        named = body.first_name or body.last_name  # one of them is enough
        ensure_required_fields(amount=body.amount, firstName=named, email=body.email)
        async with self._db.read() as tx:
            session = await sessions.get(tx, partner, session_id)
        gift = await self._gift(partner, session, body)
        if body.way == "transfer":
            return await self._transfer(partner, session_id, gift)
        started = await donations_flows.start_payment(self._context, session_id, gift)
        if started.payment_url is None or started.donation is None:
            raise SessionAlreadyCompleted
        async with self._db.read() as tx:
            payment = await donations.get_unpaid_provider_payment_id(tx, partner, started.donation.id)
        await self._pay(payment, body.card, lambda: donations_flows.handle_donor_return(self._context, session_id))
        async with self._db.read() as tx:
            return sessions.serialise_for_api(tx, await sessions.get(tx, partner, session_id))

    async def _gift(self, partner: Partner, session: DonationSession, body: SimulateBody) -> DonationDetails:
        """The donor's choices, with the consents of the page. Raises IncorrectParams."""
        gift = _gift_of(body, body.currency_code or session.currency or _FALLBACK_CURRENCY)
        gift = replace(gift, designation=_designation(body, session), dedication=body.dedication)
        if body.dedication is not None and not session.options.dedication:
            raise IncorrectParams("body.dedication must be left out: the session does not offer it")
        frequency = body.frequency or session.frequencies[0]
        if frequency not in session.frequencies:
            raise IncorrectParams(f"body.frequency must be one of the session's: {', '.join(session.frequencies)}")
        if frequency == "one_time":
            return gift
        if body.way == "transfer":
            raise IncorrectParams("body.way must be card: regular donations are paid by card")
        async with self._db.read() as tx:
            name = (await organisations.get(tx, partner, session.organisation_id)).effective_display_name
            today = tx.deployment.date_in_issuer_time_zone(tx.now)
        language = self._catalogues.language(session.language)
        return replace(
            gift,
            frequency=frequency,
            agreement=agreements.build_agreement(language, name, gift.money, frequency, today),
        )

    async def _transfer(self, partner: Partner, session_id: UUID, details: DonationDetails) -> ResponseRecord:
        """The donor asks for the details of a bank transfer, and says that it was sent."""
        started = await donations_flows.start_bank_transfer(self._context, session_id, details)
        if started.state is not CheckoutState.UNDER_WAY:
            raise SessionAlreadyCompleted
        async with self._db.write() as tx:
            await bank_transfers.confirm_transfer_sent(tx, session_id)
            return sessions.serialise_for_api(tx, await sessions.get(tx, partner, session_id))

    async def pay(self, partner: Partner, donation_id: UUID, body: SimulateBody) -> ResponseRecord:
        """Whoever is to pay a donation that waits for it does; the donation afterwards.

        The partner pays all that it is asked for together with a direct one. Raises NotFound, PaymentDeclined; donation
        InvalidState when it waits for no payment.
        """
        async with self._db.read() as tx:
            donation = await donations.get(tx, partner, donation_id)
        if donation.type == "direct":
            return await simulate_direct.pay_donation_request_of_donation(self._db, partner, donation)
        if (reported := await self._report_to_bank(donation, body)) is not None:
            return reported
        async with self._db.read() as tx:
            payment = await donations.get_unpaid_provider_payment_id(tx, partner, donation_id)
            session_id = await donations.get_session_id(tx, donation_id)
        await self._pay(payment, body.card, lambda: donations_flows.handle_donor_return(self._context, session_id))
        async with self._db.read() as tx:
            return donations.serialise_for_api(tx, await donations.get(tx, partner, donation_id))

    async def _report_to_bank(self, donation: Donation, body: SimulateBody) -> ResponseRecord | None:
        """Report a bank transfer with the donation's reference; None if it is paid otherwise."""
        async with self._db.write() as tx:
            payment = await bank_transfers.find_newest_transfer_payment(tx, donation)
            if payment is None or payment.provider_payment_id is None:
                return None
            money = Money(body.amount or payment.money.minor, body.currency_code or payment.money.currency)
            await bank_statements.book_sandbox_transfer(tx, money, payment.provider_payment_id, booked_by=_BY)
            return donations.serialise_for_api(tx, await donations.get(tx, Partner(donation.partner_id), donation.id))

    async def _pay(self, payment: str, card: str, come_back: Callable[[], Awaitable[SessionDonation]]) -> None:
        status = await self._simulator.pay_with_card_and_get_status(payment, card)
        await come_back()
        if status not in ("succeeded", "processing"):  # a challenge stays open until the next `pay` answers it
            raise PaymentDeclined(f"the payment is {status} after card {card[-4:]} was tried")


def _designation(body: SimulateBody, session: DonationSession) -> str | None:
    """Raises IncorrectParams."""
    offered = session.options.designations
    chosen = body.designation or next(iter(offered), None)
    if chosen is not None and chosen not in offered:
        raise IncorrectParams(f"body.designation must be one of the session's: {', '.join(offered) or 'it has none'}")
    return chosen


def _gift_of(body: SimulateBody, currency: str) -> DonationDetails:
    return DonationDetails(
        Money(body.amount or 0, currency),
        body.first_name or "",
        body.last_name or "",
        body.email or "",
        consented=body.consented_to_be_contacted_by_org == "yes",
        anonymous=body.anonymous == "yes",
    )
