"""SQL for evidence of disputes."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Final
from uuid import UUID

from almoner.giving.accounting.dispute_evidence.domain import EVIDENCE, Evidence, EvidenceFile, EvidenceStatus
from almoner.platform.database.transactions import Tx

_FILE: Final = ", ".join(field.name for field in fields(EvidenceFile))
_COLUMNS: Final = "id, status, product_description, explanation, requested_by, requested_at, ended_at, reason"


async def find(tx: Tx, dispute_id: UUID, *, for_update: bool = False) -> Evidence | None:
    """The evidence for a dispute with its files; ``for_update``: lock it until the transaction ends."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from dispute_evidence where id = $1{' for update' if for_update else ''}", dispute_id
    )
    if row is None:
        return None
    found = await tx.fetch(
        f"select {_FILE} from dispute_evidence_file where dispute_id = $1 order by uploaded_at, kind", dispute_id
    )
    return Evidence(**row, files=tuple(EvidenceFile(**one) for one in found))


async def insert_draft(tx: Tx, dispute_id: UUID) -> None:
    """Store an empty draft, unless there is evidence already."""
    await tx.execute(
        """
        insert into dispute_evidence (id, status, status_changed_at) values ($1, 'draft', $2)
        on conflict (id) do nothing
        """,
        dispute_id,
        tx.now,
    )


async def update_draft(tx: Tx, dispute_id: UUID, product_description: str | None, explanation: str | None) -> None:
    """Store the texts of locked evidence; rejected evidence becomes a draft again."""
    await tx.execute(
        """
        update dispute_evidence set
            product_description = $2, explanation = $3, status = 'draft', ended_at = null, reason = null,
            requested_by = null, requested_at = null,
            status_changed_at = case status when 'draft' then status_changed_at else $4 end
        where id = $1 and status in ('draft', 'rejected')
        """,
        dispute_id,
        product_description,
        explanation,
        tx.now,
    )


async def insert_file(tx: Tx, dispute_id: UUID, file: EvidenceFile) -> None:
    """Store a file of locked evidence."""
    await tx.execute(
        f"insert into dispute_evidence_file (dispute_id, {_FILE}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        dispute_id,
        file.kind,
        file.file_name,
        file.media_type,
        file.size_bytes,
        file.sha256,
        file.storage_key,
        file.uploaded_by,
        file.uploaded_at,
    )


async def delete_file(tx: Tx, dispute_id: UUID, kind: str) -> None:
    """Delete a file of locked evidence; its bytes are removed from the storage later."""
    await tx.execute("delete from dispute_evidence_file where dispute_id = $1 and kind = $2", dispute_id, kind)


async def mark_submitting(tx: Tx, dispute_id: UUID, requested_by: str) -> None:
    """Record who submitted locked evidence."""
    await tx.execute(
        """
        update dispute_evidence set status = 'submitting', status_changed_at = $3, requested_by = $2,
            requested_at = $3, ended_at = null, reason = null
        where id = $1 and status = any($4)
        """,
        dispute_id,
        requested_by,
        tx.now,
        EVIDENCE.source_states_of("submitting"),
    )


async def record_submission_result(tx: Tx, dispute_id: UUID, status: EvidenceStatus, reason: str | None = None) -> bool:
    """Record the provider's response; False if it is already recorded."""
    return bool(
        await tx.fetchval(
            """
            update dispute_evidence set status = $2, status_changed_at = $3, ended_at = $3, reason = $4
            where id = $1 and status = any($5) returning true
            """,
            dispute_id,
            status,
            tx.now,
            reason,
            EVIDENCE.source_states_of(status),
        )
    )


async def list_referenced_blob_keys(tx: Tx, keys: Sequence[str]) -> set[str]:
    """Return the keys that belong to evidence files."""
    rows = await tx.fetch(
        "select storage_key from dispute_evidence_file where storage_key = any($1::text[])", list(keys)
    )
    return {row["storage_key"] for row in rows}


async def list_storage_keys_of_earlier_disputes(tx: Tx, dispute_id: UUID, limit: int) -> list[str]:
    """Return the storage keys of the files of the newest disputes before a record."""
    rows = await tx.fetch(
        "select storage_key from dispute_evidence_file where dispute_id < $1 order by dispute_id desc limit $2",
        dispute_id,
        limit,
    )
    return [row["storage_key"] for row in rows]
