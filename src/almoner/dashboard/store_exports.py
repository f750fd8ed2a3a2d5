"""SQL for CSV files that jobs prepare; each belongs to one person."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from almoner.dashboard.domain import CsvExport
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_COLUMNS = "id, person_id, list, query, shows_donors, status, storage_key, created_at, expires_at"


async def insert_export(tx: Tx, partner: Partner, export: CsvExport, max_count: int) -> bool:
    """Store a requested file; False if the partner has reached the limit."""
    made = await tx.fetchval(
        """
        insert into csv_export (
            id, partner_id, person_id, list, query, shows_donors, status, created_at, expires_at
        )
        select $2, $1, $3, $4, $5, $6, $7, $8, $9
        where (select count(*) from csv_export where partner_id = $1) < $10
        returning true
        """,
        partner.id,
        export.id,
        export.person_id,
        export.list,
        export.query,
        export.contains_donor_data,
        export.status,
        export.created_at,
        export.expires_at,
        max_count,
    )
    return bool(made)


async def count_exports(tx: Tx, partner: Partner) -> int:
    """Count the partner's files."""
    found: int = await tx.fetchval("select count(*) from csv_export where partner_id = $1", partner.id)
    return found


async def list_exports(tx: Tx, partner: Partner, person_id: UUID) -> list[CsvExport]:
    """All files of a person, newest first."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from csv_export where partner_id = $1 and person_id = $2 order by id desc",
        partner.id,
        person_id,
    )
    return [CsvExport(*row) for row in rows]


async def find_export(tx: Tx, partner: Partner, export_id: UUID) -> CsvExport | None:
    """Find a file of the partner's members."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from csv_export where partner_id = $1 and id = $2", partner.id, export_id
    )
    return None if row is None else CsvExport(*row)


async def record_export_file(
    tx: Tx, partner: Partner, export_id: UUID, storage_key: str | None, expires_at: datetime
) -> bool:
    """Record the storage key of the file, or None if it failed; False if it is no longer requested."""
    changed = await tx.execute(
        """
        update csv_export
        set status = case when $3::text is null then 'failed' else 'ready' end, storage_key = $3, expires_at = $4
        where partner_id = $1 and id = $2 and status = 'pending'
        """,
        partner.id,
        export_id,
        storage_key,
        expires_at,
    )
    return bool(changed == "UPDATE 1")


@across_partners("sweep")
async def next_export_expiry_at(tx: Tx) -> datetime | None:
    """When the next file expires; None if there is none."""
    found: datetime | None = await tx.fetchval("select min(expires_at) from csv_export")
    return found


@across_partners("sweep")
async def delete_expired_and_return_storage_keys(tx: Tx, limit: int) -> list[str | None]:
    """Delete up to ``limit`` expired files; returns their storage keys."""
    rows = await tx.fetch(
        """
        delete from csv_export where id in (
            select id from csv_export where expires_at <= $1 order by expires_at limit $2
        ) returning storage_key
        """,
        tx.now,
        limit,
    )
    return [row["storage_key"] for row in rows]


@across_partners("sweep")
async def list_referenced_blob_keys(tx: Tx, keys: Sequence[str]) -> set[str]:
    """Those of the keys that a file refers to."""
    rows = await tx.fetch("select storage_key from csv_export where storage_key = any($1::text[])", list(keys))
    return {row["storage_key"] for row in rows}
