"""Endpoints of users (settled 4 and 8)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.checkout.users import service
from almoner.giving.checkout.users.domain import OrganisationNotFound
from almoner.giving.checkout.users.schemas import (
    UserBody,
    UserOrganisationBody,
    UserOrganisationResponse,
    UserResponse,
    default_organisation_response,
    user_response,
)
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId

UserId = Annotated[UUID, PathId("user")]

routes = Routes("Users")


@routes.post("/v1/users", key=SECRET, scope="users:write")
async def create_user(call: ApiCall, body: UserBody) -> UserResponse:  # noqa: ARG001 - the body is declared, and empty
    """Create a user. A user connects the donations of one person in your product."""
    return user_response(call.tx, await service.create(call.tx, call.partner))


@routes.get("/v1/users/{id}", key=SECRET, scope="users:read")
async def get_user(call: ApiCall, id: UserId) -> UserResponse:
    """Retrieve a user."""
    return user_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.put("/v1/users/{id}/organisation", key=SECRET, scope="users:write", errors=(OrganisationNotFound,))
async def set_user_organisation(call: ApiCall, id: UserId, body: UserOrganisationBody) -> UserOrganisationResponse:
    """Choose the default organisation of a user's donations."""
    organisation_id = await service.set_default_organisation(call.tx, call.partner, id, body.organisation_id)
    return default_organisation_response(call.tx, id, organisation_id, call.tx.now)
