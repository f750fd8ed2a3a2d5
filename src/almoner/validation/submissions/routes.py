"""Endpoints of validation submissions (spec 4.7; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.kit.errors import Forbidden
from almoner.platform.http.caller import PUBLISHABLE, SECRET
from almoner.platform.http.calls import Call
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import Listing
from almoner.validation.invites.domain import InviteExpired, InviteInvalidState, InviteNotFound
from almoner.validation.requests.domain import InvalidRegistryId, RegistryNotFound
from almoner.validation.submissions import service as submissions
from almoner.validation.submissions.domain import (
    DocumentNotFound,
    InvalidConfigurationId,
    InvalidPayloadConfigInviteId,
    InvalidSubTags,
    NoConfigurationForPartner,
    OrganisationNotActive,
    OrganisationNotFound,
    ValidationRequestAlreadyRejected,
    ValidationRequestNotFound,
)
from almoner.validation.submissions.schemas import (
    ValidationSubmissionIn,
    ValidationSubmissionOut,
    ValidationSubmissionsQuery,
    filters_of,
    submission_out,
    without_people,
)

SubmissionId = Annotated[UUID, PathId("validationsubmission")]

routes = Routes("Validation submissions")


@routes.get("/v1/validation-submissions", key=SECRET, scope="validation_submissions:read")
async def list_validation_submissions(
    call: Call, query: ValidationSubmissionsQuery
) -> Listing[ValidationSubmissionOut]:
    """List validation submissions."""
    page = call.page(query)
    rows, total = await submissions.page(call.tx, call.partner, page, filters_of(call.tx, query))
    return call.listing(page, rows, total, lambda row: submission_out(call.tx, row), lambda row: (row.id.bytes,))


@routes.post(
    "/v1/validation-submissions",
    key=PUBLISHABLE,
    scope="validation_submissions:write",
    errors=(
        OrganisationNotFound,
        OrganisationNotActive,
        ValidationRequestNotFound,
        ValidationRequestAlreadyRejected,
        InvalidSubTags,
        InviteNotFound,
        InviteExpired,
        InviteInvalidState,
        InvalidPayloadConfigInviteId,
        NoConfigurationForPartner,
        InvalidConfigurationId,
        DocumentNotFound,
        RegistryNotFound,
        InvalidRegistryId,
    ),
)
async def create_validation_submission(call: Call, body: ValidationSubmissionIn) -> ValidationSubmissionOut:
    """Apply: every check of the configuration starts, and the application ends in one answer.

    With a publishable key an open invite is required, and the answer shows nothing personal.
    """
    if call.caller.kind is not SECRET and body.validation_invite_id is None:
        raise Forbidden("a publishable key applies with an open invite: body.validationInviteId is required")
    made = submission_out(call.tx, await submissions.create(call.tx, call.partner, body.asked()))
    return made if call.caller.kind is SECRET else without_people(made)


@routes.get("/v1/validation-submissions/{id}", key=SECRET, scope="validation_submissions:read")
async def get_validation_submission(call: Call, id: SubmissionId) -> ValidationSubmissionOut:
    """Retrieve a validation submission: where each check stands, and what is missing."""
    return submission_out(call.tx, await submissions.get(call.tx, call.partner, id))
