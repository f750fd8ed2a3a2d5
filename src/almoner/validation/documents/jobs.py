"""Background work of documents: scans, removals, what no row knows, and whether what is stored is still there.

None of it reads or writes the storage while a transaction is open.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Final
from uuid import UUID

from almoner.platform import queue
from almoner.platform.crypto import SealBroken
from almoner.platform.db import Tx
from almoner.platform.queue import Done, Drop, Job, Result, Retry
from almoner.platform.schedules import ran_at
from almoner.platform.storage import BlobMissing, Blobs, StorageAway
from almoner.platform.work import Handler, Schedule, Work
from almoner.validation.documents import service
from almoner.validation.documents.domain import DAY, Document
from almoner.validation.documents.ports import Scanner, ScannerDown

SWEEP: Final = "documents.sweep"
VERIFY: Final = "documents.verify"
SAMPLE: Final = 200
"""How many documents a night's look reads: those that were read longest ago."""

_BATCH: Final = 500
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_WAIT: Final = timedelta(seconds=15)
_LONGEST_WAIT: Final = timedelta(minutes=15)
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
    """Remove blobs that no row came for within a day of real time. Documents are all that the storage holds."""
    before = work.db.deployment.clock.wall() - DAY
    keys: list[str] = []
    try:
        async for listed in blobs.all():
            if listed.since < before:
                keys.append(listed.key)
            if len(keys) == _BATCH:
                await _remove_unknown(blobs, work, keys)
                keys = []
        await _remove_unknown(blobs, work, keys)
    except StorageAway as away:
        return Retry(_LONGEST_WAIT, str(away))
    return Done()


async def _remove_unknown(blobs: Blobs, work: Work, keys: list[str]) -> None:
    async with work.db.read() as tx:
        known = await service.known(tx, keys)
    for key in keys:
        if key not in known:
            await blobs.remove(key)


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
    last = await ran_at(tx, name)
    return _EVER if last is None else last + DAY


async def _enqueue(name: str, tx: Tx) -> int:
    """Have a worker do it. The sweep itself deals with no record."""
    await queue.enqueue(tx, name, {}, unique=name)
    return 0


schedules: Final = tuple(
    Schedule(name, partial(_next_night, name), partial(_enqueue, name), every=timedelta(days=1))
    for name in (SWEEP, VERIFY)
)
