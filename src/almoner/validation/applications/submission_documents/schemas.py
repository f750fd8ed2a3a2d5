"""Documents of submissions on the wire (settled 4 and 8)."""

from typing import Annotated

import msgspec

from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx
from almoner.platform.http.wire import ResponseRecord
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import DocumentStatus
from almoner.validation.applications.submission_documents.domain import Kind, SubmissionDocument


class ValidationSubmissionDocumentResponse(ResponseRecord, object_name="validation_submission_document"):
    """A document of a submission. `url` is valid for a few minutes; each GET returns a new one."""

    id: str
    validation_submission_id: Annotated[
        str | None, msgspec.Meta(description="The submission; null until it is created.")
    ]
    validation_invite_id: str | None
    type: Kind
    status: DocumentStatus
    url: str
    created_at: str


def document_response(tx: Tx, document: SubmissionDocument) -> ValidationSubmissionDocumentResponse:
    """The response for one document."""
    return ValidationSubmissionDocumentResponse(
        id=tx.ids.encode("validationsubmissiondocument", document.id),
        validation_submission_id=tx.ids.encode_or_none("validationsubmission", document.validation_submission_id),
        validation_invite_id=tx.ids.encode_or_none("validationinvite", document.validation_invite_id),
        type=document.type,
        status=document.document.status,
        url=documents.build_download_url(tx, document.document),
        created_at=iso_timestamp(document.created_at),
    )
