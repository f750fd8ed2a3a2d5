"""Documents of submissions on the wire (settled 4 and 8)."""

from typing import Annotated

import msgspec
from pydantic import ConfigDict, Field, model_validator

from almoner.kit.time import iso
from almoner.platform.db import Tx
from almoner.platform.http.ids import IdText
from almoner.platform.http.wire import In, Out
from almoner.validation.documents import service as documents
from almoner.validation.submission_documents.domain import Kind, SubmissionDocument


class ValidationSubmissionDocumentIn(In):
    """What stands beside the file: whose document it is, and what it shows."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["validationSubmissionId"]}, {"required": ["validationInviteId"]}]}
    )

    validation_submission_id: Annotated[str, IdText("validationsubmission")] | None = None
    validation_invite_id: Annotated[str, IdText("validationinvite")] | None = None
    type: Annotated[Kind, Field(description="Which check it is for: the nonprofit's, or the applicant's.")]

    @model_validator(mode="after")
    def _one(self) -> "ValidationSubmissionDocumentIn":
        if (self.validation_submission_id is None) == (self.validation_invite_id is None):
            raise ValueError("must have either validationSubmissionId or validationInviteId")
        return self


class ValidationSubmissionDocumentOut(Out, object_name="validation_submission_document"):
    """A document of a submission. `url` opens it for some minutes; reading it again brings a fresh one."""

    id: str
    validation_submission_id: Annotated[str | None, msgspec.Meta(description="Null until the submission is made.")]
    validation_invite_id: str | None
    type: Kind
    url: str
    created_at: str


def document_out(tx: Tx, row: SubmissionDocument) -> ValidationSubmissionDocumentOut:
    """The answer for one document."""
    return ValidationSubmissionDocumentOut(
        id=tx.ids.text("validationsubmissiondocument", row.id),
        validation_submission_id=tx.ids.optional("validationsubmission", row.validation_submission_id),
        validation_invite_id=tx.ids.optional("validationinvite", row.validation_invite_id),
        type=row.type,
        url=documents.url(tx, row.document),
        created_at=iso(row.created_at),
    )
