"""Endpoints of validation invites (spec 4.6; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.validation.applications.invites import service
from almoner.validation.applications.invites.domain import InvalidConfiguration
from almoner.validation.applications.invites.schemas import (
    ValidationInviteBody,
    ValidationInviteResponse,
    ValidationInvitesQuery,
    invite_response,
)

InviteId = Annotated[UUID, PathId("validationinvite")]

routes = Routes("Validation invites")


@routes.get("/v1/validation-invites", key=SECRET, scope="validation_invites:read")
async def list_validation_invites(
    call: ApiCall, query: ValidationInvitesQuery
) -> ListResponse[ValidationInviteResponse]:
    """List validation invites, newest first."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page)
    return call.list_response(page, rows, total, lambda row: invite_response(call.tx, row), lambda row: (row.id.bytes,))


@routes.post("/v1/validation-invites", key=SECRET, scope="validation_invites:write", errors=(InvalidConfiguration,))
async def create_validation_invite(call: ApiCall, body: ValidationInviteBody) -> ValidationInviteResponse:
    """Invite an applicant to the hosted form: one link for one submission, open for seven days."""
    change = service.InviteInput(body.redirect_url, body.metadata, body.language, body.hosted_config_id)
    return invite_response(call.tx, await service.create(call.tx, call.partner, change))


@routes.get("/v1/validation-invites/{id}", key=SECRET, scope="validation_invites:read")
async def get_validation_invite(call: ApiCall, id: InviteId) -> ValidationInviteResponse:
    """Retrieve a validation invite."""
    return invite_response(call.tx, await service.get(call.tx, call.partner, id))
