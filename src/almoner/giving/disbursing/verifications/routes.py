"""Endpoints of monetary donation verifications (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.disbursing.verifications import service
from almoner.giving.disbursing.verifications.domain import InvalidMetadata, InvalidState, OrganisationNotFound
from almoner.giving.disbursing.verifications.schemas import (
    MonetaryDonationVerificationBody,
    MonetaryDonationVerificationPatch,
    MonetaryDonationVerificationResponse,
    MonetaryDonationVerificationsQuery,
    parse_filters,
    verification_response,
)
from almoner.kit.patch import UNSET
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse

VerificationId = Annotated[UUID, PathId("monetarydonationverification")]

routes = Routes("Monetary donation verifications")


@routes.get("/v1/monetary-donation-verifications", key=SECRET, scope="monetary_donation_verifications:read")
async def list_monetary_donation_verifications(
    call: ApiCall, query: MonetaryDonationVerificationsQuery
) -> ListResponse[MonetaryDonationVerificationResponse]:
    """List monetary donation verifications, newest first."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, parse_filters(call.tx, query))
    return call.list_response(
        page, rows, total, lambda row: verification_response(call.tx, row), lambda row: (row.id.bytes,)
    )


@routes.post(
    "/v1/monetary-donation-verifications",
    key=SECRET,
    scope="monetary_donation_verifications:write",
    errors=(OrganisationNotFound, InvalidMetadata, InvalidState),
)
async def create_monetary_donation_verification(
    call: ApiCall, body: MonetaryDonationVerificationBody
) -> MonetaryDonationVerificationResponse:
    """Create a monetary donation verification.

    The verification checks whether donations for an organisation can be disbursed to it. It is pending for up to 30
    days. An organisation can have only one verification that is pending or approved.
    """
    created = await service.create(call.tx, call.partner, body.organisation_id, body.metadata)
    return verification_response(call.tx, created)


@routes.get("/v1/monetary-donation-verifications/{id}", key=SECRET, scope="monetary_donation_verifications:read")
async def get_monetary_donation_verification(call: ApiCall, id: VerificationId) -> MonetaryDonationVerificationResponse:
    """Retrieve a monetary donation verification."""
    return verification_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.patch(
    "/v1/monetary-donation-verifications/{id}",
    key=SECRET,
    scope="monetary_donation_verifications:write",
    errors=(InvalidMetadata,),
)
async def update_monetary_donation_verification(
    call: ApiCall, id: VerificationId, body: MonetaryDonationVerificationPatch
) -> MonetaryDonationVerificationResponse:
    """Change the metadata of a monetary donation verification. It is changed key by key."""
    if body.metadata is UNSET:
        return verification_response(call.tx, await service.get(call.tx, call.partner, id))
    changed = await service.change_metadata(call.tx, call.partner, id, body.metadata)
    return verification_response(call.tx, changed)
