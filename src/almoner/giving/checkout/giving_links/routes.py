"""Endpoints of giving links (settled 11)."""

from collections.abc import Collection
from typing import Annotated, Final
from uuid import UUID

from almoner.giving.checkout.giving_links import service
from almoner.giving.checkout.giving_links.domain import (
    CannotAcceptDonations,
    CategoryNotFound,
    InvalidMetadata,
    OrganisationNotFound,
    SlugTaken,
)
from almoner.giving.checkout.giving_links.schemas import (
    GivingLinkBody,
    GivingLinkPatch,
    GivingLinkResponse,
    GivingLinksQuery,
    giving_link_response,
)
from almoner.platform.files import images
from almoner.platform.files.uploads.files import CheckedFile
from almoner.platform.files.uploads.problems import UPLOAD_ERRORS
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.uploads import UploadDeclaration

GivingLinkId = Annotated[UUID, PathId("givinglink")]
_IMAGE: Final = UploadDeclaration(
    "image", max_bytes=5 * 1024 * 1024, media_types=images.MEDIA_TYPES, longest_side=images.LONGEST_SIDE
)
_ERRORS: Final = (OrganisationNotFound, CategoryNotFound, CannotAcceptDonations, InvalidMetadata)


def giving_link_routes(payable_currencies: Collection[str] | None) -> Routes:
    """The endpoints. ``payable_currencies``: the currencies that donors can pay in here, None without a way."""
    routes = Routes("Giving links")

    @routes.get("/v1/giving-links", key=SECRET, scope="giving_links:read")
    async def list_giving_links(call: ApiCall, query: GivingLinksQuery) -> ListResponse[GivingLinkResponse]:
        """List giving links."""
        page = call.requested_page(query)
        rows, total = await service.list_page(call.tx, call.partner, page, active=query.active)
        return call.list_response(
            page, rows, total, lambda row: giving_link_response(call.tx, row), lambda row: (row.id.bytes,)
        )

    @routes.post("/v1/giving-links", key=SECRET, scope="giving_links:write", errors=(*_ERRORS, SlugTaken))
    async def create_giving_link(call: ApiCall, body: GivingLinkBody) -> GivingLinkResponse:
        """Create a giving link: a permanent page on which donors give, without code on your side."""
        created = await service.create(call.tx, call.partner, body.to_input(), body.slug, payable_currencies)
        return giving_link_response(call.tx, created)

    @routes.get("/v1/giving-links/{id}", key=SECRET, scope="giving_links:read")
    async def get_giving_link(call: ApiCall, id: GivingLinkId) -> GivingLinkResponse:
        """Retrieve a giving link."""
        return giving_link_response(call.tx, await service.get(call.tx, call.partner, id))

    @routes.patch("/v1/giving-links/{id}", key=SECRET, scope="giving_links:write", errors=_ERRORS)
    async def update_giving_link(call: ApiCall, id: GivingLinkId, body: GivingLinkPatch) -> GivingLinkResponse:
        """Change a giving link, or switch it off. The URL of the link does not change."""
        changed = await service.update(call.tx, call.partner, id, body.to_input(), payable_currencies)
        return giving_link_response(call.tx, changed)

    @routes.post(
        "/v1/giving-links/{id}/image", key=SECRET, scope="giving_links:write", upload=_IMAGE, errors=UPLOAD_ERRORS
    )
    async def set_giving_link_image(call: ApiCall, id: GivingLinkId, upload: CheckedFile) -> GivingLinkResponse:
        """Upload the picture of a giving link: JPEG, PNG or HEIC, at most 5 MiB."""
        changed = await service.set_image(call.tx, call.partner, id, images.read_checked_image(upload))
        return giving_link_response(call.tx, changed)

    return routes
