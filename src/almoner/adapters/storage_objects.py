"""Blobs in a folder or an object store, using obstore: the local disk, S3 and compatible stores.

obstore retries for three minutes, and a response may take a minute per byte. Here every call, part and chunk has a time
limit, and few callers may wait at once: a store that hangs costs the callers that need it seconds, and no others.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from almoner.platform.files.storage import BlobMissing, ListedBlob, StorageUnavailable, TrashedBlob
from almoner.platform.jobs.sidecar import run_in_detached_thread

_PART: Final = 5 * 1024 * 1024  # the smallest part of a multipart upload to S3
_PIECE: Final = 64 * 1024
_PATIENCE_SECONDS: Final = 15.0
_MOST_WAITING: Final = 64
_MARKS_PREFIX: Final = "marks"
_TRASH: Final = "trash"
_BLOB: Final = re.compile(r"(?:.*/)?([0-9a-z]{2})/(\1[0-9a-z]+)")
_Piece = TypeVar("_Piece")
_TRASHED: Final = re.compile(rf"(?:.*/)?{_TRASH}/(\d{{4}}-\d\d-\d\d)/([0-9a-z]+)")


class ObjectStorage:
    """A storage over obstore. Blobs are grouped by the first two characters of their keys."""

    def __init__(
        self,
        store: ObjectStore,
        folder: Path | None = None,
        *,
        patience: float = _PATIENCE_SECONDS,
        most_waiting: int = _MOST_WAITING,
    ) -> None:
        """``folder``: of a store on the local disk. ``patience``: the time limit of each response in seconds."""
        self._store = store
        self._folder = folder
        self._patience = patience
        self._most_waiting = most_waiting
        self._waiting = 0

    async def put(self, key: str, content: AsyncIterator[bytes]) -> None:
        """Store a new blob completely or not at all."""
        async with self._call() as limit:
            parts = self._within_limit(content, limit)
            await obstore.put_async(self._store, _path(key), parts, chunk_size=_PART, max_concurrency=1)
            if self._folder is not None:
                file = self._folder / _path(key)
                await run_in_detached_thread(lambda: _flush_to_disk(file))

    async def get(self, key: str) -> AsyncIterator[bytes]:
        """The bytes of a blob, in chunks."""
        async with self._call(key):
            found = await obstore.get_async(self._store, _path(key))
        async for piece in self._iterate_within_limit(found.stream(min_chunk_size=_PIECE), key):
            yield bytes(piece)

    async def remove(self, key: str) -> None:
        """Delete a blob; does nothing if it does not exist."""
        try:
            async with self._call(key):
                await obstore.delete_async(self._store, _path(key))
        except BlobMissing:
            return

    async def list_blobs(self) -> AsyncIterator[ListedBlob]:
        """List every blob, in no order."""
        async for batch in self._iterate_within_limit(obstore.list(self._store)):
            for found in batch:
                if blob := _BLOB.fullmatch(found["path"]):
                    yield ListedBlob(blob[2], found["last_modified"])

    async def move_to_trash(self, key: str, day: date) -> None:
        """Move a blob to the trash; does nothing if it does not exist."""
        with suppress(BlobMissing):
            await self._move(key, _path(key), _trash_path(TrashedBlob(key, day)))

    async def list_trashed(self) -> AsyncIterator[TrashedBlob]:
        """List the blobs in the trash, in no order."""
        async for batch in self._iterate_within_limit(obstore.list(self._store, prefix=_TRASH)):
            for found in batch:
                if blob := _TRASHED.fullmatch(found["path"]):
                    yield TrashedBlob(blob[2], date.fromisoformat(blob[1]))

    async def restore(self, trashed_blob: TrashedBlob) -> None:
        """Move a blob out of the trash. Raises BlobMissing."""
        await self._move(trashed_blob.key, _trash_path(trashed_blob), _path(trashed_blob.key))

    async def purge_trashed(self, trashed_blob: TrashedBlob) -> None:
        """Delete a blob from the trash; does nothing if it does not exist."""
        with suppress(BlobMissing):
            async with self._call(trashed_blob.key):
                await obstore.delete_async(self._store, _trash_path(trashed_blob))

    async def read_deployment_record(self, name: str) -> bytes | None:
        """Read a deployment record; None if there is none."""
        try:
            async with self._call(name):
                found = await obstore.get_async(self._store, f"{_MARKS_PREFIX}/{name}")
                return bytes(await found.bytes_async())
        except BlobMissing:
            return None

    async def write_deployment_record(self, name: str, content: bytes) -> None:
        """Write a deployment record, replacing the old one."""
        async with self._call():
            await obstore.put_async(self._store, f"{_MARKS_PREFIX}/{name}", content)

    async def list_deployment_records(self) -> list[str]:
        """List the names of all deployment records."""
        batches = [batch async for batch in self._iterate_within_limit(obstore.list(self._store, prefix=_MARKS_PREFIX))]
        return [found["path"].rpartition("/")[2] for batch in batches for found in batch]

    async def check(self) -> None:
        """Write, read and remove a probe file. Raises StorageUnavailable, or the store's own error."""
        path = f"check/{uuid4()}"
        async with self._call():
            await obstore.put_async(self._store, path, b"almoner check")
            found = await obstore.get_async(self._store, path)
            content = bytes(await found.bytes_async())
            await obstore.delete_async(self._store, path)
        if content != b"almoner check":
            raise StorageUnavailable

    async def _move(self, key: str, source: str, target: str) -> None:
        """Copy the blob before deleting it, so that it is never lost."""
        async with self._call(key):
            await obstore.copy_async(self._store, source, target)
            await obstore.delete_async(self._store, source)

    @asynccontextmanager
    async def _call(self, key: str = "") -> AsyncIterator[asyncio.Timeout]:
        """Limit the time and number of calls to the store; yields the time limit.

        Raises BlobMissing, StorageUnavailable.
        """
        if self._waiting >= self._most_waiting:
            raise StorageUnavailable
        self._waiting += 1
        try:
            with _translate_errors(key):
                async with asyncio.timeout(self._patience) as limit:
                    yield limit
        finally:
            self._waiting -= 1

    async def _within_limit(self, content: AsyncIterator[bytes], limit: asyncio.Timeout) -> AsyncIterator[bytes]:
        """The chunks to store; each has the time limit for itself."""
        async for piece in content:
            limit.reschedule(asyncio.get_running_loop().time() + self._patience)
            yield piece

    async def _iterate_within_limit(self, stream: AsyncIterator[_Piece], key: str = "") -> AsyncIterator[_Piece]:
        """The chunks that the store sends; the time in which the caller processes them does not count."""
        while True:
            async with self._call(key):
                try:
                    piece = await anext(stream)
                except StopAsyncIteration:
                    return
            yield piece


