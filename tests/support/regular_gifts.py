"""Donors with recurring donations at the built-in provider: they start plans, and their banks decline cards."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import SavedPaymentMethod
from almoner.giving.checkout.sessions.domain import DonationFrequency
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.giving.subscriptions.donation_subscriptions.domain import Agreement
from almoner.kit.money import Money
from almoner.kit.time import parse_timestamp
from almoner.platform.database.transactions import ALL_PARTNERS, Partner
from almoner.provider_test import service as provider_test
from almoner.provider_test.domain import Card, DeclineReason
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

AGREEMENT = Agreement("1", "en", "I give this much on this day of each month until I end it.")
PLANS = "/v1/donation-subscriptions"
CARD = "4242424242424242"


@dataclass(slots=True)
class Plan:
    """One plan, with its partner's view and its donor's card."""

    service: Service
    api: Client
    id: str
    organisation: str

    @property
    def uuid(self) -> UUID:
        """Its UUID."""
        found = self.service.db.deployment.ids.decode("donationsubscription", self.id)
        assert found is not None
        return found

    async def record(self) -> dict[str, Any]:
        """The record in the API."""
        found: dict[str, Any] = data(await self.api.get(f"{PLANS}/{self.id}"))
        return found

    async def does(self, action: str, body: object = None, status: int = 200) -> dict[str, Any]:
        """Perform a partner's action."""
        reply = await self.api.post(f"{PLANS}/{self.id}/{action}", body)
        assert reply.status_code == status, reply.text
        found: dict[str, Any] = reply.json() if status != 200 else data(reply)
        return found

    async def gifts(self) -> list[dict[str, Any]]:
        """Its donations, oldest first."""
        found = data(await self.api.get("/v1/donations", organisationId=self.organisation, pageSize=100))
        return [one for one in reversed(found) if one["subscription"]["id"] == self.id]

    async def paid_on(self) -> list[str]:
        """The dates of its paid donations."""
        return [one["createdAt"][:10] for one in await self.gifts() if one["status"] == "RECEIVED_PAYMENT"]

    async def dates(self) -> list[tuple[str, str]]:
        """(date, outcome) of each due date."""
        async with self.service.db.read() as tx:
            found = await subscriptions.list_charges(tx, self.uuid)
        return [(one.due_on.isoformat(), one.skip_reason or one.status) for one in reversed(found)]

    async def method(self) -> SavedPaymentMethod:
        """The saved payment method."""
        async with self.service.db.read() as tx:
            saved = (await subscriptions.get(tx, ALL_PARTNERS, self.uuid)).payment_method
        assert saved is not None
        return saved

    async def decline_next(self, code: str = "insufficient_funds") -> None:
        """Decline the next charge."""
        saved = await self.method()
        async with self.service.db.write() as tx:
            assert await provider_test.fail_next_charge(tx, saved.customer_id, saved.id, DeclineReason(code))

    async def events(self) -> list[str]:
        """The types of its partner's events about plans."""
        await self.service.drain()
        told = data(await self.api.get("/v1/events", direction="ASC", pageSize=100))
        return [
            one["eventType"].removeprefix("donation_subscription.")
            for one in told
            if one["eventType"].startswith("donation_subscription.")
        ]


def context(service: Service) -> PaymentContext:
    """The dependencies of the payment flows."""
    assert service.services.provider is not None
    return PaymentContext(service.db, service.services.provider)


async def begin_plan(
    service: Service,
    api: Client,
    frequency: DonationFrequency = "monthly",
    *,
    organisation: str | None = None,
    card: str = CARD,
    amount: int = 2500,
    pays: bool = True,
    **body: Any,
) -> Plan:
    """Choose a recurring donation as a donor, and pay the first one."""
    organisation = organisation or await factories.nonprofit(service)
    session = await factories.session(service, api, organisation=organisation, **body)
    session_id = service.db.deployment.ids.decode("donationsession", session["id"])
    assert session_id is not None
    gift = DonationDetails(
        Money(amount, "USD"),
        "Ada",
        "Byron",
        "ada@example.org",
        consented=True,
        anonymous=False,
        frequency=frequency,
        agreement=AGREEMENT,
    )
    work = context(service)
    started = await donations_flows.start_payment(work, session_id, gift)
    donation = started.donation
    assert donation is not None
    assert donation.subscription_id is not None
    if pays:
        async with service.db.write() as tx:
            payment = await donations.get_unpaid_provider_payment_id(tx, Partner(donation.partner_id), donation.id)
            assert await provider_test.pay_with_card(tx, payment, Card(card))
        await donations_flows.handle_donor_return(work, session_id)
    return Plan(
        service, api, service.db.deployment.ids.encode("donationsubscription", donation.subscription_id), organisation
    )


async def pass_days(service: Service, days: int, *, by: int = 1) -> None:
    """Move business time in steps, and do all due work after each."""
    for _ in range(0, days, by):
        service.clock.advance(days=by)
        await service.drain()


async def reach(service: Service, moment: str) -> None:
    """Move business time to a moment, and do all work due by then."""
    service.clock.advance_to(parse_timestamp(moment))
    await service.drain()
