"""Endpoints of donations (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.donations import service as donations
from almoner.giving.donations.domain import InvalidMetadata
from almoner.giving.donations.schemas import DonationOut, DonationPatch, DonationsQuery, donation_out, filters_of
from almoner.kit.patch import UNSET
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import Call
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import Listing

DonationId = Annotated[UUID, PathId("donation")]

routes = Routes("Donations")


@routes.get("/v1/donations", key=SECRET, scope="donations:read")
async def list_donations(call: Call, query: DonationsQuery) -> Listing[DonationOut]:
    """List donations, newest first."""
    page = call.page(query)
    rows, total = await donations.page(call.tx, call.partner, page, filters_of(call.tx, query))
    return call.listing(page, rows, total, lambda row: donation_out(call.tx, row), lambda row: (row.id.bytes,))


@routes.get("/v1/donations/{id}", key=SECRET, scope="donations:read")
async def get_donation(call: Call, id: DonationId) -> DonationOut:
    """Retrieve a donation."""
    return donation_out(call.tx, await donations.get(call.tx, call.partner, id))


@routes.patch("/v1/donations/{id}", key=SECRET, scope="donations:write", errors=(InvalidMetadata,))
async def update_donation(call: Call, id: DonationId, body: DonationPatch) -> DonationOut:
    """Change a donation's metadata, key by key."""
    if body.metadata is UNSET:
        return donation_out(call.tx, await donations.get(call.tx, call.partner, id))
    return donation_out(call.tx, await donations.change_metadata(call.tx, call.partner, id, body.metadata))
