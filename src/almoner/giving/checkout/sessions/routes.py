"""Endpoints of donation sessions (spec 4.8; settled 8)."""

from collections.abc import Collection
from typing import Annotated
from uuid import UUID

from almoner.giving.checkout.sessions import domain, service
from almoner.giving.checkout.sessions.domain import (
    CannotAcceptDonations,
    InvalidMetadata,
    OrganisationNotFound,
    PartnerUserNotFound,
    SessionNotPayable,
)
from almoner.giving.checkout.sessions.schemas import (
    DonationSessionBody,
    DonationSessionResponse,
    DonationSessionsQuery,
    session_response,
)
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse

SessionId = Annotated[UUID, PathId("donationsession")]

routes = Routes("Donation sessions", moves_money=True)


@routes.get("/v1/donation-sessions", key=SECRET, scope="donation_sessions:read")
async def list_donation_sessions(call: ApiCall, query: DonationSessionsQuery) -> ListResponse[DonationSessionResponse]:
    """List donation sessions."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page)
    return call.list_response(
        page, rows, total, lambda row: session_response(call.tx, row), lambda row: (row.id.bytes,)
    )


@routes.get("/v1/donation-sessions/{id}", key=SECRET, scope="donation_sessions:read")
async def get_donation_session(call: ApiCall, id: SessionId) -> DonationSessionResponse:
    """Retrieve a donation session."""
    return session_response(call.tx, await service.get(call.tx, call.partner, id))


def session_creation_routes(payable_currencies: Collection[str] | None) -> Routes:
    """The endpoint that makes sessions.

    ``payable_currencies``: the currencies that donors can pay in here, None without a way.
    """
    creating = Routes("Donation sessions", moves_money=True)

    @creating.post(
        "/v1/donation-sessions",
        key=SECRET,
        scope="donation_sessions:write",
        tx="single",
        errors=(OrganisationNotFound, PartnerUserNotFound, InvalidMetadata, CannotAcceptDonations, SessionNotPayable),
    )
    async def create_donation_session(call: ApiCall, body: DonationSessionBody) -> DonationSessionResponse:
        """Create a donation session: a hosted page, open for 24 hours, on which one donor gives to one organisation."""
        domain.ensure_currency_accepted(body.currency, payable_currencies)
        change = service.DonationSessionRequest(
            body.organisation_id,
            body.user_id,
            body.success_url,
            body.currency,
            body.language,
            body.metadata,
            None if body.benefits is None else domain.Benefits(body.benefits.description, body.benefits.fair_value),
            tuple(body.frequencies),
            body.to_options(),
        )
        assert call.idempotency_claim is not None, "every POST with a key has a claim"
        return await service.create(call.tx, call.idempotency_claim, call.audit_entry_context, change)

    return creating
