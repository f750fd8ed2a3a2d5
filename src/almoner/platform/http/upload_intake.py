"""Check and store an upload before its transaction starts.

This must not run in the transaction of the effect: a check takes up to 20 seconds, and storing uses the network. So an
upload has two steps before it. A short transaction looks up the Idempotency-Key and leases it, so that an identical
request is told at once that the first is running (settled 8); then the file is checked and stored, without a
transaction. If the handler then refuses the request, the stored file is deleted; files left by a crash are deleted a
day later.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import BinaryIO, Final
from uuid import UUID

from almoner.kit.errors import OriginalCallInProgress, Problem
from almoner.platform import idempotency
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Tx
from almoner.platform.files import images
from almoner.platform.files.storage import BlobStore, StorageUnavailable
from almoner.platform.files.uploads.checking import UploadChecker
from almoner.platform.files.uploads.files import CheckedFile, StoredFile
from almoner.platform.http.uploads import UploadDeclaration, UploadedFile
from almoner.platform.idempotency import IdempotencyClaim
from almoner.platform.jobs import leases
from almoner.platform.jobs.background_tasks import TaskRegistry

_LEASED: Final = "uploads"
_BATCH: Final = 1000
_EVERY: Final = timedelta(hours=1)


class UploadIntake:
    """Checks and stores uploads. ``scans``: stored files wait for the malware scanner."""

    def __init__(self, db: Database, checker: UploadChecker, blobs: BlobStore, *, scans: bool) -> None:
        self._db = db
        self._checker = checker
        self._blobs = blobs
        self._scans = scans

    @asynccontextmanager
    async def receive_file(
        self, claim: IdempotencyClaim | None, uploaded_file: UploadedFile, upload_declaration: UploadDeclaration
    ) -> AsyncIterator[CheckedFile | StoredFile]:
        """Check an uploaded file, and store it if the route declares that; deleted if the block fails."""
        async with self._leased(claim):
            checked = await self._checker.check(
                uploaded_file.content,
                upload_declaration.media_types,
                field_name=upload_declaration.form_field_name,
                longest_side=upload_declaration.longest_side,
                pad_to_square=upload_declaration.pad_to_square,
                form_fields=uploaded_file.form_fields,
            )
            try:
                if not upload_declaration.stores_file:
                    yield checked
                    return
                key = await self._blobs.put(checked.content)
            finally:
                if checked.content is not uploaded_file.content:
                    checked.content.close()
            try:
                yield StoredFile(
                    checked.media_type,
                    checked.size,
                    checked.sha256,
                    key,
                    not self._scans,
                    checked.flags,
                    checked.form_fields,
                    uploaded_file.filename,
                )
            except Problem:  # nothing was committed; after any other error something may have been
                with suppress(StorageUnavailable):
                    await self._blobs.remove(key)
                raise

    async def render_page(
        self, content: BinaryIO, longest_side: int, *, pdf_page: int = 1, quarter_turns: int = 0
    ) -> CheckedFile:
        """Render a page of a stored PDF or an image. Raises FiletypeNotSupported."""
        return await self._checker.check(
            content, None, longest_side=longest_side, pdf_page=pdf_page, quarter_turns=quarter_turns
        )

    async def reencode_image(self, content: BinaryIO, longest_side: int) -> CheckedFile:
        """Re-encode an image in the confined process. Raises FiletypeNotSupported."""
        return await self._checker.check(content, images.MEDIA_TYPES, longest_side=longest_side)

    @asynccontextmanager
    async def _leased(self, claim: IdempotencyClaim | None) -> AsyncIterator[None]:
        """Lease the Idempotency-Key against identical requests. After a crash, the lease expires after a minute."""
        if claim is None or claim.key_hash is None:
            yield
            return
        row = UUID(bytes=claim.key_hash[:16])
        async with self._db.write() as tx:
            await idempotency.acquire_claim(tx, claim)
            holder = tx.new_id()
            if not await leases.acquire_lease(tx, _LEASED, row, holder):
                raise OriginalCallInProgress
        try:
            yield
        finally:
            async with self._db.write() as tx:
                await leases.release_lease(tx, _LEASED, row, holder)


async def _next_expired_lease(tx: Tx) -> datetime | None:
    return tx.now - _EVERY if await leases.has_expired_leases(tx, ALL_PARTNERS, _LEASED) else None


async def _delete_expired_leases(tx: Tx) -> int:
    return len(await leases.take_over_expired_leases(tx, ALL_PARTNERS, _LEASED, _BATCH))


tasks: Final = TaskRegistry()
tasks.add_periodic_job("uploads.delete_expired", _next_expired_lease, _delete_expired_leases, period=_EVERY)
