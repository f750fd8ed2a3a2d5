"""Endpoints of categories (spec 4.2; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.nonprofits.categories import service
from almoner.nonprofits.categories.domain import CategoryNameTaken
from almoner.nonprofits.categories.schemas import (
    CategoriesQuery,
    CategoryBody,
    CategoryPatch,
    CategoryResponse,
    category_response,
)
from almoner.platform.files import images
from almoner.platform.files.uploads.files import CheckedFile
from almoner.platform.files.uploads.problems import UPLOAD_ERRORS
from almoner.platform.http.caller import PUBLISHABLE, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.uploads import UploadDeclaration

CategoryId = Annotated[UUID, PathId("category")]
OrganisationId = Annotated[UUID, PathId("organisation")]

_IMAGE = UploadDeclaration(
    "image", max_bytes=5 * 1024 * 1024, media_types=images.MEDIA_TYPES, longest_side=images.LONGEST_SIDE
)

routes = Routes("Categories")


@routes.get("/v1/categories", key=PUBLISHABLE, scope="categories:read")
async def list_categories(call: ApiCall, query: CategoriesQuery) -> ListResponse[CategoryResponse]:
    """List categories."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page)
    return call.list_response(
        page, rows, total, lambda row: category_response(call.tx, row), lambda row: (row.id.bytes,)
    )


@routes.post("/v1/categories", key=SECRET, scope="categories:write", errors=(CategoryNameTaken,))
async def create_category(call: ApiCall, body: CategoryBody) -> CategoryResponse:
    """Create a category."""
    return category_response(call.tx, await service.create(call.tx, call.partner, body.name, body.attributes))


@routes.get("/v1/categories/{id}", key=PUBLISHABLE, scope="categories:read")
async def get_category(call: ApiCall, id: CategoryId) -> CategoryResponse:
    """Retrieve a category."""
    return category_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.patch("/v1/categories/{id}", key=SECRET, scope="categories:write", errors=(CategoryNameTaken,))
async def update_category(call: ApiCall, id: CategoryId, body: CategoryPatch) -> CategoryResponse:
    """Change a category's name or attributes."""
    return category_response(call.tx, await service.update(call.tx, call.partner, id, body.name, body.attributes))


@routes.delete("/v1/categories/{id}", key=SECRET, scope="categories:write")
async def delete_category(call: ApiCall, id: CategoryId) -> None:
    """Delete a category. The organisations in the category are not deleted."""
    await service.delete(call.tx, call.partner, id)


@routes.post(
    "/v1/categories/{id}/image",
    key=SECRET,
    scope="categories:write",
    empty=200,
    upload=_IMAGE,
    errors=UPLOAD_ERRORS,
)
async def set_category_image(call: ApiCall, id: CategoryId, upload: CheckedFile) -> None:
    """Upload the image that is shown with a category: JPEG, PNG or HEIC, at most 5 MiB."""
    await service.set_image(call.tx, call.partner, id, images.read_checked_image(upload))


@routes.put("/v1/categories/{categoryId}/{organisationId}", key=SECRET, scope="categories:write", empty=200)
async def add_organisation_to_category(call: ApiCall, category_id: CategoryId, organisation_id: OrganisationId) -> None:
    """Add an organisation to a category. Adding an organisation again changes nothing."""
    await service.add_organisation(call.tx, call.partner, category_id, organisation_id)


@routes.delete("/v1/categories/{categoryId}/{organisationId}", key=SECRET, scope="categories:write")
async def remove_organisation_from_category(
    call: ApiCall, category_id: CategoryId, organisation_id: OrganisationId
) -> None:
    """Remove an organisation from a category."""
    await service.remove_organisation(call.tx, call.partner, category_id, organisation_id)
