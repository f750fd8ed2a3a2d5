"""Documents of submissions, and what was applied for before, on the wire (settled 4 and 8)."""

from typing import Annotated

import msgspec
from pydantic import Field, model_validator

from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import Query, RequestBody, ResponseRecord, UnpagedQuery
from almoner.validation.applications.submission_documents.domain import Kind
from almoner.validation.applications.submissions.previous import PreviousApplicationPage
from almoner.validation.applications.submissions.schemas_in import CommaSeparated, MaxValues


class ValidationSubmissionDocumentsQuery(UnpagedQuery):
    """Documents of a submission have no filters."""


class ValidationSubmissionDocumentBody(RequestBody):
    """The fields of the upload: the owner of the document (one of the two IDs), and its type."""

    validation_submission_id: Annotated[str, IdString("validationsubmission")] | None = None
    validation_invite_id: Annotated[str, IdString("validationinvite")] | None = None
    type: Annotated[Kind, Field(description="The check that the document is for.")]

    @model_validator(mode="after")
    def _one(self) -> "ValidationSubmissionDocumentBody":
        if (self.validation_submission_id is None) == (self.validation_invite_id is None):
            raise ValueError("must have either validationSubmissionId or validationInviteId")
        return self


class SubmissionsOrganisationsQuery(Query):
    """What was applied for; all given filters must hold, and of each one of its values."""

    query: str | None = Field(
        None, max_length=500, description="Words, or parts of words, in the name or the registration number."
    )
    organisation_ids: Annotated[list[str], CommaSeparated, MaxValues] = Field([], alias="organisationIds[]")
    validation_request_ids: Annotated[list[str], CommaSeparated, MaxValues] = Field([], alias="validationRequestIds[]")


class EarlierApplicationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A nonprofit of an earlier application."""

    name: str
    organisation_id: str | None
    validation_submission_id: str
    validation_request_id: str | None


class SubmissionsOrganisationsResponse(ResponseRecord, object_name="validation_submission"):
    """The earlier applications, newest first; at most 100."""

    results: list[EarlierApplicationResponse]
    has_more: Annotated[
        bool, msgspec.Meta(description="Whether there are older ones; use a narrower filter to find them.")
    ]


def previous_applications_response(
    tx: Tx, previous_applications: PreviousApplicationPage
) -> SubmissionsOrganisationsResponse:
    """The response."""
    return SubmissionsOrganisationsResponse(
        results=[
            EarlierApplicationResponse(
                one.name,
                tx.ids.encode_or_none("organisation", one.organisation_id),
                tx.ids.encode("validationsubmission", one.validation_submission_id),
                tx.ids.encode_or_none("validationrequest", one.validation_request_id),
            )
            for one in previous_applications.results
        ],
        has_more=previous_applications.has_more,
    )
