"""Validation requests on the wire (spec 2.3, 4.3; settled 4 and 8)."""

from typing import Annotated, Any, ClassVar, Final
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field

from almoner.kit import web
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.nonprofits.countries.domain import ensure_country_code
from almoner.nonprofits.organisations.domain import OrganisationType, extract_search_terms
from almoner.platform.database.transactions import Tx
from almoner.platform.http.texts import EmailRule, TypedEmail
from almoner.platform.http.wire import (
    CountryCode,
    DayOrMoment,
    PageQuery,
    RawText,
    RequestBody,
    ResponseRecord,
    Text255,
    Typed,
    WindowEnd,
)
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import Document, DocumentStatus
from almoner.validation.requests.domain import (
    NonprofitDetails,
    RejectionReason,
    RequestFilters,
    RequestStatus,
    Sort,
    ValidationRequest,
)

_NEVER: Final = "?"
"""In no searched text: what a query without any word finds."""


class ValidationRequestsQuery(PageQuery):
    """Filters of the list; all given ones must hold."""

    status: RequestStatus | None = None
    query: str | None = Field(
        None, max_length=500, description="Words, or parts of words, in the name or the registration number."
    )
    sort: Sort = Field("id", description="`id` sorts by creation.")
    start_date: DayOrMoment | None = Field(None, description="Created at this time or later.")
    end_date: WindowEnd | None = Field(None, description="Created before this time.")


def parse_filters(query: ValidationRequestsQuery) -> RequestFilters:
    """The filters in a query."""
    words = extract_search_terms(query.query) or (_NEVER,) if query.query else ()
    return RequestFilters(query.status, words, query.start_date, query.end_date)


def _website(text: str) -> str:
    if not web.is_web_address(text):
        raise ValueError("must be a web address such as https://example.org")
    return text


_Blank = AfterValidator(lambda value: value or None)
_Optional = Annotated[Annotated[str, Field(max_length=255), Typed] | None, _Blank]


class ValidationRequestBody(RequestBody):
    """A nonprofit to validate."""

    raw_texts: ClassVar[tuple[str, ...]] = ("name",)

    name: Annotated[str, Field(min_length=1, max_length=500, examples=["American National Red Cross"]), RawText]
    registry_name: Annotated[
        Text255, Field(description="Id, code or name of the registry it is registered in.", examples=["IRS"])
    ]
    registry_id: Annotated[
        Text255, Field(description="The registration number, in any format.", examples=["53-0196605"])
    ]
    website: Annotated[
        Text255,
        AfterValidator(_website),
        Field(description="A web address, with or without its scheme.", examples=["https://www.redcross.org"]),
    ]
    country_code: Annotated[CountryCode, AfterValidator(ensure_country_code)]
    email: Annotated[Annotated[str, Field(max_length=255), TypedEmail, EmailRule] | None, _Blank] = None
    address_line1: _Optional = None
    address_line2: _Optional = None
    city: _Optional = None
    state: _Optional = None
    postal: _Optional = None
    usa_group_exempt: bool | None = Field(None, description="Whether it is covered by an IRS group exemption.")


def nonprofit_details_of(body: ValidationRequestBody) -> NonprofitDetails:
    """The nonprofit's details in the body."""
    return NonprofitDetails(
        name=body.name,
        registry_name=body.registry_name,
        registry_number=body.registry_id,
        website=body.website,
        country_code=body.country_code,
        email=body.email,
        address_line_1=body.address_line1,
        address_line_2=body.address_line2,
        city=body.city,
        state=body.state,
        postal=body.postal,
        usa_group_exempt=body.usa_group_exempt,
    )


class ValidationRequestDocumentResponse(ResponseRecord, object_name="validation_request_document"):
    """An attached document. ``url`` is valid for a few minutes; each GET returns a new one."""

    id: str
    validation_request_id: str
    status: DocumentStatus
    url: str
    created_at: str
    deleted_at: str | None


class _RequestResponse(ResponseRecord):
    """What there is to say of a validation request, but for its documents."""

    id: str
    organisation_id: Annotated[str | None, msgspec.Meta(description="The organisation, once the request is accepted.")]
    organisation_types: list[OrganisationType]
    name: str
    registry_name: str
    registry_id: str
    email: str | None
    address_line1: str | None
    address_line2: str | None
    city: str | None
    state: str | None
    postal: str | None
    website: str
    country_code: str
    created_at: str
    deleted_at: str | None
    accepted_at: str | None
    rejected_at: str | None
    rejection_reason: str | None
    rejection_reason_code: RejectionReason | None
    usa_group_exempt: bool | None


class ValidationRequestResponse(_RequestResponse, object_name="validation_request"):
    """A validation request as partners see it."""

    documents: list[ValidationRequestDocumentResponse]


class DossierValidationRequestResponse(_RequestResponse):
    """The request in its dossier. Documents are listed separately with their hashes, because links expire."""


def request_response(tx: Tx, request: ValidationRequest) -> ValidationRequestResponse:
    """The API representation of a request, also used in its events."""
    documents = [document_response(tx, request.id, document) for document in request.documents]
    return ValidationRequestResponse(**_fields(tx, request), documents=documents)


def dossier_request_response(tx: Tx, request: ValidationRequest) -> DossierValidationRequestResponse:
    """The same for a document that will be read years later."""
    return DossierValidationRequestResponse(**_fields(tx, request))


def _fields(tx: Tx, request: ValidationRequest) -> dict[str, Any]:
    asked = request.details
    named = tx.ids.encode("organisation", request.organisation_id) if request.organisation_id else None
    return {
        "id": tx.ids.encode("validationrequest", request.id),
        "organisation_id": named,
        "organisation_types": list(request.organisation_types),
        "name": asked.name,
        "registry_name": asked.registry_name,
        "registry_id": asked.registry_number,
        "email": asked.email,
        "address_line1": asked.address_line_1,
        "address_line2": asked.address_line_2,
        "city": asked.city,
        "state": asked.state,
        "postal": asked.postal,
        "website": asked.website,
        "country_code": asked.country_code,
        "created_at": iso_timestamp(request.created_at),
        "deleted_at": iso_timestamp_or_none(request.deleted_at),
        "accepted_at": iso_timestamp_or_none(request.accepted_at),
        "rejected_at": iso_timestamp_or_none(request.rejected_at),
        "rejection_reason": request.rejection_reason,
        "rejection_reason_code": request.rejection_reason_code,
        "usa_group_exempt": asked.usa_group_exempt,
    }


def document_response(tx: Tx, request_id: UUID, document: Document) -> ValidationRequestDocumentResponse:
    """One of its documents, and the record in its events."""
    return ValidationRequestDocumentResponse(
        id=tx.ids.encode(documents.TYPE, document.id),
        validation_request_id=tx.ids.encode("validationrequest", request_id),
        status=document.status,
        url=documents.build_download_url(tx, document),
        created_at=iso_timestamp(document.created_at),
        deleted_at=iso_timestamp_or_none(document.deleted_at),
    )
