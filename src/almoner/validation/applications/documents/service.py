"""Operations on documents.

A route takes one in by declaring ``upload=DOCUMENT``: the endpoint layer has the file checked in a child process and
puts it into the storage before the transaction is opened, and the handler gets what was stored::

    @routes.post("/v1/validation-requests/{id}/document", ..., upload=documents.DOCUMENT, errors=UPLOAD_ERRORS)
    async def add_document(call: Call, id: RequestId, upload: Stored) -> ValidationRequestResponse:
        document = await documents.store(call.tx, call.partner, upload)
"""

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.kit.errors import NotFound, RateExceeded
from almoner.kit.text import clean_line
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.evidence.dossier import DossierDocumentResponse
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.http.uploads import UploadDeclaration
from almoner.platform.jobs.queue import JobKind
from almoner.validation.applications.documents import domain, store, test_values
from almoner.validation.applications.documents.domain import Document, DocumentNotScannedYet, InvalidDownloadLink
from almoner.validation.applications.documents.store import delete_trash_record as delete_trash_record
from almoner.validation.applications.documents.store import filter_referenced_blob_keys as filter_referenced_blob_keys
from almoner.validation.applications.documents.store import (
    list_least_recently_verified_documents as list_least_recently_verified_documents,
)
from almoner.validation.applications.documents.store import (
    list_storage_keys_of_earlier_documents as list_storage_keys_of_earlier_documents,
)
from almoner.validation.applications.documents.store import (
    lock_documents_due_for_retention_check as lock_documents_due_for_retention_check,
)
from almoner.validation.applications.documents.store import mark_blob_removed as mark_blob_removed
from almoner.validation.applications.documents.store import next_retention_check_at as next_retention_check_at
from almoner.validation.applications.documents.store import record_blob_trashed as record_blob_trashed
from almoner.validation.applications.documents.store import (
    record_blob_verification_results as record_blob_verification_results,
)

TYPE: Final = "validationrequestdocument"


class DocumentJob(msgspec.Struct, frozen=True):
    """The document that a job handles."""

    document: UUID


SCAN: Final = JobKind("documents.scan", DocumentJob)
REMOVE: Final = JobKind("documents.remove", DocumentJob)

DOCUMENT: Final = UploadDeclaration(
    "file",
    max_bytes=5_242_880,
    media_types=("image/jpeg", "image/png", "image/heic", "application/pdf"),
    stores_file=True,
)
"""A document: JPEG, PNG, HEIC or PDF, at most 5,242,880 bytes (settled 8). Images are stored as JPEG or PNG."""
PAGE_DOCUMENT: Final = replace(DOCUMENT, max_bytes=25 * 1024 * 1024)
"""A document as hosted pages accept it: phones take larger pictures, which are stored smaller (settled 11)."""

_PURPOSE: Final = "document-link"
_LONGEST_NAME: Final = 255


async def store_document(
    tx: Tx, partner: Partner, upload: StoredFile, existing_record_documents: Sequence[Document] = ()
) -> Document:
    """Create a document from a stored file, within the quota of its record's other documents.

    Raises DocumentCountExceeded, DocumentSizeExceeded; RateExceeded when the partner has handed in a day's bytes (U7).
    """
    simulated = tx.deployment.sandbox and test_values.find_simulated_threat(upload.name)
    status: domain.ScanStatus = "clean" if upload.scanned and not simulated else "pending_scan"
    document = Document(
        tx.new_id(),
        partner.id,
        upload.media_type,
        upload.size,
        upload.sha256,
        upload.key,
        status,
        upload.flags,
        tx.now,
        None,
        None,
        _file_name(upload.name),
    )
    domain.ensure_within_quota(existing_record_documents, document)
    await store.lock_partner_uploads(tx, partner)
    if await store.count_uploaded_bytes(tx, partner, tx.now - domain.DAY) + upload.size > domain.MAX_BYTES_PER_DAY:
        raise RateExceeded(domain.RETRY_SECONDS)
    await store.insert(tx, partner, document)
    if status == "pending_scan":
        await SCAN.enqueue(tx, DocumentJob(document.id), unique_key=str(document.id))
    return document


async def get(tx: Tx, scope: Partner | AllPartners, document_id: UUID) -> Document:
    """One document. Raises NotFound, also for deleted ones."""
    document = await store.find(tx, scope, document_id)
    if document is None or document.deleted_at is not None:
        raise NotFound
    return document


def dossier_document_response(tx: Tx, document: Document) -> DossierDocumentResponse:
    """A document for dossiers: with its hash and without a link, since links expire."""
    return DossierDocumentResponse(
        id=tx.ids.encode(TYPE, document.id),
        media_type=document.media_type,
        size=document.size,
        sha256=document.sha256.hex(),
        scan_status=document.scan_status,
        flags=list(document.flags),
        created_at=iso_timestamp(document.created_at),
        deleted_at=iso_timestamp_or_none(document.deleted_at),
    )


