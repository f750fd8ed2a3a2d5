"""Endpoints of disbursements (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.disbursing.disbursements import service
from almoner.giving.disbursing.disbursements.schemas import (
    DisbursementResponse,
    DisbursementsQuery,
    disbursement_response,
    parse_filters,
)
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse

DisbursementId = Annotated[UUID, PathId("disbursement")]

routes = Routes("Disbursements", moves_money=True)


@routes.get("/v1/disbursements", key=SECRET, scope="disbursements:read")
async def list_disbursements(call: ApiCall, query: DisbursementsQuery) -> ListResponse[DisbursementResponse]:
    """List disbursements to nonprofits, newest first.

    A `PENDING` disbursement is the amount that is owed to a nonprofit in one currency and has not been sent yet. The
    amount grows with each donation that settles.
    """
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, parse_filters(call.tx, query))
    return call.list_response(
        page, rows, total, lambda row: disbursement_response(call.tx, row), lambda row: (row.id.bytes,)
    )


@routes.get("/v1/disbursements/{id}", key=SECRET, scope="disbursements:read")
async def get_disbursement(call: ApiCall, id: DisbursementId) -> DisbursementResponse:
    """Retrieve a disbursement to a nonprofit."""
    return disbursement_response(call.tx, await service.get(call.tx, call.partner, id))
