"""Endpoints of agent verifications (spec 4.1; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.kit.patch import UNSET
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.validation.agents import service
from almoner.validation.agents.domain import InvalidMetadata, OrganisationNotFound, ValidationRequestNotFound
from almoner.validation.agents.schemas import (
    AgentVerificationBody,
    AgentVerificationPatch,
    AgentVerificationResponse,
    AgentVerificationsQuery,
    parse_filters,
    verification_response,
)

VerificationId = Annotated[UUID, PathId("agentverification")]

routes = Routes("Agent verifications")


@routes.get("/v1/agent-verifications", key=SECRET, scope="agent_verifications:read")
async def list_agent_verifications(
    call: ApiCall, query: AgentVerificationsQuery
) -> ListResponse[AgentVerificationResponse]:
    """List agent verifications, newest first."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, parse_filters(query))
    return call.list_response(
        page, rows, total, lambda row: verification_response(call.tx, row), lambda row: (row.id.bytes,)
    )


@routes.post(
    "/v1/agent-verifications",
    key=SECRET,
    scope="agent_verifications:write",
    errors=(OrganisationNotFound, ValidationRequestNotFound),
)
async def create_agent_verification(call: ApiCall, body: AgentVerificationBody) -> AgentVerificationResponse:
    """Create an agent verification.

    The verification checks whether a person owns their email address and represents a nonprofit. We email the applicant
    a link and a code. The applicant has 30 days to confirm the address with one of them.
    """
    return verification_response(call.tx, await service.create(call.tx, call.partner, body.to_verification_input()))


@routes.get("/v1/agent-verifications/{id}", key=SECRET, scope="agent_verifications:read")
async def get_agent_verification(call: ApiCall, id: VerificationId) -> AgentVerificationResponse:
    """Retrieve an agent verification."""
    return verification_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.patch("/v1/agent-verifications/{id}", key=SECRET, scope="agent_verifications:write", errors=(InvalidMetadata,))
async def update_agent_verification(
    call: ApiCall, id: VerificationId, body: AgentVerificationPatch
) -> AgentVerificationResponse:
    """Change an agent verification's metadata, key by key. Nothing else can be changed."""
    if body.metadata is UNSET:
        return verification_response(call.tx, await service.get(call.tx, call.partner, id))
    return verification_response(call.tx, await service.change_metadata(call.tx, call.partner, id, body.metadata))
