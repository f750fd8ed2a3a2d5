"""Encrypted documents (blobs) stored outside the database under random keys (U4).

A blob is split into segments, each encrypted with the deployment's vault and bound to its key and position, the last
one marked: none can be altered, swapped or truncated undetected, and only one is in memory at a time. Storing and
reading may use the network: never while a transaction is open (architecture 5).
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import date, datetime
from typing import BinaryIO, Final, Protocol
from uuid import UUID

from almoner.kit.errors import ServiceUnavailable
from almoner.kit.ids import encode_uuid
from almoner.platform.crypto import DecryptionFailed, Vault
from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.database.transactions import is_inside_transaction

SEGMENT: Final = 256 * 1024

_CONTEXT: Final = "blob"
_MAGIC: Final = b"ALB1"
_LENGTH: Final = 4
_MOST_SEALED: Final = SEGMENT + 64


class BlobMissing(Exception):
    """There is no blob with this key."""


class StorageUnavailable(ServiceUnavailable):
    """The document storage cannot be reached."""

    message = "The document storage is not available at the moment; try again later"


@dataclass(frozen=True, slots=True)
class ListedBlob:
    """A blob in the storage, and when it was stored by the storage's clock."""

    key: str
    stored_at: datetime


@dataclass(frozen=True, slots=True)
class TrashedBlob:
    """A blob in the trash, and the day (UTC, real time) it was put there."""

    key: str
    trashed_on: date


class DeploymentRecordStore(Protocol):
    """Small named records in the storage by which deployments recognise each other."""

    async def read_deployment_record(self, name: str) -> bytes | None:
        """The content of a record; None if it does not exist."""
        ...

    async def write_deployment_record(self, name: str, content: bytes) -> None:
        """Create or replace a record."""
        ...

    async def list_deployment_records(self) -> list[str]:
        """The names of all records."""
        ...


class StorageBackend(DeploymentRecordStore, Protocol):
    """Where blobs are stored (a folder or S3). All methods raise StorageUnavailable."""

    async def put(self, key: str, content: AsyncIterator[bytes]) -> None:
        """Store a new blob completely or not at all."""
        ...

    def get(self, key: str) -> AsyncIterator[bytes]:
        """The blob's bytes in chunks. Raises BlobMissing."""
        ...

    async def remove(self, key: str) -> None:
        """Delete a blob; nothing happens if it does not exist."""
        ...

    def list_blobs(self) -> AsyncIterator[ListedBlob]:
        """All blobs except those in the trash, in any order."""
        ...

    async def move_to_trash(self, key: str, day: date) -> None:
        """Move a blob to the trash; nothing happens if it does not exist."""
        ...

    def list_trashed(self) -> AsyncIterator[TrashedBlob]:
        """All blobs in the trash, in any order."""
        ...

    async def restore(self, trashed_blob: TrashedBlob) -> None:
        """Restore a blob from the trash. Raises BlobMissing."""
        ...

    async def purge_trashed(self, trashed_blob: TrashedBlob) -> None:
        """Permanently delete a blob from the trash."""
        ...


