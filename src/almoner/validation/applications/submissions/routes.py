"""Endpoints of validation submissions (spec 4.7; settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.kit.errors import Forbidden
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.files.uploads.problems import UPLOAD_ERRORS
from almoner.platform.http.caller import PUBLISHABLE, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.invites.domain import InviteExpired, InviteInvalidState, InviteNotFound
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submission_documents.domain import InviteNotFound as DocumentInviteNotFound
from almoner.validation.applications.submission_documents.domain import SubmissionNotFound
from almoner.validation.applications.submission_documents.service import ValidationSubmissionDocumentResponse
from almoner.validation.applications.submissions import document_uploads, previous, service
from almoner.validation.applications.submissions.domain import (
    BothConfigurationAndInviteGiven,
    DocumentNotFound,
    InvalidConfigurationId,
    InvalidState,
    InvalidSubTags,
    NoConfigurationForPartner,
    OrganisationNotActive,
    OrganisationNotFound,
    ValidationRequestAlreadyRejected,
    ValidationRequestNotFound,
)
from almoner.validation.applications.submissions.schemas import (
    ValidationSubmissionResponse,
    submission_response,
    without_personal_data,
)
from almoner.validation.applications.submissions.schemas_documents import (
    SubmissionsOrganisationsQuery,
    SubmissionsOrganisationsResponse,
    ValidationSubmissionDocumentBody,
    ValidationSubmissionDocumentsQuery,
    previous_applications_response,
)
from almoner.validation.applications.submissions.schemas_in import (
    ValidationSubmissionBody,
    ValidationSubmissionsQuery,
    parse_filters,
)
from almoner.validation.requests.domain import InvalidRegistryId, RegistryNotFound

SubmissionId = Annotated[UUID, PathId("validationsubmission")]

routes = Routes("Validation submissions")


@routes.get("/v1/validation-submissions", key=SECRET, scope="validation_submissions:read")
async def list_validation_submissions(
    call: ApiCall, query: ValidationSubmissionsQuery
) -> ListResponse[ValidationSubmissionResponse]:
    """List validation submissions."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, parse_filters(call.tx, query))
    return call.list_response(
        page, rows, total, lambda row: submission_response(call.tx, row), lambda row: (row.id.bytes,)
    )


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
        BothConfigurationAndInviteGiven,
        NoConfigurationForPartner,
        InvalidConfigurationId,
        DocumentNotFound,
        RegistryNotFound,
        InvalidRegistryId,
    ),
)
async def create_validation_submission(call: ApiCall, body: ValidationSubmissionBody) -> ValidationSubmissionResponse:
    """Create a validation submission.

    All checks of the configuration start, and lead to one result. With a publishable key, an open invite is required,
    `metadata` and `validationRequestId` are rejected, and the response contains no personal data.
    """
    if call.caller.kind is not SECRET:
        _ensure_may_apply(body)
    made = submission_response(call.tx, await service.create(call.tx, call.partner, body.to_input()))
    return made if call.caller.kind is SECRET else without_personal_data(made)


def _ensure_may_apply(body: ValidationSubmissionBody) -> None:
    """A publishable key creates an invite's submission, and nothing else (settled 2). Raises Forbidden."""
    wrong = []
    if body.validation_invite_id is None:
        wrong.append("a publishable key applies with an open invite: body.validationInviteId is required")
    # What the partner says of the invite, and what the partner has asked before, are not the applicant's to say.
    stated = {"metadata": body.metadata, "validationRequestId": body.validation_request_id}
    wrong += [f"body.{name} needs the secret key" for name, value in stated.items() if value is not None]
    if wrong:
        raise Forbidden(*wrong)


@routes.get("/v1/validation-submissions/{id}", key=SECRET, scope="validation_submissions:read")
async def get_validation_submission(call: ApiCall, id: SubmissionId) -> ValidationSubmissionResponse:
    """Retrieve a validation submission: the status of each check, and what is missing."""
    return submission_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.get("/v1/validation-submissions/{id}/documents", key=SECRET, scope="validation_submissions:read")
async def list_validation_submission_documents(
    call: ApiCall, id: SubmissionId, query: ValidationSubmissionDocumentsQuery
) -> ListResponse[ValidationSubmissionDocumentResponse]:
    """List the documents of a validation submission, in one page."""
    found = await service.get(call.tx, call.partner, id)
    rows = await submission_documents.list_by_submission(call.tx, call.partner, found.id)
    return call.unpaged_list_response(rows, lambda row: submission_documents.serialise_for_api(call.tx, row), query)


@routes.post(
    "/v1/validation-submission-documents",
    key=PUBLISHABLE,
    scope="validation_submissions:write",
    upload=documents.DOCUMENT,
    errors=(
        *UPLOAD_ERRORS,
        DocumentInviteNotFound,
        SubmissionNotFound,
        InviteExpired,
        InviteInvalidState,
        InvalidState,
    ),
)
async def create_validation_submission_document(
    call: ApiCall, body: ValidationSubmissionDocumentBody, upload: StoredFile
) -> ValidationSubmissionDocumentResponse:
    """Upload a document of a submission or an open invite.

    The file must be a JPEG, PNG, HEIC or PDF of at most 5,242,880 bytes. Once a submission has a result, it accepts
    documents only while an
    appeal is open. With a publishable key, you can only upload documents of open invites.
    """
    document_uploads.ensure_key_may_upload(call.caller.kind, body.validation_invite_id)
    if body.validation_invite_id is not None:
        made = await document_uploads.upload_to_invite(
            call.tx, call.partner, body.validation_invite_id, body.type, upload
        )
    else:
        named = body.validation_submission_id or ""
        made = await document_uploads.upload_to_submission(call.tx, call.partner, named, body.type, upload)
    return submission_documents.serialise_for_api(call.tx, made)


@routes.get("/v1/validation-submissions-organisations", key=SECRET, scope="validation_submissions:read")
async def find_validation_submissions_organisations(
    call: ApiCall, query: SubmissionsOrganisationsQuery
) -> SubmissionsOrganisationsResponse:
    """Find earlier applications of the same nonprofit: by words, by organisation or by validation request."""
    found = await previous.find_previous_applications(
        call.tx, call.partner, query.query, query.organisation_ids, query.validation_request_ids
    )
    return previous_applications_response(call.tx, found)
