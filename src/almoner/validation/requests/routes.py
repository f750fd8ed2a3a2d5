"""Endpoints of validation requests (spec 4.3; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import Call
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import Listing
from almoner.validation.requests import service as requests
from almoner.validation.requests.domain import InvalidRegistryId, RegistryNotFound
from almoner.validation.requests.schemas import (
    ValidationRequestIn,
    ValidationRequestOut,
    ValidationRequestsQuery,
    asked_of,
    filters_of,
    request_out,
)

RequestId = Annotated[UUID, PathId("validationrequest")]

routes = Routes("Validation requests")


@routes.get("/v1/validation-requests", key=SECRET, scope="validation_requests:read")
async def list_validation_requests(call: Call, query: ValidationRequestsQuery) -> Listing[ValidationRequestOut]:
    """List validation requests, newest first unless sorted by name."""
    page = call.page(query)
    rows, total = await requests.page(call.tx, call.partner, page, filters_of(query), query.sort)
    return call.listing(
        page,
        rows,
        total,
        lambda row: request_out(call.tx, row),
        lambda row: requests.position_of(row, query.sort),
    )


@routes.post(
    "/v1/validation-requests",
    key=SECRET,
    scope="validation_requests:write",
    errors=(RegistryNotFound, InvalidRegistryId),
)
async def create_validation_request(call: Call, body: ValidationRequestIn) -> ValidationRequestOut:
    """Ask whether a nonprofit is what an official registry says of it.

    It is decided by itself where the register lists it as active under this name; otherwise by a person.
    """
    return request_out(call.tx, await requests.create(call.tx, call.partner, asked_of(body)))


@routes.get("/v1/validation-requests/{id}", key=SECRET, scope="validation_requests:read")
async def get_validation_request(call: Call, id: RequestId) -> ValidationRequestOut:
    """Retrieve a validation request."""
    return request_out(call.tx, await requests.get(call.tx, call.partner, id))
