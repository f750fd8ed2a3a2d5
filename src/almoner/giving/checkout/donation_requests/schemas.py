"""Donation requests on the wire (settled 4)."""

from typing import Annotated

import msgspec
from pydantic import Field

from almoner.giving.checkout.donation_requests.domain import DonationRequest, DonationRequestSort, DonationRequestStatus
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx
from almoner.platform.http.wire import PageQuery, ResponseRecord


class DonationRequestsQuery(PageQuery):
    """Donation requests have no filters."""

    sort: DonationRequestSort = Field("id", description="`id` sorts by creation, `dueAt` by due date.")


class DonationRequestResponse(ResponseRecord, object_name="donation_request"):
    """What you are asked to transfer for the direct donations of a period, in one currency."""

    id: str
    status: DonationRequestStatus
    amount: int
    paid_amount: int
    currency_code: str
    reference: Annotated[str, msgspec.Meta(description="Reference for your transfer.", examples=["ALM-7K3QX-9P2MV"])]
    donation_ids_count: Annotated[
        int,
        msgspec.Meta(description="The number of donations; list them with `GET /v1/donations?donationRequestId=`."),
    ]
    due_at: str
    created_at: str


def donation_request_response(tx: Tx, request: DonationRequest) -> DonationRequestResponse:
    """The response for one request."""
    return DonationRequestResponse(
        id=tx.ids.encode("donationrequest", request.id),
        status=request.status,
        amount=request.money.minor,
        paid_amount=request.paid_minor,
        currency_code=request.money.currency,
        reference=request.reference,
        donation_ids_count=request.donation_count,
        due_at=iso_timestamp(request.due_at),
        created_at=iso_timestamp(request.created_at),
    )
