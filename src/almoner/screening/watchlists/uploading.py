"""Import watchlist files that an operator uploads in the console, in a job."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.files import import_uploads
from almoner.platform.files.import_uploads import ImportUpload, ImportUploadJob, UploadedFileUnreadable
from almoner.platform.files.storage import BlobStore, StorageUnavailable
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, JobRetry, Result
from almoner.screening.watchlists import flows
from almoner.screening.watchlists.domain import WatchlistImport, WatchlistImportChecksFailed, WatchlistImportRefused
from almoner.screening.watchlists.ports import WatchlistSource

IMPORT_UPLOAD: Final = JobKind("watchlists.import_upload", ImportUploadJob)
_LANE: Final = "watchlists"
_AGAIN: Final = timedelta(minutes=1)
_LIMIT: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class WatchlistUploadContext:
    """What importing needs. ``get_source``: returns the reader of a list. Raises WatchlistImportRefused."""

    blobs: BlobStore
    get_source: Callable[[str], WatchlistSource]


upload_tasks: Final = DependentTaskRegistry[WatchlistUploadContext]()


@upload_tasks.job(IMPORT_UPLOAD, time_limit=_LIMIT)
async def import_uploaded_file(
    upload_context: WatchlistUploadContext, context: JobContext, job: DecodedJob[ImportUploadJob]
) -> Result:
    """Import an uploaded list and record the result."""
    async with context.db.write() as tx:
        upload = await import_uploads.mark_upload_importing(tx, job.details.upload)
    if upload is None:
        return JobDone()
    try:
        with TemporaryDirectory(prefix="almoner-watchlist-") as folder:
            path = await import_uploads.copy_uploaded_file_to_folder(upload_context.blobs, upload, Path(folder))
            await _import(context.db, upload_context.get_source(upload.source), upload, path)
    except StorageUnavailable as error:
        return JobRetry(_AGAIN, str(error))
    except (UploadedFileUnreadable, WatchlistImportRefused) as error:
        await import_uploads.record_refused_import(context.db, upload, str(error))
    await import_uploads.delete_uploaded_file(upload_context.blobs, upload)
    return JobDone()


async def _import(db: Database, source: WatchlistSource, upload: ImportUpload, path: Path) -> None:
    actor = audit.Actor("operator", upload.uploaded_by)

    async def record(tx: Tx, load: WatchlistImport) -> None:
        details: audit.Details
        if load.list != source.code:
            action, details = "watchlist.retired", {"entries": load.removed}
        elif load.status == "refused":
            await import_uploads.record_import_result(tx, upload.id, "refused", import_id=load.id, reasons=load.reasons)
            action, details = "watchlist.refused", {"reasons": "; ".join(load.reasons)[:2000]}
        else:
            await import_uploads.record_import_result(tx, upload.id, "loaded", import_id=load.id)
            action = "watchlist.imported"
            details = {"version": load.version_label, "entries": load.entries, "forced": upload.forced}
        await audit.record_entry(tx, audit.DEPLOYMENT, actor, action, load.list, details=details)

    try:
        load = await flows.import_watchlist(
            db, source, [path], published_at=upload.data_as_of, force=upload.forced, record_audit=record
        )
    except WatchlistImportChecksFailed:
        return  # recorded
    if load.status == "unchanged":
        async with db.write() as tx:
            await import_uploads.record_import_result(tx, upload.id, "unchanged")


async def enqueue_import(tx: Tx, upload_id: UUID) -> None:
    """Enqueue the import of an uploaded file."""
    await IMPORT_UPLOAD.enqueue(tx, ImportUploadJob(upload_id), lane=_LANE, unique_key=str(upload_id))
