"""Donors for tests: sessions, donations and payments at the provider in memory, through the real flows."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import httpx
from starlette.routing import Router

from almoner.giving.accounting.disputes import flows as disputes_flows
from almoner.giving.accounting.disputes.flows import DisputeContext
from almoner.giving.accounting.refunds import flows as refunds_flows
from almoner.giving.accounting.refunds.flows import RefundContext
from almoner.giving.accounting.refunds.ports import RefundStatusReader
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DonationDetails, SessionDonation
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.donations.provider_webhooks import webhook_routes
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.kit.money import Money
from almoner.platform.http.edge import OutermostMiddleware
from tests.support import factories
from tests.support.client import Client, data
from tests.support.fake_provider import FakeProvider, notice
from tests.support.service import Service


def gift(amount: int = 2500, currency: str = "USD", **changed: Any) -> DonationDetails:
    """The details of a donation."""
    donor = {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.org", **changed}
    return DonationDetails(Money(amount, currency), consented=donor.pop("consented", True), anonymous=False, **donor)


@dataclass(slots=True)
class Giving:
    """One partner's session, and the provider that its donor pays at."""

    service: Service
    api: Client
    session_id: UUID
    session: dict[str, Any]
    provider: FakeProvider = field(default_factory=FakeProvider)

    @property
    def work(self) -> PaymentContext:
        """The dependencies of the payment flows."""
        return PaymentContext(self.service.db, self.provider)

    async def disputed(self, payment: str) -> None:
        """Handle a webhook about disputes."""
        await disputes_flows.handle_provider_webhook(
            DisputeContext(self.service.db, self.provider, DisbursementRules()), payment
        )

    async def refunded(self, payment: str, refund: str) -> None:
        """Handle a webhook about a refund."""
        looks = cast("RefundStatusReader", self.provider)  # the provider in memory reports no later failures
        await refunds_flows.handle_provider_webhook(RefundContext(self.service.db, looks), payment, refund)

    async def begin(self, chosen: DonationDetails | None = None) -> SessionDonation:
        """Continue to the payment as the donor."""
        return await donations_flows.start_payment(self.work, self.session_id, chosen or gift())

    async def come_back(self) -> SessionDonation:
        """Return from the provider as the donor's browser."""
        return await donations_flows.handle_donor_return(self.work, self.session_id)

    async def notify(self, payment: str, kind: str = "payment.succeeded", **told: Any) -> httpx.Response:
        """Send the provider's webhook."""
        body, headers = notice(payment, kind, at=told.pop("at", self.service.clock.real_now()), **told)
        return await self.post(body, headers)

    async def post(self, body: bytes, headers: dict[str, str], *, to: str = "fake") -> httpx.Response:
        """Post anything to the provider's webhook URL."""
        edge = OutermostMiddleware(
            Router(webhook_routes(self.work, self.disputed, self.refunded)),
            self.service.services.telemetry,
            self.service.clock,
            https_only=False,
        )
        client = Client(edge, "http://localhost", None)
        try:
            return await client.request("POST", f"/callbacks/{to}", content=body, headers=headers)
        finally:
            await client.close()

    async def donations(self) -> list[dict[str, Any]]:
        """The partner's donations, newest first."""
        found: list[dict[str, Any]] = data(await self.api.get("/v1/donations"))
        return found

    async def status(self) -> str:
        """The session's status in the API."""
        return str(data(await self.api.get(f"/v1/donation-sessions/{self.session['id']}"))["status"])

    async def events(self) -> list[str]:
        """The types of the partner's donation events, in the order written."""
        return [one for one in await self.all_events() if one.startswith("donation.")]

    async def all_events(self) -> list[str]:
        """The types of all of the partner's events."""
        async with self.service.db.read() as tx:
            rows = await tx.fetch(
                "select type from event join donation_session s using (partner_id) where s.id = $1 order by position",
                self.session_id,
            )
        return [row["type"] for row in rows]

    async def held(self) -> list[tuple[str, int, str]]:
        """(reason, amount, currency) of unallocated payments."""
        async with self.service.db.read() as tx:
            rows = await tx.fetch(
                "select reason, amount_minor, currency from unallocated_payment "
                "where provider_payment = any($1) order by id",
                list(self.provider.payments),
            )
        return [tuple(row) for row in rows]

    async def sweep(self) -> int:
        """Cancel abandoned payments."""
        async with self.service.db.write() as tx:
            return await donations.cancel_abandoned_donations(tx)


async def open_session(service: Service, api: Client, **body: Any) -> Giving:
    """A new session with a provider of its own."""
    made = await factories.session(service, api, **body)
    session_id = service.db.deployment.ids.decode("donationsession", made["id"])
    assert session_id is not None
    return Giving(service, api, session_id, made)


DAY = timedelta(hours=24)
MOMENT = timedelta(milliseconds=1)
PAID = ["donation.created", "donation.hosted.payment_received", "donation.payment_successful"]
