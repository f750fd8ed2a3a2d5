"""Partners' donation requests and payments, for tests."""

from typing import Any
from uuid import UUID

from almoner.giving.checkout.donation_requests import domain as donation_requests_domain
from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests.domain import DonationRequestPayment
from almoner.giving.checkout.donation_requests.flows import InvoicingResult
from almoner.kit.money import Money
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from tests.support import factories
from tests.support.client import Client, data
from tests.support.payouts import simulate, uuid_of
from tests.support.service import Service

NEXT_PERIOD = 32
"""Days after which any month is over."""


async def asked(service: Service, api: Client, *amounts: int, **body: Any) -> dict[str, Any]:
    """Create a request for new direct donations of these amounts."""
    made = [await factories.direct(service, api, amount=amount, **body) for amount in amounts]
    await simulate(api, made[-1]["id"], "request")
    return (await requests(api))[0]


async def requests(api: Client) -> list[dict[str, Any]]:
    """The partner's requests, newest first."""
    found: list[dict[str, Any]] = data(await api.get("/v1/donation-requests"))
    return found


async def donations_of(api: Client, request: dict[str, Any]) -> list[dict[str, Any]]:
    """The donations of a request, oldest first."""
    query = {"donationRequestId": request["id"], "direction": "ASC", "pageSize": 100}
    found: list[dict[str, Any]] = data(await api.get("/v1/donations", **query))
    return found


async def run(service: Service) -> InvoicingResult:
    """Create the requests of completed periods."""
    return await donation_requests_flows.run_invoicing(service.db)


async def paid(
    service: Service, request: dict[str, Any], minor: int, reference: str, currency: str = "USD"
) -> DonationRequestPayment:
    """Record a transfer as an officer."""
    named = uuid_of(service, "donationrequest", request["id"])
    return await donation_requests_flows.receive_payment(
        service.db, ALL_PARTNERS, named, Money(minor, currency), reference, recorded_by="officer"
    )


async def bundle(tx: Tx, partner_id: UUID) -> UUID:
    """A request alone, for direct donations whose rows a test writes itself."""
    made = tx.new_id()
    await tx.execute(
        """
        insert into donation_request (id, partner_id, currency, amount_minor, donations, paid_minor, allocated_minor,
                                      status, reference, cutoff_at, collecting, allocating, created_at, due_at,
                                      status_changed_at)
        values ($1, $2, 'USD', 0, 0, 0, 0, 'OPEN', $3, $4, true, false, $4, $4, $4)
        """,
        made,
        partner_id,
        donation_requests_domain.payment_reference(made),
        tx.now,
    )
    return made
