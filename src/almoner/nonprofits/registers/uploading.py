"""Import register files that an operator uploads in the console, in a job."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

from almoner.nonprofits.registers import flows
from almoner.nonprofits.registers.domain import ImportRefused, RegisterImport, RegisterImportQuarantined
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.nonprofits.registers.reading import AnotherImportInProgress
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.files import import_uploads
from almoner.platform.files.import_uploads import ImportUpload, ImportUploadJob, UploadedFileUnreadable
from almoner.platform.files.storage import BlobStore, StorageUnavailable
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, JobRetry, Result

IMPORT_UPLOAD: Final = JobKind("registers.import_upload", ImportUploadJob)
_LANE: Final = "registers"
_AGAIN: Final = timedelta(minutes=1)
_LIMIT: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class RegisterUploadContext:
    """The dependencies of importing. ``get_source``: the reader of a source. Raises ImportRefused."""

    blobs: BlobStore
    get_source: Callable[[str], RegisterSource]


upload_tasks: Final = DependentTaskRegistry[RegisterUploadContext]()


@upload_tasks.job(IMPORT_UPLOAD, time_limit=_LIMIT)
async def import_uploaded_file(
    upload_context: RegisterUploadContext, context: JobContext, job: DecodedJob[ImportUploadJob]
) -> Result:
    """Import an uploaded file and record the result."""
    async with context.db.write() as tx:
        upload = await import_uploads.mark_upload_importing(tx, job.details.upload)
    if upload is None:
        return JobDone()
    try:
        with TemporaryDirectory(prefix="almoner-register-") as folder:
            path = await import_uploads.copy_uploaded_file_to_folder(upload_context.blobs, upload, Path(folder))
            await _import(context.db, upload_context.get_source(upload.source), upload, path)
    except (StorageUnavailable, AnotherImportInProgress) as error:
        return JobRetry(_AGAIN, str(error))
    except (UploadedFileUnreadable, ImportRefused) as error:
        await import_uploads.record_refused_import(context.db, upload, str(error))
    await import_uploads.delete_uploaded_file(upload_context.blobs, upload)
    return JobDone()


async def _import(db: Database, source: RegisterSource, upload: ImportUpload, path: Path) -> None:
    actor = audit.Actor("operator", upload.uploaded_by)
    async with db.write() as tx:
        if (entered := await flows.create_declared_registry(tx, source)) is not None:
            named: audit.Details = {"name": entered.name, "country": entered.country_code, "by": source.code}
            await audit.record_entry(tx, audit.DEPLOYMENT, actor, "registry.added", entered.code, details=named)

    async def record(tx: Tx, load: RegisterImport) -> None:
        quarantined = load.status == "quarantined"
        await import_uploads.record_import_result(
            tx, upload.id, "quarantined" if quarantined else "loaded", import_id=load.id, reasons=load.reasons
        )
        action = "register.quarantined" if quarantined else "register.imported"
        details: audit.Details = {"data_of": f"{load.data_as_of:%Y-%m-%d}", "forced": upload.forced}
        await audit.record_entry(tx, audit.DEPLOYMENT, actor, action, load.source, details=details)

    try:
        load = await flows.import_files(
            db, source, [path], as_of=upload.data_as_of, force=upload.forced, record_audit=record
        )
    except RegisterImportQuarantined:
        return  # already recorded
    if load.status == "unchanged":
        async with db.write() as tx:
            await import_uploads.record_import_result(tx, upload.id, "unchanged")


async def enqueue_import(tx: Tx, upload_id: UUID) -> None:
    """Enqueue the import of an uploaded file."""
    await IMPORT_UPLOAD.enqueue(tx, ImportUploadJob(upload_id), lane=_LANE, unique_key=str(upload_id))
