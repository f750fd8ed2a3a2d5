"""Background work of documents: scans, removals, what no row knows, and whether what is stored is still there.

None of it reads or writes the storage while a transaction is open.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Final
from uuid import UUID

import structlog

from almoner.platform.crypto import SealBroken
from almoner.platform.database.transactions import Tx
from almoner.platform.files.storage import BlobMissing, Blobs, Listed, StorageAway
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Schedule, Work
from almoner.platform.jobs.queue import Done, Drop, Job, Result, Retry
from almoner.platform.jobs.schedules import last_run_at
from almoner.validation.applications.documents import service
from almoner.validation.applications.documents.domain import DAY, Document
from almoner.validation.applications.documents.ports import Scanner, ScannerDown

SWEEP: Final = "documents.sweep"
VERIFY: Final = "documents.verify"
SAMPLE: Final = 200
"""How many documents a night's look reads: those that were read longest ago."""

TRASH_DAYS: Final = 30

_BATCH: Final = 500
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_WAIT: Final = timedelta(seconds=15)
_LONGEST_WAIT: Final = timedelta(minutes=15)
_log: Final = structlog.get_logger("almoner.validation")
LIMITS: Final = {SWEEP: timedelta(hours=2), VERIFY: timedelta(hours=1)}


def handlers(blobs: Blobs, scanner: Scanner | None) -> Mapping[str, Handler]:
    """What runs. Without a scanner documents wait for one."""
    return {
        service.SCAN: partial(_scan, blobs, scanner),
        service.REMOVE: partial(_remove, blobs),
        SWEEP: partial(_sweep, blobs),
        VERIFY: partial(_verify, blobs),
    }


async def _scan(blobs: Blobs, scanner: Scanner | None, work: Work, job: Job) -> Result:
    document_id = UUID(job.payload["document"])
    async with work.db.read() as tx:
        document = await service.to_scan(tx, document_id)
    if document is None:
        return Done()
    if scanner is None:
        return Retry(_LONGEST_WAIT, "no scanner is set: ALMONER_SCANNER_URL")
    try:
        threat = await scanner.scan(blobs.read(document.storage_key))
    except (ScannerDown, StorageAway) as down:
        return Retry(min(_FIRST_WAIT * 2 ** min(job.attempt - 1, 10), _LONGEST_WAIT), str(down))
    except BlobMissing:
        return Drop("the bytes of the document are not in the storage")
    async with work.db.write() as tx:
        await service.end_scan(tx, document_id, threat)
    return Done()


async def _remove(blobs: Blobs, work: Work, job: Job) -> Result:
    document_id = UUID(job.payload["document"])
    async with work.db.read() as tx:
        key = await service.to_remove(tx, document_id)
    if key is None:
        return Done()
    try:
        await blobs.remove(key)
    except StorageAway as away:
        return Retry(_LONGEST_WAIT, str(away))
    async with work.db.write() as tx:
        await service.removed(tx, document_id)
    return Done()


async def _sweep(blobs: Blobs, work: Work, _job: Job) -> Result:
    """Put blobs that no row came for within a day into the trash, and remove what has lain there for 30 days.

    Real time. What is newer than all that rows know may belong to a later state of the database than this one.
    """
    wall = work.db.deployment.clock.wall()
    try:
        unknown, newest = await _unknown(blobs, work)
        for listed in unknown:
            if listed.since <= newest and listed.since < wall - DAY:
                await _to_trash(blobs, work, listed.key, wall.date())
        async for found in blobs.trashed():
            if found.day <= wall.date() - timedelta(TRASH_DAYS):
                await blobs.empty(found)
                async with work.db.write() as tx:
                    await service.left_trash(tx, found.key)
    except StorageAway as away:
        return Retry(_LONGEST_WAIT, str(away))
    return Done()


async def _unknown(blobs: Blobs, work: Work) -> tuple[list[Listed], datetime]:
    """Blobs of this deployment that no document has, and since when the newest lies there that one has."""
    unknown: list[Listed] = []
    newest = _EVER
    batch: list[Listed] = []

    async def look() -> None:
        nonlocal newest
        async with work.db.read() as tx:
            known = await service.known(tx, [listed.key for listed in batch])
        unknown.extend(listed for listed in batch if listed.key not in known)
        newest = max([newest, *(listed.since for listed in batch if listed.key in known)])
        batch.clear()

    async for listed in blobs.all():
        if blobs.own(listed.key):
            batch.append(listed)
        if len(batch) == _BATCH:
            await look()
    await look()
    return unknown, newest


async def _to_trash(blobs: Blobs, work: Work, key: str, day: date) -> None:
    async with work.db.write() as tx:
        await service.note_trash(tx, key, day)
    await blobs.trash(key, day)
    _log.error("document_trashed", key=key, days=TRASH_DAYS, advice="docs/runbooks/documents.md, What no row knows")


async def _verify(blobs: Blobs, work: Work, _job: Job) -> Result:
    """Read a sample whole; the self-check tells of what is lost."""
    async with work.db.read() as tx:
        sample = await service.to_verify(tx, SAMPLE)
    try:
        found = {document.id: await _is_there(blobs, document) for document in sample}
    except StorageAway as away:
        return Retry(_LONGEST_WAIT, str(away))
    async with work.db.write() as tx:
        await service.verified(tx, found)
    return Done()


async def _is_there(blobs: Blobs, document: Document) -> bool:
    read = sha256()
    try:
        async for part in blobs.read(document.storage_key):
            read.update(part)
    except (BlobMissing, SealBroken):
        return False
    return read.digest() == document.sha256


async def _next_night(name: str, tx: Tx) -> datetime | None:
    last = await last_run_at(tx, name)
    return _EVER if last is None else last + DAY


async def _enqueue(name: str, tx: Tx) -> int:
    """Have a worker do it. The sweep itself deals with no record."""
    await queue.enqueue(tx, name, {}, unique=name)
    return 0


schedules: Final = tuple(
    Schedule(name, partial(_next_night, name), partial(_enqueue, name), every=timedelta(days=1))
    for name in (SWEEP, VERIFY)
)
