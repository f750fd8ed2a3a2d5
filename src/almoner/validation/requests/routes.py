"""Endpoints of validation requests (spec 4.3; settled 8)."""

from typing import Annotated, Final
from uuid import UUID

from almoner.platform.evidence.dossier_files import MEDIA_TYPES, build_dossier_file
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.files.uploads.problems import UPLOAD_ERRORS
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import RawResponse, Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.negotiation import negotiate_media_type
from almoner.platform.http.paging import ListResponse
from almoner.validation.applications.documents import service as documents
from almoner.validation.requests import service
from almoner.validation.requests.domain import InvalidRegistryId, RegistryNotFound
from almoner.validation.requests.dossier import ValidationRequestDossierResponse, load_dossier
from almoner.validation.requests.schemas import (
    ValidationRequestBody,
    ValidationRequestResponse,
    ValidationRequestsQuery,
    nonprofit_details_of,
    parse_filters,
    request_response,
)

PDF: Final = MEDIA_TYPES["pdf"]
RequestId = Annotated[UUID, PathId("validationrequest")]

routes = Routes("Validation requests")


@routes.get("/v1/validation-requests", key=SECRET, scope="validation_requests:read")
async def list_validation_requests(
    call: ApiCall, query: ValidationRequestsQuery
) -> ListResponse[ValidationRequestResponse]:
    """List validation requests, newest first unless sorted by name."""
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, parse_filters(query), query.sort)
    return call.list_response(
        page,
        rows,
        total,
        lambda row: request_response(call.tx, row),
        lambda row: service.cursor_position_of(row, query.sort),
    )


@routes.post(
    "/v1/validation-requests",
    key=SECRET,
    scope="validation_requests:write",
    errors=(RegistryNotFound, InvalidRegistryId),
)
async def create_validation_request(call: ApiCall, body: ValidationRequestBody) -> ValidationRequestResponse:
    """Create a validation request.

    It checks a nonprofit against an official registry. If the register lists the nonprofit as active under this name,
    the request is accepted automatically. Otherwise, a reviewer decides.
    """
    return request_response(call.tx, await service.create(call.tx, call.partner, nonprofit_details_of(body)))


@routes.get("/v1/validation-requests/{id}", key=SECRET, scope="validation_requests:read")
async def get_validation_request(call: ApiCall, id: RequestId) -> ValidationRequestResponse:
    """Retrieve a validation request."""
    return request_response(call.tx, await service.get(call.tx, call.partner, id))


@routes.get(
    "/v1/validation-requests/{id}/dossier",
    key=SECRET,
    scope="validation_requests:read",
    tx=None,
    headers={"Content-Disposition": "The file name of a PDF dossier."},
    other_media_type=PDF,
)
async def get_validation_request_dossier(
    call: ApiCall, id: RequestId
) -> ValidationRequestDossierResponse | RawResponse:
    """Retrieve the evidence of a validation request: what every evaluation found, and who decided what and why.

    The dossier is JSON, or a PDF document if Accept is application/pdf. The dossier is signed. Anybody can verify it
    with the key at /.well-known/almoner-keys.
    """
    wanted = negotiate_media_type(call.headers.get("accept"), tuple(MEDIA_TYPES.values())[::-1])
    file = await build_dossier_file(call.db, load_dossier, call.partner, id, "pdf" if wanted == PDF else "json")
    if wanted == PDF:
        call.response_headers["Content-Disposition"] = file.content_disposition
    return RawResponse(file.content, file.media_type)


@routes.post(
    "/v1/validation-requests/{id}/document",
    key=SECRET,
    scope="validation_requests:write",
    upload=documents.DOCUMENT,
    errors=UPLOAD_ERRORS,
)
async def add_validation_request_document(
    call: ApiCall, id: RequestId, upload: StoredFile
) -> ValidationRequestResponse:
    """Upload a document as evidence.

    The file must be a JPEG, PNG, HEIC or PDF of at most 5,242,880 bytes. The response is the whole request.
    """
    return request_response(call.tx, await service.attach_document(call.tx, call.partner, id, upload))