def open_storage(url: str | None, folder: Path, endpoint: str | None = None) -> ObjectStorage:
    """Open the storage that a setting names: ``s3://bucket/prefix`` and the like; else the folder.

    ``endpoint``: the object store's address, if it is not the provider's own; http only if stated so.

    Credentials come from the object store's own variables, such as AWS_ACCESS_KEY_ID, or from a role of the machine.
    Raises ValueError for an invalid address.
    """
    parts = urlsplit(url or "")
    if parts.scheme in {"", "file"}:
        place = (Path(parts.path) if url else folder).absolute()
        return ObjectStorage(LocalStore(place, automatic_cleanup=False, mkdir=True), place)
    assert url is not None
    try:
        if not endpoint:
            return ObjectStorage(from_url(url))
        plain = endpoint.startswith("http://")
        return ObjectStorage(from_url(url, endpoint=endpoint, client_options={"allow_http": plain}))
    except BaseError as error:
        raise ValueError(str(error)) from error


def _flush_to_disk(file: Path) -> None:
    """Sync to disk: a blob must survive a power failure like the row that refers to it."""
    for path in (file, file.parent, file.parent.parent):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _path(key: str) -> str:
    return f"{key[:2]}/{key}"


def _trash_path(trashed_blob: TrashedBlob) -> str:
    return f"{_TRASH}/{trashed_blob.trashed_on.isoformat()}/{trashed_blob.key}"


@contextmanager
def _translate_errors(key: str = "") -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        if not key:  # without a key the bucket itself is missing
            raise StorageUnavailable from error
        raise BlobMissing(key) from error
    except (BaseError, OSError) as error:
        raise StorageUnavailable from error
