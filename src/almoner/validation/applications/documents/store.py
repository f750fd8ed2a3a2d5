"""SQL for documents."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.validation.applications.documents.domain import RETENTION_CHECK_INTERVAL, SCAN, Document, ScanStatus

_COLUMNS: Final = (
    "id, partner_id, media_type, size_bytes as size, sha256, storage_key, status as scan_status, flags, created_at, "
    "deleted_at, removed_at, file_name, threat"
)


def _document(row: Record) -> Document:
    return Document(**{**row, "flags": tuple(row["flags"])})


async def insert(tx: Tx, partner: Partner, document: Document) -> None:
    """Store a new document."""
    await tx.execute(
        """
        insert into document (id, partner_id, media_type, size_bytes, sha256, storage_key, flags, status,
                              status_changed_at, created_at, next_check_at, file_name)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11)
        """,
        document.id,
        partner.id,
        document.media_type,
        document.size,
        document.sha256,
        document.storage_key,
        list(document.flags),
        document.scan_status,
        document.created_at,
        document.created_at + RETENTION_CHECK_INTERVAL,
        document.file_name,
    )


async def lock_partner_uploads(tx: Tx, partner: Partner) -> None:
    """Lock a partner's uploads until the transaction ends, to enforce the daily quota."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('documents:' || $1::text, 0))", str(partner.id))


async def count_uploaded_bytes(tx: Tx, partner: Partner, since: datetime) -> int:
    """How many bytes the partner has uploaded since then, including deleted documents."""
    total = await tx.fetchval(
        "select coalesce(sum(size_bytes), 0) from document where partner_id = $1 and created_at > $2",
        partner.id,
        since,
    )
    return int(total)


async def find(tx: Tx, scope: Partner | AllPartners, document_id: UUID) -> Document | None:
    """One document, including a deleted one; None if it does not exist."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"select {_COLUMNS} from document where id = $1 and ($2::uuid is null or partner_id = $2)",
        document_id,
        partner_id,
    )
    return _document(row) if row else None


async def list_documents_with_ids(tx: Tx, scope: Partner | AllPartners, document_ids: Sequence[UUID]) -> list[Document]:
    """These documents in order of creation, including deleted ones."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    rows = await tx.fetch(
        f"select {_COLUMNS} from document where id = any($1::uuid[]) and ($2::uuid is null or partner_id = $2) "
        "order by id",
        list(document_ids),
        partner_id,
    )
    return [_document(row) for row in rows]


@across_partners("sweep")
async def list_storage_keys_of_earlier_documents(tx: Tx, document_id: UUID, limit: int) -> list[str]:
    """The storage keys of the newest scanned documents before this one whose bytes are stored."""
    rows = await tx.fetch(
        """
        select storage_key from document
        where id < $1 and status = 'clean' and deleted_at is null and removed_at is null order by id desc limit $2
        """,
        document_id,
        limit,
    )
    return [row["storage_key"] for row in rows]


async def delete(tx: Tx, scope: Partner | AllPartners, document_id: UUID) -> Document | None:
    """Mark a document as deleted; None if it does not exist or already is."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"""
        update document set deleted_at = $3, file_name = null
        where id = $1 and ($2::uuid is null or partner_id = $2) and deleted_at is null returning {_COLUMNS}
        """,
        document_id,
        partner_id,
        tx.now,
    )
    return _document(row) if row else None


NEXT_CHECK: Final = "select min(next_check_at) from document where deleted_at is null"
DUE: Final = f"""
select {_COLUMNS} from document where deleted_at is null and next_check_at <= $1
order by next_check_at limit $2 for no key update skip locked
"""


@across_partners("sweep")
async def next_retention_check_at(tx: Tx) -> datetime | None:
    """When the next retention check is due; None if no document is left."""
    found: datetime | None = await tx.fetchval(NEXT_CHECK)
    return found


@across_partners("sweep")
async def lock_documents_due_for_retention_check(tx: Tx, limit: int) -> list[Document]:
    """Lock the documents whose retention check is due."""
    return [_document(row) for row in await tx.fetch(DUE, tx.now, limit)]


@across_partners("sweep")
async def set_next_retention_checks(tx: Tx, check_time_by_document_id: Mapping[UUID, datetime]) -> None:
    """Store when each document is checked next."""
    await tx.execute(
        """
        update document d set next_check_at = given.at from unnest($1::uuid[], $2::timestamptz[]) as given (id, at)
        where d.id = given.id
        """,
        list(check_time_by_document_id),
        list(check_time_by_document_id.values()),
    )


async def record_scan_result(tx: Tx, document_id: UUID, status: ScanStatus, threat: str | None) -> Document | None:
    """Store the result of a scan; None if one is stored already."""
    row = await tx.fetchrow(
        f"""
        update document set status = $2, threat = $3, status_changed_at = $4
        where id = $1 and status = any($5) returning {_COLUMNS}
        """,
        document_id,
        status,
        threat,
        tx.now,
        SCAN.source_states_of(status),
    )
    return _document(row) if row else None


@across_partners("held")
async def mark_blob_removed(tx: Tx, document_id: UUID) -> None:
    """Record that a document's bytes are deleted."""
    await tx.execute("update document set removed_at = $2 where id = $1 and removed_at is null", document_id, tx.now)


@across_partners("sweep")
async def filter_referenced_blob_keys(tx: Tx, keys: Sequence[str]) -> set[str]:
    """The keys among these that a document refers to."""
    rows = await tx.fetch(
        "select storage_key from document where storage_key = any($1::text[]) and removed_at is null", list(keys)
    )
    return {row["storage_key"] for row in rows}


async def record_blob_trashed(tx: Tx, key: str, trashed_on: date) -> None:
    """Record that a blob was moved to the trash."""
    await tx.execute(
        "insert into document_trash (storage_key, trashed_on) values ($1, $2) on conflict do nothing", key, trashed_on
    )


async def delete_trash_record(tx: Tx, key: str) -> None:
    """Delete the record of a purged blob."""
    await tx.execute("delete from document_trash where storage_key = $1", key)


_TO_VERIFY: Final = f"""
select {_COLUMNS} from document where removed_at is null
order by verified_at nulls first limit $1
"""


@across_partners("sweep")
async def list_least_recently_verified_documents(tx: Tx, limit: int) -> list[Document]:
    """The documents whose bytes were verified longest ago, or never."""
    return [_document(row) for row in await tx.fetch(_TO_VERIFY, limit)]


@across_partners("sweep")
async def record_blob_verification_results(tx: Tx, is_intact_by_document_id: Mapping[UUID, bool]) -> None:
    """Store which documents' bytes are present and which are not."""
    await tx.execute(
        """
        update document d set verified_at = $3,
            missing_at = case when given.there then null else coalesce(d.missing_at, $3) end
        from unnest($1::uuid[], $2::boolean[]) as given (id, there) where d.id = given.id
        """,
        list(is_intact_by_document_id),
        list(is_intact_by_document_id.values()),
        tx.now,
    )
