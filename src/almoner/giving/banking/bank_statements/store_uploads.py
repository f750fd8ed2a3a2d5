"""SQL for uploaded statements that are not booked yet."""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from almoner.giving.banking.bank_statements.domain import StatementUpload
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = "id, file_name, sha256, size_bytes, mapping, uploaded_by, uploaded_at"


class StoredUpload(NamedTuple):
    """An uploaded file and its encrypted content."""

    upload: StatementUpload
    encrypted_content: bytes


async def insert(tx: Tx, upload: StatementUpload, encrypted_content: bytes) -> None:
    """Store an uploaded file."""
    await tx.execute(
        f"insert into bank_statement_upload ({_COLUMNS}, encrypted_content) values ($1, $2, $3, $4, $5, $6, $7, $8)",
        upload.id,
        upload.file_name,
        upload.sha256,
        upload.size_bytes,
        upload.mapping,
        upload.uploaded_by,
        upload.uploaded_at,
        encrypted_content,
    )


async def find(tx: Tx, upload_id: UUID) -> StoredUpload | None:
    """A file with its encrypted content."""
    row = await tx.fetchrow(f"select {_COLUMNS}, encrypted_content from bank_statement_upload where id = $1", upload_id)
    return StoredUpload(StatementUpload(*row[:7]), row[7]) if row else None


async def list_uploads(tx: Tx, limit: int) -> list[StatementUpload]:
    """The files that wait, newest first."""
    rows = await tx.fetch(f"select {_COLUMNS} from bank_statement_upload order by id desc limit $1", limit)
    return [StatementUpload(*row) for row in rows]


async def delete(tx: Tx, upload_id: UUID) -> bool:
    """Delete a file; False if it does not exist."""
    return await tx.execute("delete from bank_statement_upload where id = $1", upload_id) == "DELETE 1"


async def find_oldest_upload_at(tx: Tx) -> datetime | None:
    """When the oldest stored file was uploaded."""
    found: datetime | None = await tx.fetchval(
        "select uploaded_at from bank_statement_upload order by uploaded_at limit 1"
    )
    return found


async def delete_old_uploads(tx: Tx, uploaded_before: datetime, limit: int) -> int:
    """Delete old files that were not booked; returns how many."""
    done = await tx.execute(
        """
        delete from bank_statement_upload where id in (
            select id from bank_statement_upload where uploaded_at <= $1 order by uploaded_at limit $2
        )
        """,
        uploaded_before,
        limit,
    )
    return int(done.rpartition(" ")[2])