async def list_documents_with_ids(tx: Tx, scope: Partner | AllPartners, document_ids: Sequence[UUID]) -> list[Document]:
    """These documents by creation, including deleted ones; unknown IDs are omitted."""
    return await store.list_documents_with_ids(tx, scope, document_ids) if document_ids else []


async def delete(tx: Tx, scope: Partner | AllPartners, document_id: UUID) -> Document:
    """Delete one: the row stays, a job deletes the bytes. Raises NotFound."""
    if (document := await store.delete(tx, scope, document_id)) is None:
        raise NotFound
    await REMOVE.enqueue(tx, DocumentJob(document.id), unique_key=str(document.id))
    return document


async def schedule_retention_checks(tx: Tx, check_time_by_document_id: Mapping[UUID, datetime]) -> None:
    """Set when these documents' retention is checked again."""
    await store.set_next_retention_checks(tx, check_time_by_document_id)


def build_download_url(tx: Tx, document: Document) -> str:
    """A download link valid for five minutes (U6)."""
    expires = int((tx.real_now + domain.LINK_LIFETIME).timestamp())
    signature = tx.vault.compute_mac(_PURPOSE, _signed_bytes(document.id, expires))
    name = tx.ids.encode(TYPE, document.id)
    return f"{tx.base_urls.pages}/documents/{name}?expires={expires}&signature={_encode_signature(signature)}"


async def get_document_of_download_link(tx: Tx, document_id: UUID, expires: str, signature: str) -> Document:
    """The document of a download link. Raises InvalidDownloadLink, NotFound, DocumentNotScannedYet."""
    moment = int(expires) if expires.isascii() and expires.isdigit() and len(expires) < 12 else 0
    expected = _encode_signature(tx.vault.compute_mac(_PURPOSE, _signed_bytes(document_id, moment)))
    if (
        not hmac.compare_digest(signature.encode(), expected.encode())
        or datetime.fromtimestamp(moment, UTC) <= tx.real_now
    ):
        raise InvalidDownloadLink("read the record again for a new link: each works for five minutes")
    document = await get(tx, ALL_PARTNERS, document_id)
    if document.scan_status == "pending_scan":
        raise DocumentNotScannedYet
    if document.is_unusable:
        raise NotFound
    return document


async def find_unscanned_document(tx: Tx, document_id: UUID) -> Document | None:
    """The document, if it waits for its scan; else None."""
    document = await store.find(tx, ALL_PARTNERS, document_id)
    return document if document is not None and document.scan_status == "pending_scan" else None


async def record_scan_result(tx: Tx, document_id: UUID, threat: str | None) -> None:
    """Record the scanner's result, once; the bytes of a rejected document are deleted."""
    await _end_scan(tx, document_id, domain.scan_status_for_threat(threat) if threat else "clean", threat)


async def record_unreadable_document(tx: Tx, document_id: UUID, reason: str) -> None:
    """Record that a document's bytes are missing or changed before its scan."""
    await store.record_blob_verification_results(tx, {document_id: False})
    await _end_scan(tx, document_id, "unreadable", reason)


async def _end_scan(tx: Tx, document_id: UUID, status: domain.ScanStatus, threat: str | None) -> None:
    document = await store.record_scan_result(tx, document_id, status, threat[:255] if threat else None)
    if document is None:
        return
    await outbox.emit_internal_event(
        tx, domain.SCANNED, domain.DocumentScannedEvent(document.id, threat is None), partner_id=document.partner_id
    )
    if threat:
        await REMOVE.enqueue(tx, DocumentJob(document.id), unique_key=str(document.id))


async def find_removable_blob_key(tx: Tx, document_id: UUID) -> str | None:
    """The storage key of a document whose bytes are to be deleted; None if they are gone."""
    document = await store.find(tx, ALL_PARTNERS, document_id)
    if document is None or document.removed_at is not None:
        return None
    unwanted = document.deleted_at is not None or document.is_unusable
    return document.storage_key if unwanted else None


def _file_name(given: str) -> str | None:
    """The base name of a file: without the folders that some browsers send."""
    return clean_line(re.split(r"[/\\]", given)[-1])[:_LONGEST_NAME].strip() or None


def _signed_bytes(document_id: UUID, expires: int) -> bytes:
    return document_id.bytes + expires.to_bytes(8)


def _encode_signature(signature: bytes) -> str:
    return urlsafe_b64encode(signature).decode().rstrip("=")
