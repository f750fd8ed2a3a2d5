"""Documents uploaded with an application (settled 4 and 8)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.validation.applications.documents.domain import Document

REJECTED: Final = "validation_submission_document.rejected"
Kind = Literal["validation_request", "agent_verification"]
"""What a document shows, by the check that uses it."""


@dataclass(frozen=True, slots=True)
class EvidenceTargets:
    """The request and agent verification that a submission's documents are evidence for."""

    validation_request_id: UUID | None
    agent_verification_id: UUID | None


class InviteNotFound(BadRequest):
    code = "validation_submission_document/validation_invite_not_found"
    message = "There is no validation invite with this ID"


class SubmissionNotFound(BadRequest):
    code = "validation_submission_document/validation_submission_not_found"
    message = "There is no validation submission with this ID"


@dataclass(frozen=True, slots=True)
class SubmissionDocument:
    """One document of an application: of its invite until a submission is created, then of the submission.

    ``document``: its file.
    """

    id: UUID
    partner_id: UUID
    document: Document
    validation_submission_id: UUID | None
    validation_invite_id: UUID | None
    type: Kind
    created_at: datetime
