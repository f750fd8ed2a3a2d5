"""Operations on documents of submissions.

Evidence of the registration is attached to the validation request, evidence that the applicant represents the nonprofit
to the agent verification. Reviewers see it there.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.files.uploads.files import StoredFile
from almoner.validation.agents import service as agents
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.invites.domain import Invite
from almoner.validation.applications.submission_documents import domain, schemas, store
from almoner.validation.applications.submission_documents.domain import EvidenceTargets, Kind, SubmissionDocument
from almoner.validation.applications.submission_documents.schemas import (
    ValidationSubmissionDocumentResponse as ValidationSubmissionDocumentResponse,
)
from almoner.validation.applications.submission_documents.store import SubmissionDocumentRecord
from almoner.validation.requests import service as validation_requests

TYPE: Final = "validationsubmissiondocument"


async def add_to_invite(tx: Tx, invite: Invite, kind: Kind, upload: StoredFile) -> SubmissionDocument:
    """Add a document to a locked open invite.

    Raises what ``documents.store`` raises where there may be no more of them.
    """
    partner = Partner(invite.partner_id)
    return await _store_document(tx, partner, kind, upload, await list_by_invite(tx, invite), invite_id=invite.id)


async def add_to_submission(
    tx: Tx, partner: Partner, submission_id: UUID, evidence_targets: EvidenceTargets, kind: Kind, upload: StoredFile
) -> SubmissionDocument:
    """Add a document to a submission."""
    held = await list_by_submission(tx, partner, submission_id)
    made = await _store_document(tx, partner, kind, upload, held, submission_id=submission_id)
    await _attach(tx, partner, evidence_targets, [made])
    return made


async def _attach(tx: Tx, partner: Partner, checked: EvidenceTargets, handed_in: Sequence[SubmissionDocument]) -> None:
    """Attach documents to the records that they are evidence for."""
    shows: dict[Kind, list[UUID]] = {"validation_request": [], "agent_verification": []}
    for one in handed_in:
        shows[one.type].append(one.document.id)
    if checked.validation_request_id is not None and (evidence := shows["validation_request"]):
        await validation_requests.attach_stored_documents(tx, partner, checked.validation_request_id, evidence)
    if checked.agent_verification_id is not None and (evidence := shows["agent_verification"]):
        await agents.attach_documents(tx, partner, checked.agent_verification_id, evidence)


async def _store_document(
    tx: Tx,
    partner: Partner,
    kind: Kind,
    upload: StoredFile,
    held: Sequence[SubmissionDocument],
    *,
    invite_id: UUID | None = None,
    submission_id: UUID | None = None,
) -> SubmissionDocument:
    document = await documents.store_document(tx, partner, upload, [one.document for one in held])
    row = SubmissionDocumentRecord(tx.new_id(), partner.id, document.id, submission_id, invite_id, kind, tx.now)
    await store.insert(tx, partner, row)
    return SubmissionDocument(row.id, partner.id, document, submission_id, invite_id, kind, row.created_at)


async def list_by_submission(tx: Tx, partner: Partner, submission_id: UUID) -> list[SubmissionDocument]:
    """A submission's documents, oldest first, without deleted ones."""
    return await _with_files(tx, partner, await store.list_by_submission(tx, partner, submission_id))


async def list_by_invite(tx: Tx, invite: Invite) -> list[SubmissionDocument]:
    """An invite's documents, oldest first, without deleted ones."""
    partner = Partner(invite.partner_id)
    return await _with_files(tx, partner, await store.list_by_invite(tx, partner, invite.id))


async def _with_files(tx: Tx, partner: Partner, rows: Sequence[SubmissionDocumentRecord]) -> list[SubmissionDocument]:
    files = {
        one.id: one for one in await documents.list_documents_with_ids(tx, partner, [row.document_id for row in rows])
    }
    return [
        SubmissionDocument(
            row.id,
            row.partner_id,
            files[row.document_id],
            row.validation_submission_id,
            row.validation_invite_id,
            row.type,
            row.created_at,
        )
        for row in rows
        if files[row.document_id].deleted_at is None
    ]


async def assign_to_submission_and_list_unknown_ids(
    tx: Tx,
    invite: Invite,
    submission_id: UUID,
    evidence_targets: EvidenceTargets,
    document_id_texts: Sequence[str] = (),
) -> list[str]:
    """Move a locked invite's documents to its new submission.

    ``document_id_texts``: document IDs as given. Returns those that are no document of this invite.
    """
    partner, held = Partner(invite.partner_id), await list_by_invite(tx, invite)
    await store.assign_to_submission(tx, partner, [one.id for one in held], submission_id)
    await _attach(tx, partner, evidence_targets, held)
    known = {tx.ids.encode(TYPE, one.id) for one in held}
    return [text for text in document_id_texts if text not in known]


async def find_submission_id_of_document(tx: Tx, document_id: UUID) -> UUID | None:
    """The submission that a file was uploaded for; None if there is none yet."""
    found = await store.find_by_document_id(tx, document_id)
    return found.validation_submission_id if found else None


async def emit_document_rejected(tx: Tx, document_id: UUID) -> None:
    """Notify the partner of a rejected document of a submission."""
    if (row := await store.find_by_document_id(tx, document_id)) is None:
        return
    for document in await _with_files(tx, Partner(row.partner_id), [row]):
        await outbox.emit_event(tx, document.partner_id, domain.REJECTED, serialise_for_api(tx, document))


async def remove_from_invite(tx: Tx, invite: Invite, document_id: UUID) -> bool:
    """Remove a document from a locked invite; False if it was not there."""
    found = next((one for one in await list_by_invite(tx, invite) if one.id == document_id), None)
    if found is not None:
        await documents.delete(tx, Partner(invite.partner_id), found.document.id)
    return found is not None


async def delete_documents_of_unused_invites(tx: Tx, invite_ids: Sequence[UUID]) -> None:
    """Delete the documents of invites that expired without a submission."""
    for document_id in await store.list_document_ids_of_unused_invites(tx, invite_ids):
        await documents.delete(tx, ALL_PARTNERS, document_id)


def serialise_for_api(tx: Tx, document: SubmissionDocument) -> ValidationSubmissionDocumentResponse:
    """The document as an API record."""
    return schemas.document_response(tx, document)
