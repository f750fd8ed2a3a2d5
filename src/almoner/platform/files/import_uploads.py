"""Register and watchlist files that operators upload, kept in the document storage until a job has imported them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal
from uuid import UUID

import msgspec

from almoner.platform.crypto import DecryptionFailed
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.files.storage import BlobMissing, BlobStore, StorageUnavailable

Kind = Literal["register", "watchlist"]
Status = Literal["waiting", "importing", "loaded", "unchanged", "quarantined", "refused"]

ID: Final = "importupload"
MAX_UPLOAD: Final = 256 * 1024 * 1024
"""The maximum size of a file, packed or not; larger ones are imported by command."""
_COLUMNS: Final = """
id, kind, source, file_name, size_bytes, data_as_of, forced, storage_key, uploaded_by, uploaded_at, status, reason,
load_id, finished_at
"""


class ImportUploadJob(msgspec.Struct, frozen=True):
    """The upload."""

    upload: UUID


class UploadedFileUnreadable(Exception):
    """The file is missing from the storage, or damaged."""


@dataclass(frozen=True, slots=True)
class NewUpload:
    """An uploaded file. ``source``: its reader; ``forced``: import despite failed load checks."""

    kind: Kind
    source: str
    file_name: str
    size_bytes: int
    data_as_of: datetime | None
    forced: bool
    storage_key: str
    uploaded_by: str


@dataclass(frozen=True, slots=True)
class ImportUpload:
    """An uploaded file and its result. ``reason``: why nothing was loaded."""

    id: UUID
    kind: Kind
    source: str
    file_name: str
    size_bytes: int
    data_as_of: datetime | None
    forced: bool
    storage_key: str
    uploaded_by: str
    uploaded_at: datetime
    status: Status
    reason: str | None
    load_id: UUID | None
    finished_at: datetime | None


async def insert_upload(tx: Tx, new_upload: NewUpload) -> UUID:
    """Store an upload that waits for its import."""
    upload_id = tx.new_id()
    await tx.execute(
        """
        insert into import_upload (
            id, kind, source, file_name, size_bytes, data_as_of, forced, storage_key, uploaded_by, uploaded_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        upload_id,
        new_upload.kind,
        new_upload.source,
        new_upload.file_name,
        new_upload.size_bytes,
        new_upload.data_as_of,
        new_upload.forced,
        new_upload.storage_key,
        new_upload.uploaded_by,
        tx.now,
    )
    return upload_id


async def find_upload(tx: Tx, kind: Kind, upload_id: UUID) -> ImportUpload | None:
    """One upload."""
    row = await tx.fetchrow(f"select {_COLUMNS} from import_upload where id = $1 and kind = $2", upload_id, kind)
    return None if row is None else ImportUpload(**row)


async def list_newest_uploads(tx: Tx, kind: Kind, limit: int) -> list[ImportUpload]:
    """The newest uploads, newest first."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from import_upload where kind = $1 order by id desc limit $2", kind, limit
    )
    return [ImportUpload(**row) for row in rows]


async def mark_upload_importing(tx: Tx, upload_id: UUID) -> ImportUpload | None:
    """Record that a job imports an upload; None if it is finished or missing."""
    row = await tx.fetchrow(
        f"""
        update import_upload set status = 'importing' where id = $1 and status in ('waiting', 'importing')
        returning {_COLUMNS}
        """,
        upload_id,
    )
    return None if row is None else ImportUpload(**row)


async def record_import_result(
    tx: Tx, upload_id: UUID, status: Status, *, import_id: UUID | None = None, reasons: Sequence[str] = ()
) -> None:
    """Store the result of an import."""
    await tx.execute(
        """
        update import_upload set status = $2, load_id = $3, reason = $4, finished_at = $5
        where id = $1 and status = 'importing'
        """,
        upload_id,
        status,
        import_id,
        "; ".join(reasons)[:_LONGEST_REASON] or None,
        tx.now,
    )


_LONGEST_REASON: Final = 2000


async def list_referenced_blob_keys(tx: Tx, keys: Sequence[str]) -> set[str]:
    """Those of the keys that a waiting upload refers to."""
    rows = await tx.fetch(
        "select storage_key from import_upload where storage_key = any($1::text[]) and finished_at is null", list(keys)
    )
    return {row["storage_key"] for row in rows}


async def copy_uploaded_file_to_folder(blobs: BlobStore, upload: ImportUpload, folder: Path) -> Path:
    """Write the uploaded file under its own name. Raises UploadedFileUnreadable, StorageUnavailable."""
    path = folder / Path(upload.file_name).name
    try:
        with path.open("wb") as file:
            async for piece in blobs.read(upload.storage_key):
                file.write(piece)
    except (BlobMissing, DecryptionFailed) as error:
        if isinstance(error, BlobMissing):
            await blobs.ensure_mounted(upload.id)
        raise UploadedFileUnreadable("The uploaded file is no longer stored. Upload it again.") from None
    return path


async def record_refused_import(db: Database, upload: ImportUpload, reason: str) -> None:
    """Store that nothing was loaded, and why."""
    async with db.write() as tx:
        await record_import_result(tx, upload.id, "refused", reasons=[reason])


async def delete_uploaded_file(blobs: BlobStore, upload: ImportUpload) -> None:
    """Delete the file of a finished upload. If the storage is unavailable, the sweep deletes it later."""
    with suppress(StorageUnavailable):
        await blobs.remove(upload.storage_key)
