"""Endpoints of donation requests (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.checkout.donation_requests import service
from almoner.giving.checkout.donation_requests.schemas import (
    DonationRequestResponse,
    DonationRequestsQuery,
    donation_request_response,
)
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse

DonationRequestId = Annotated[UUID, PathId("donationrequest")]

routes = Routes("Donation requests", moves_money=True)


@routes.get("/v1/donation-requests", key=SECRET, scope="donation_requests:read")
async def list_donation_requests(call: ApiCall, query: DonationRequestsQuery) -> ListResponse[DonationRequestResponse]:
    """List donation requests, newest first or by due date.

    A donation request asks you to transfer the money for direct donations.
    """
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, query.sort)
    return call.list_response(
        page,
        rows,
        total,
        lambda row: donation_request_response(call.tx, row),
        lambda row: service.cursor_position_of(row, query.sort),
    )


@routes.get("/v1/donation-requests/{id}", key=SECRET, scope="donation_requests:read")
async def get_donation_request(call: ApiCall, id: DonationRequestId) -> DonationRequestResponse:
    """Retrieve a donation request."""
    return donation_request_response(call.tx, await service.get(call.tx, call.partner, id))