class BlobStore:
    """Encrypted blobs of one deployment in a storage.

    ``confirm`` checks with the storage that the database is no copy before anything is deleted. Raises
    StorageUnavailable. ``list_known``: keys of some files of records older than an ID, to notice a folder that is not
    mounted.
    """

    def __init__(
        self,
        storage: StorageBackend,
        vault: Vault,
        identity: DeploymentIdentity | None = None,
        confirm: Callable[[], Awaitable[None]] | None = None,
        list_known: Callable[[UUID], Awaitable[Sequence[str]]] | None = None,
    ) -> None:
        self._storage = storage
        self._vault = vault
        self._identity = identity or DeploymentIdentity()
        self._confirm = confirm
        self._list_known = list_known

    async def put(self, content: BinaryIO) -> str:
        """Encrypt and store the rest of a file; returns its key. Raises UnreleasedDatabaseCopy."""
        _ensure_outside_transaction()
        self._identity.ensure_active()
        key = encode_uuid(UUID(bytes=os.urandom(16))) + self._identity.blob_key_suffix
        await self._storage.put(key, self._sealed(key, content))
        return key

    async def read(self, key: str) -> AsyncGenerator[bytes, None]:
        """The decrypted bytes in segments. Raises BlobMissing, DecryptionFailed, StorageUnavailable."""
        _ensure_outside_transaction()
        waiting, place, last = bytearray(), 0, False
        async for piece in self._storage.get(key):
            waiting += piece
            if place == 0 and len(waiting) >= len(_MAGIC):
                if not waiting.startswith(_MAGIC):
                    raise DecryptionFailed("unknown format of a sealed blob")
                place = 1
                del waiting[: len(_MAGIC)]
            while place and len(waiting) >= _LENGTH:
                marked = int.from_bytes(waiting[:_LENGTH])
                length, ends = marked >> 1, bool(marked & 1)
                if length > _MOST_SEALED or last:
                    raise DecryptionFailed("a sealed blob is longer than it says")
                if len(waiting) < _LENGTH + length:
                    break
                sealed = bytes(waiting[_LENGTH : _LENGTH + length])
                del waiting[: _LENGTH + length]
                plain = self._vault.decrypt(
                    sealed, context=_CONTEXT, associated_data=_segment_binding(key, place, ends)
                )
                place, last = place + 1, ends
                if plain:
                    yield plain
        if waiting or not last:
            raise DecryptionFailed("a sealed blob is cut off, or something follows it")

    async def contains_any_blob(self, keys: Sequence[str]) -> bool:
        """Whether the storage holds one of these blobs. Raises StorageUnavailable."""
        for key in keys:
            async with aclosing(self.read(key)) as pieces:
                try:
                    await anext(pieces, None)
                except BlobMissing:
                    continue
                except DecryptionFailed:
                    return True  # damaged, but there
                return True
        return False

    async def ensure_mounted(self, record_id_of_missing_blob: UUID) -> None:
        """Check that the missing blob of a record is not one of many, as in a folder that is not mounted.

        Raises StorageUnavailable if the blobs of the records before this one are all missing, too.
        """
        known = [] if self._list_known is None else await self._list_known(record_id_of_missing_blob)
        if known and not await self.contains_any_blob(known):
            raise StorageUnavailable

    async def remove(self, key: str) -> None:
        """Delete one of this deployment's blobs; those of others stay.

        Raises UnreleasedDatabaseCopy.
        """
        if await self._may_remove(key):
            await self._storage.remove(key)

    async def list_blobs(self) -> AsyncIterator[ListedBlob]:
        """List all blobs in the storage; ``owns_blob`` distinguishes this deployment's from others."""
        _ensure_outside_transaction()
        async for listed in self._storage.list_blobs():
            yield listed

    def owns_blob(self, key: str) -> bool:
        """Whether this deployment stored the blob."""
        return self._identity.owns_blob(key)

    async def move_to_trash(self, key: str, day: date) -> None:
        """Move one of this deployment's blobs to the trash. Raises UnreleasedDatabaseCopy."""
        if await self._may_remove(key):
            await self._storage.move_to_trash(key, day)

    async def list_trashed(self) -> AsyncIterator[TrashedBlob]:
        """This deployment's blobs in the trash."""
        _ensure_outside_transaction()
        async for found in self._storage.list_trashed():
            if self.owns_blob(found.key):
                yield found

    async def restore(self, trashed_blob: TrashedBlob) -> None:
        """Restore a blob from the trash. Raises BlobMissing."""
        _ensure_outside_transaction()
        await self._storage.restore(trashed_blob)

    async def purge_trashed(self, trashed_blob: TrashedBlob) -> None:
        """Delete one of this deployment's blobs from the trash for good. Raises UnreleasedDatabaseCopy."""
        if await self._may_remove(trashed_blob.key):
            await self._storage.purge_trashed(trashed_blob)

    async def _may_remove(self, key: str) -> bool:
        _ensure_outside_transaction()
        if self._confirm is not None:
            await self._confirm()
        self._identity.ensure_active()
        return self.owns_blob(key)

    async def _sealed(self, key: str, content: BinaryIO) -> AsyncIterator[bytes]:
        head, place, plain = _MAGIC, 1, content.read(SEGMENT)
        ends = False
        while not ends:
            following = content.read(SEGMENT)
            ends = not following
            sealed = self._vault.encrypt(plain, context=_CONTEXT, associated_data=_segment_binding(key, place, ends))
            yield head + (len(sealed) << 1 | ends).to_bytes(_LENGTH) + sealed
            head, place, plain = b"", place + 1, following


def _segment_binding(key: str, place: int, ends: bool) -> bytes:
    return key.encode() + place.to_bytes(4) + bytes([ends])


def _ensure_outside_transaction() -> None:
    if is_inside_transaction():
        raise RuntimeError("the storage must not be used while a transaction is open: store before it, read after it")
