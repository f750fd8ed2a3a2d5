"""Endpoints of donations (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.checkout.donations import direct_donations, service
from almoner.giving.checkout.donations.domain import (
    CannotAcceptDonations,
    CannotEditOrganisation,
    Donor,
    GiftAidMissing,
    InvalidMetadata,
    InvalidState,
    MissingOrganisation,
    PartnerUserNotFound,
    WrongPartnerCurrency,
    WrongTargetCurrency,
)
from almoner.giving.checkout.donations.schemas import (
    DonationBody,
    DonationPatch,
    DonationResponse,
    DonationsQuery,
    donation_response,
    parse_filters,
)
from almoner.kit.errors import Forbidden
from almoner.kit.money import Money
from almoner.kit.patch import UNSET
from almoner.platform.http.caller import PERSONAL, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse

DonationId = Annotated[UUID, PathId("donation")]

routes = Routes("Donations", moves_money=True)


@routes.get("/v1/donations", key=SECRET, scope="donations:read")
async def list_donations(call: ApiCall, query: DonationsQuery) -> ListResponse[DonationResponse]:
    """List donations, newest first unless sorted by amount."""
    if query.email is not None and not call.caller.has_scope(PERSONAL):
        raise Forbidden(f"query.email needs a key with the scope {PERSONAL}")
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, parse_filters(call.tx, query), query.sort)
    return call.list_response(
        page,
        rows,
        total,
        lambda row: donation_response(call.tx, row),
        lambda row: service.cursor_position_of(row, query.sort),
    )


@routes.post(
    "/v1/donations",
    key=SECRET,
    scope="donations:write",
    errors=(
        MissingOrganisation,
        PartnerUserNotFound,
        InvalidMetadata,
        CannotAcceptDonations,
        WrongPartnerCurrency,
        WrongTargetCurrency,
        GiftAidMissing,
    ),
)
async def create_donation(call: ApiCall, body: DonationBody) -> DonationResponse:
    """Create a direct donation.

    You have already collected the money for a direct donation. The next donation request asks you to transfer it. Until
    then, the donation is `ACTIVE`, and you can cancel it or change its organisation.
    """
    donor = Donor(
        body.first_name,
        body.last_name,
        body.email,
        consented=body.consented_to_be_contacted_by_org == "yes",
        anonymous=body.anonymous == "yes",
    )
    money = Money(body.amount, body.currency_code)
    change = direct_donations.DirectDonationRequest(
        money, body.organisation_id, body.user_id, body.gift_aid_id, donor, body.metadata
    )
    return donation_response(call.tx, await direct_donations.create(call.tx, call.partner, change))


@routes.get("/v1/donations/{id}", key=SECRET, scope="donations:read")
async def get_donation(call: ApiCall, id: DonationId) -> DonationResponse:
    """Retrieve a donation."""
    return donation_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.patch(
    "/v1/donations/{id}",
    key=SECRET,
    scope="donations:write",
    errors=(
        InvalidMetadata,
        CannotEditOrganisation,
        InvalidState,
        MissingOrganisation,
        CannotAcceptDonations,
        WrongTargetCurrency,
        GiftAidMissing,
    ),
)
async def update_donation(call: ApiCall, id: DonationId, body: DonationPatch) -> DonationResponse:
    """Change a donation.

    You can change its metadata, key by key, and the organisation of a direct donation while it is `ACTIVE`.
    """
    tx, partner = call.tx, call.partner
    if body.organisation_id is not UNSET:
        await direct_donations.change_organisation(tx, partner, id, body.organisation_id)
    if body.metadata is not UNSET:
        await service.change_metadata(tx, partner, id, body.metadata)
    return donation_response(tx, await service.get(tx, partner, id))


@routes.post("/v1/donations/{id}/cancel", key=SECRET, scope="donations:write", errors=(InvalidState,))
async def cancel_donation(call: ApiCall, id: DonationId) -> DonationResponse:
    """Cancel a direct donation that is `ACTIVE`."""
    return donation_response(call.tx, await direct_donations.cancel(call.tx, call.partner, id))
