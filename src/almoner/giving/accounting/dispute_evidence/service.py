"""Collects evidence for a dispute and submits it to the provider once. The flows call the provider."""

from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.accounting.dispute_evidence import domain, store
from almoner.giving.accounting.dispute_evidence.domain import Evidence, EvidenceFile
from almoner.giving.accounting.dispute_evidence.domain import removal_blocked_reason as removal_blocked_reason
from almoner.giving.accounting.dispute_evidence.store import list_referenced_blob_keys as list_referenced_blob_keys
from almoner.giving.accounting.dispute_evidence.store import (
    list_storage_keys_of_earlier_disputes as list_storage_keys_of_earlier_disputes,
)
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import Dispute, DisputeError
from almoner.giving.checkout.payments.domain import DisputeEvidenceKind
from almoner.kit.ids import encode_uuid
from almoner.platform.database.transactions import Tx
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.jobs.queue import JobKind

_CHANGED: Final = "The evidence has changed since you opened this page: look at it again."


class SubmitEvidenceJob(msgspec.Struct, frozen=True):
    """The dispute whose evidence is submitted."""

    dispute: UUID


SUBMIT: Final = JobKind("disputes.submit_evidence", SubmitEvidenceJob)


async def get(tx: Tx, dispute_id: UUID) -> Evidence:
    """The evidence for a dispute; an empty draft if there is none."""
    return await store.find(tx, dispute_id) or Evidence(dispute_id)


def edit_blocked_reason(tx: Tx, dispute: Dispute, evidence: Evidence) -> str | None:
    """Why the evidence can be neither changed nor submitted; None if it can."""
    return domain.edit_blocked_reason(dispute.status, dispute.evidence_due_at, evidence, tx.now)


async def update_texts(
    tx: Tx, dispute_id: UUID, expected_version: str, product_description: str | None, explanation: str | None
) -> None:
    """Change the texts. ``expected_version``: the version that the person changes. Raises DisputeError."""
    evidence = await _lock_editable(tx, dispute_id)
    _ensure_seen(evidence, expected_version)
    if any(len(text or "") > domain.MAX_TEXT for text in (product_description, explanation)):
        raise DisputeError(f"A text of the evidence may have at most {domain.MAX_TEXT} characters.")
    await store.update_draft(tx, dispute_id, product_description or None, explanation or None)


async def clear_texts(tx: Tx, dispute_id: UUID, expected_version: str) -> None:
    """Delete the texts, also after the deadline. ``expected_version``: the version that the person saw.

    Raises DisputeError.
    """
    evidence = await _lock_removable(tx, dispute_id)
    _ensure_seen(evidence, expected_version)
    await store.update_draft(tx, dispute_id, None, None)


async def ensure_can_add_file(tx: Tx, dispute_id: UUID, kind: DisputeEvidenceKind) -> None:
    """Check that a file can be added, before it is stored; pictures are smaller then. Raises DisputeError."""
    evidence = await get(tx, dispute_id)
    if reason := edit_blocked_reason(tx, await disputes.get(tx, dispute_id), evidence):
        raise DisputeError(reason)
    if reason := domain.file_rejection_reason(evidence, kind, 0):
        raise DisputeError(reason)


async def add_file(
    tx: Tx, dispute_id: UUID, kind: DisputeEvidenceKind, file_name: str, file: StoredFile, uploaded_by: str
) -> None:
    """Add a checked file. Raises DisputeError."""
    evidence = await _lock_editable(tx, dispute_id)
    if reason := domain.file_rejection_reason(evidence, kind, file.size):
        raise DisputeError(reason)
    new = EvidenceFile(kind, file_name, file.media_type, file.size, file.sha256, file.key, uploaded_by, tx.now)
    await store.insert_file(tx, dispute_id, new)


async def remove_file(tx: Tx, dispute_id: UUID, kind: DisputeEvidenceKind) -> None:
    """Remove a file, also after the deadline. Raises DisputeError."""
    evidence = await _lock_removable(tx, dispute_id)
    if all(one.kind != kind for one in evidence.files):
        raise DisputeError("This file has already been removed.")
    await store.delete_file(tx, dispute_id, kind)


async def request_submission(tx: Tx, dispute_id: UUID, expected_version: str, requested_by: str) -> None:
    """Have a worker submit the evidence. ``expected_version``: the version that the person submits.

    Raises DisputeError.
    """
    evidence = await _lock_editable(tx, dispute_id)
    _ensure_seen(evidence, expected_version)
    if evidence.is_empty:
        raise DisputeError("There is no evidence yet: add a text or a file first.")
    await store.mark_submitting(tx, dispute_id, requested_by)
    await SUBMIT.enqueue(tx, SubmitEvidenceJob(dispute_id), unique_key=str(dispute_id))


async def find_pending_submission(tx: Tx, dispute_id: UUID) -> tuple[Dispute, Evidence] | None:
    """The evidence waiting to be submitted, with its dispute; None if it is not waiting."""
    evidence = await store.find(tx, dispute_id)
    if evidence is None or evidence.status != "submitting":
        return None
    return await disputes.get(tx, dispute_id), evidence


async def mark_submitted(tx: Tx, dispute: Dispute) -> None:
    """Record that the provider accepted the evidence; it may also have decided the dispute."""
    if await store.record_submission_result(tx, dispute.id, "submitted"):
        await disputes.enqueue_refresh(tx, dispute.provider_payment_id)


async def mark_rejected(tx: Tx, dispute: Dispute, reason: str) -> None:
    """Record that the provider rejected the evidence; an operator may change it and submit it again."""
    await store.record_submission_result(tx, dispute.id, "rejected", reason[:500])


async def has_evidence_deadline_passed(tx: Tx, dispute_id: UUID) -> bool:
    """Whether the deadline for evidence has passed. Providers report no deadline once they have accepted evidence."""
    due_at = (await disputes.get(tx, dispute_id)).evidence_due_at
    return due_at is not None and due_at <= tx.now


async def reject_unsent_evidence(tx: Tx, dispute_id: UUID, reason: str) -> None:
    """Reject evidence that could not be sent to the provider, unless its submission has ended."""
    if (found := await find_pending_submission(tx, dispute_id)) is not None:
        await mark_rejected(tx, found[0], reason)


def build_evidence_idempotency_key(tx: Tx, evidence: Evidence) -> str:
    """The provider's idempotency key for these texts and files."""
    return f"{tx.deployment.environment}:evidence:{encode_uuid(evidence.id)}:{evidence.version}"


async def _lock_editable(tx: Tx, dispute_id: UUID) -> Evidence:
    """Lock evidence that can be changed. Raises DisputeError."""
    dispute = await disputes.get(tx, dispute_id)
    evidence = await _lock(tx, dispute_id)
    if reason := edit_blocked_reason(tx, dispute, evidence):
        raise DisputeError(reason)
    return evidence


async def _lock_removable(tx: Tx, dispute_id: UUID) -> Evidence:
    """Lock evidence whose texts and files can be removed. Raises DisputeError."""
    evidence = await _lock(tx, dispute_id)
    if reason := removal_blocked_reason(evidence):
        raise DisputeError(reason)
    return evidence


async def _lock(tx: Tx, dispute_id: UUID) -> Evidence:
    await store.insert_draft(tx, dispute_id)
    evidence = await store.find(tx, dispute_id, for_update=True)
    assert evidence is not None, "it was just stored"
    return evidence


def _ensure_seen(evidence: Evidence, seen: str) -> None:
    if evidence.version != seen:
        raise DisputeError(_CHANGED)
