"""Simulated money of direct donations: the partner is asked for it at once, and pays it (settled 9)."""

from typing import Final
from uuid import UUID

from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import InvalidState, PartnerCurrency
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.checkout.donations.domain import InvalidState as DonationInvalidState
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions

ERRORS: Final = (InvalidState, DonationInvalidState)
_BY: Final = "sandbox"


def simulated_direct_donation_actions(db: Database) -> SimulatedActions:
    """The simulated actions on direct donations and their requests."""
    direct = _Direct(db)
    return {("donation", "request"): direct.request, ("donationrequest", "pay"): direct.pay}


class _Direct:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def request(self, partner: Partner, donation_id: UUID, _body: SimulateBody) -> ResponseRecord:
        """The period ends now: the partner is asked for all its donations of the currency; the donation afterwards.

        Raises NotFound, donation InvalidState.
        """
        async with self._db.read() as tx:
            donation = await donations.get(tx, partner, donation_id)
        if donation.status != "ACTIVE":
            raise DonationInvalidState(f"the donation is {donation.status}: only one that is ACTIVE is asked for")
        await donation_requests_flows.invoice_partner(
            self._db, PartnerCurrency(partner.id, donation.money.currency), end_period_now=True
        )
        async with self._db.read() as tx:
            return donations.serialise_for_api(tx, await donations.get(tx, partner, donation_id))

    async def pay(self, partner: Partner, request_id: UUID, body: SimulateBody) -> ResponseRecord:
        """The partner pays an amount on a request, in its currency or another; the request afterwards.

        Raises NotFound; InvalidState when no amount is given and nothing is open.
        """
        async with self._db.read() as tx:
            request = await donation_requests.get(tx, partner, request_id)
        money = Money(body.amount or request.outstanding_minor, body.currency_code or request.money.currency)
        if not money:
            raise InvalidState("the request is PAID: name an amount to pay more")
        await _pay(self._db, partner, request_id, money)
        async with self._db.read() as tx:
            return donation_requests.serialise_for_api(tx, await donation_requests.get(tx, partner, request_id))


async def pay_donation_request_of_donation(db: Database, partner: Partner, donation: Donation) -> ResponseRecord:
    """Pay the donation request that contains a direct donation.

    Raises donation InvalidState when it was not asked for.
    """
    if donation.status != "REQUESTED_PAYMENT" or donation.donation_request_id is None:
        raise DonationInvalidState(f"the donation is {donation.status}: only one that was asked for is paid")
    async with db.read() as tx:
        request = await donation_requests.get(tx, partner, donation.donation_request_id)
    if request.outstanding_minor:
        await _pay(db, partner, request.id, Money(request.outstanding_minor, request.money.currency))
    async with db.read() as tx:
        return donations.serialise_for_api(tx, await donations.get(tx, partner, donation.id))


async def _pay(db: Database, partner: Partner, request_id: UUID, money: Money) -> None:
    async with db.read() as tx:
        reference = f"simulated-{encode_uuid(tx.new_id())}"
    await donation_requests_flows.receive_payment(db, partner, request_id, money, reference, recorded_by=_BY)
