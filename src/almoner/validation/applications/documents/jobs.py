"""Background work of documents: scans, deletions, orphaned blobs, and verification of stored bytes.

None of it reads or writes the storage while a transaction is open.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Final

from almoner.platform.crypto import DecryptionFailed
from almoner.platform.database.transactions import Tx
from almoner.platform.files.storage import BlobMissing, BlobStore, ListedBlob, StorageUnavailable
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, JobRetry, NoDetails, Result
from almoner.platform.jobs.schedules import find_last_run_at
from almoner.platform.observability.loggers import get_logger
from almoner.validation.applications.documents import service, test_values
from almoner.validation.applications.documents.domain import DAY, Document
from almoner.validation.applications.documents.ports import MalwareScanner, MalwareScannerUnavailable

SWEEP: Final = JobKind("documents.delete_orphaned", NoDetails)
_VERIFY: Final = JobKind("documents.verify", NoDetails)
SAMPLE: Final = 200
"""How many documents are verified each night, starting with those verified longest ago."""

_TRASH_DAYS: Final = 30

_BATCH: Final = 500
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIER: Final = 10
"""How many documents before a missing one are looked up, to know whether the whole storage is missing."""
_FIRST_WAIT: Final = timedelta(seconds=15)
_LONGEST_WAIT: Final = timedelta(minutes=15)
_log: Final = get_logger("almoner.validation")


@dataclass(frozen=True, slots=True)
class ScanDependencies:
    """The dependencies of scans. Without a scanner, documents stay unscanned."""

    blobs: BlobStore
    scanner: MalwareScanner | None


@dataclass(frozen=True, slots=True)
class StorageDependencies:
    """What cleanup and verification need. ``referenced_key_finders``: each returns the keys that other records use."""

    blobs: BlobStore
    referenced_key_finders: Sequence[Callable[[Tx, Sequence[str]], Awaitable[set[str]]]] = ()


tasks: Final = DependentTaskRegistry[StorageDependencies]()
scan_tasks: Final = DependentTaskRegistry[ScanDependencies]()


@scan_tasks.job(service.SCAN)
async def scan_document(
    dependencies: ScanDependencies, context: JobContext, job: DecodedJob[service.DocumentJob]
) -> Result:
    """Scan one document."""
    document_id = job.details.document
    async with context.db.read() as tx:
        document = await service.find_unscanned_document(tx, document_id)
    if document is None:
        return JobDone()
    if dependencies.scanner is None:
        return JobRetry(_LONGEST_WAIT, "no scanner is set: ALMONER_SCANNER_URL")
    try:
        threat = await _find_malware(dependencies.scanner, dependencies.blobs, context, document)
        if context.db.deployment.sandbox:
            threat = test_values.find_simulated_threat(document.file_name) or threat
    except (MalwareScannerUnavailable, StorageUnavailable) as down:
        return JobRetry(min(_FIRST_WAIT * 2 ** min(job.attempt - 1, 10), _LONGEST_WAIT), str(down))
    except (BlobMissing, DecryptionFailed) as lost:
        _log.error("document_unreadable", document=str(document_id), reason=type(lost).__name__)
        async with context.db.write() as tx:
            await service.record_unreadable_document(tx, document_id, "the stored file is missing or damaged")
        return JobDone()
    async with context.db.write() as tx:
        await service.record_scan_result(tx, document_id, threat)
    return JobDone()


async def _find_malware(
    scanner: MalwareScanner, blobs: BlobStore, context: JobContext, document: Document
) -> str | None:
    """Scan the stored bytes.

    Raises MalwareScannerUnavailable, DecryptionFailed; BlobMissing if only this document is missing,
    StorageUnavailable if none of the documents before it is there either, such as in a folder that is not mounted.
    """
    try:
        return await scanner.find_malware_name(blobs.read(document.storage_key))
    except BlobMissing:
        async with context.db.read() as tx:
            earlier = await service.list_storage_keys_of_earlier_documents(tx, document.id, _EARLIER)
        if earlier and not await blobs.contains_any_blob(earlier):
            _log.error("document_storage_empty", document=str(document.id), advice="docs/runbooks/documents.md")
            raise StorageUnavailable("none of the documents before this one is in the document storage") from None
        raise


@tasks.job(service.REMOVE)
async def delete_stored_file(
    dependencies: StorageDependencies, context: JobContext, job: DecodedJob[service.DocumentJob]
) -> Result:
    """Delete the stored bytes of a deleted document."""
    document_id = job.details.document
    async with context.db.read() as tx:
        key = await service.find_removable_blob_key(tx, document_id)
    if key is None:
        return JobDone()
    try:
        await dependencies.blobs.remove(key)
    except StorageUnavailable as away:
        return JobRetry(_LONGEST_WAIT, str(away))
    async with context.db.write() as tx:
        await service.mark_blob_removed(tx, document_id)
    return JobDone()


@tasks.job(SWEEP, time_limit=timedelta(hours=2))
async def trash_orphaned_blobs(
    dependencies: StorageDependencies, context: JobContext, _job: DecodedJob[NoDetails]
) -> Result:
    """Move blobs without a record to the trash after a day, and delete them after 30 days (real time).

    Blobs newer than every referenced one are left alone: after a restore they may belong to a later state of the
    database.
    """
    real_now, blobs = context.db.deployment.clock.real_now(), dependencies.blobs
    try:
        unknown, newest = await _find_orphans(dependencies, context)
        for listed in unknown:
            if listed.stored_at <= newest and listed.stored_at < real_now - DAY:
                await _to_trash(blobs, context, listed.key, real_now.date())
        async for found in blobs.list_trashed():
            if found.trashed_on <= real_now.date() - timedelta(_TRASH_DAYS):
                await blobs.purge_trashed(found)
                async with context.db.write() as tx:
                    await service.delete_trash_record(tx, found.key)
    except StorageUnavailable as away:
        return JobRetry(_LONGEST_WAIT, str(away))
    return JobDone()


async def _find_orphans(dependencies: StorageDependencies, context: JobContext) -> tuple[list[ListedBlob], datetime]:
    """Blobs of this deployment without a record, and when the newest blob with a record was stored."""
    blobs = dependencies.blobs
    unknown: list[ListedBlob] = []
    newest = _EPOCH
    batch: list[ListedBlob] = []

    async def check_due() -> None:
        nonlocal newest
        async with context.db.read() as tx:
            keys = [listed.key for listed in batch]
            known = await service.filter_referenced_blob_keys(tx, keys)
            for list_referenced in dependencies.referenced_key_finders:
                known |= await list_referenced(tx, keys)
        unknown.extend(listed for listed in batch if listed.key not in known)
        newest = max([newest, *(listed.stored_at for listed in batch if listed.key in known)])
        batch.clear()

    async for listed in blobs.list_blobs():
        if blobs.owns_blob(listed.key):
            batch.append(listed)
        if len(batch) == _BATCH:
            await check_due()
    await check_due()
    return unknown, newest


async def _to_trash(blobs: BlobStore, context: JobContext, key: str, day: date) -> None:
    async with context.db.write() as tx:
        await service.record_blob_trashed(tx, key, day)
    await blobs.move_to_trash(key, day)
    _log.error("document_trashed", key=key, days=_TRASH_DAYS, advice="docs/runbooks/documents.md, What no row knows")


@tasks.job(_VERIFY, time_limit=timedelta(hours=1))
async def verify_stored_files(
    dependencies: StorageDependencies, context: JobContext, _job: DecodedJob[NoDetails]
) -> Result:
    """Verify a sample of documents in full; the self-check reports lost ones."""
    async with context.db.read() as tx:
        sample = await service.list_least_recently_verified_documents(tx, SAMPLE)
    try:
        found = {document.id: await _is_intact(dependencies.blobs, document) for document in sample}
    except StorageUnavailable as away:
        return JobRetry(_LONGEST_WAIT, str(away))
    async with context.db.write() as tx:
        await service.record_blob_verification_results(tx, found)
    return JobDone()


async def _is_intact(blobs: BlobStore, document: Document) -> bool:
    read = sha256()
    try:
        async for part in blobs.read(document.storage_key):
            read.update(part)
    except (BlobMissing, DecryptionFailed):
        return False
    return read.digest() == document.sha256


async def _next_run_at(kind: JobKind[NoDetails], tx: Tx) -> datetime | None:
    last = await find_last_run_at(tx, kind.name)
    return _EPOCH if last is None else last + DAY


async def _enqueue(kind: JobKind[NoDetails], tx: Tx) -> int:
    """Enqueue the job. Returns 0, since the sweep itself handles no record."""
    await kind.enqueue(tx, NoDetails(), unique_key=kind.name)
    return 0


nightly_tasks: Final = TaskRegistry()
for _kind in (SWEEP, _VERIFY):
    nightly_tasks.add_periodic_job(
        _kind.name, partial(_next_run_at, _kind), partial(_enqueue, _kind), period=timedelta(days=1)
    )
