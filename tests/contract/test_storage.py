"""What every storage does for sealed blobs, and every scanner for content (U4, U5).

The store in memory stands for object stores: what differs between them is obstore's own affair.
"""

import os
import tempfile
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from almoner.adapters.scanner_clamd import ClamdScanner
from almoner.adapters.storage_objects import ObjectStorage, open_storage
from almoner.platform.crypto import DecryptionFailed, Vault
from almoner.platform.files.storage import SEGMENT, BlobMissing, BlobStore, StorageBackend, StorageUnavailable
from almoner.validation.applications.documents.ports import (
    DisabledMalwareScanner,
    MalwareScanner,
    MalwareScannerUnavailable,
)
from tests.support import clamd

Make = Callable[[Path], StorageBackend]
STORAGES: dict[str, Make] = {
    "folder": lambda folder: open_storage(None, folder),
    "folder by address": lambda folder: open_storage(str(folder / "here"), folder),
    "file address": lambda folder: open_storage(f"file://{folder}", Path("/nonexistent")),
    "object store": lambda _: ObjectStorage(MemoryStore()),
}


@pytest.fixture(params=list(STORAGES))
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> StorageBackend:
    made: StorageBackend = STORAGES[request.param](tmp_path)
    return made


@pytest.fixture
def blobs(storage: StorageBackend) -> BlobStore:
    return BlobStore(storage, Vault(bytes(32)))


async def whole(parts: AsyncIterator[bytes]) -> bytes:
    return b"".join([part async for part in parts])


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize("size", [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 5_242_880, 3 * SEGMENT])
async def test_what_is_put_is_read(blobs: BlobStore, size: int) -> None:
    content = os.urandom(size)
    key = await blobs.put(BytesIO(content))
    assert await whole(blobs.read(key)) == content
    assert key != await blobs.put(BytesIO(content))


async def test_what_lies_there_is_sealed(storage: StorageBackend, blobs: BlobStore) -> None:
    key = await blobs.put(BytesIO(b"the secret of the file" * 1000))
    assert b"secret" not in await whole(storage.get(key))


async def test_nothing_is_altered_moved_or_cut_off_unseen(storage: StorageBackend, blobs: BlobStore) -> None:
    key = await blobs.put(BytesIO(os.urandom(SEGMENT * 2 + 10)))
    sealed = await whole(storage.get(key))
    one = 8 + (int.from_bytes(sealed[4:8]) >> 1)  # the head and the first segment
    swapped = sealed[:4] + sealed[one : one + one - 4] + sealed[4:one] + sealed[one + one - 4 :]
    for changed in (
        sealed[:-1],
        sealed + b"x",
        sealed[:one],
        sealed[:4],
        b"",
        sealed[:100] + bytes([sealed[100] ^ 1]) + sealed[101:],
        swapped,
        sealed[:4] + sealed[one:],
        b"ALB2" + sealed[4:],
        sealed[:4] + b"\xff\xff\xff\xff" + sealed[8:],
    ):
        await storage.remove(key)
        await storage.put(key, pieces(changed))
        with pytest.raises(DecryptionFailed):
            await whole(blobs.read(key))
    await storage.put("0" * 26, pieces(sealed))
    with pytest.raises(DecryptionFailed):
        await whole(blobs.read("0" * 26))
    await storage.remove(key)
    await storage.put(key, pieces(sealed))
    with pytest.raises(DecryptionFailed):
        await whole(BlobStore(storage, Vault(bytes(31) + b"x")).read(key))


async def test_what_is_removed_is_gone_and_may_be_removed_again(blobs: BlobStore) -> None:
    key = await blobs.put(BytesIO(b"x"))
    for _ in range(2):
        await blobs.remove(key)
    with pytest.raises(BlobMissing):
        await whole(blobs.read(key))


async def test_all_are_listed_with_their_age(blobs: BlobStore) -> None:
    assert [listed async for listed in blobs.list_blobs()] == []
    keys = {await blobs.put(BytesIO(b"x")) for _ in range(60)}
    found = {listed.key: listed.stored_at async for listed in blobs.list_blobs()}
    assert found.keys() == keys
    assert all(abs(datetime.now(UTC) - since) < timedelta(minutes=1) for since in found.values())


async def test_a_failed_put_leaves_nothing(storage: StorageBackend) -> None:
    async def breaks_off() -> AsyncIterator[bytes]:
        yield b"x" * 1000
        raise OSError("the disk of the upload is gone")

    with pytest.raises(StorageUnavailable):
        await storage.put("0" * 26, breaks_off())
    assert [listed async for listed in storage.list_blobs()] == []


async def test_a_folder_that_cannot_be_reached_is_away() -> None:
    with tempfile.TemporaryDirectory() as folder:
        storage = BlobStore(open_storage(None, Path(folder) / "in"), Vault(bytes(32)))
        (Path(folder) / "in").rmdir()
        (Path(folder) / "in").touch()
        with pytest.raises(StorageUnavailable):
            await storage.put(BytesIO(b"x"))


def test_an_address_that_is_none() -> None:
    with pytest.raises(ValueError, match="nothing"):
        open_storage("nothing://x", Path())


@pytest.fixture
async def daemon() -> AsyncIterator[clamd.Daemon]:
    async with clamd.running() as daemon:
        yield daemon


async def test_u5_a_scanner_tells_the_virus_of_the_tests_from_others(daemon: clamd.Daemon, tmp_path: Path) -> None:
    async with clamd.running(str(tmp_path / "clamd")) as local:
        for scanner, seen in ((ClamdScanner(daemon.url), daemon), (ClamdScanner(f"clamd://{tmp_path}/clamd"), local)):
            assert await scanner.find_malware_name(pieces(b"x" * 100_000, b"y")) is None
            assert (
                await scanner.find_malware_name(pieces(b"x" + clamd.EICAR[:10], clamd.EICAR[10:]))
                == "Eicar-Test-Signature"
            )
            assert await scanner.find_malware_name(pieces()) is None
            assert [len(content) for content in seen.seen] == [100_001, len(clamd.EICAR) + 1, 0]


@pytest.mark.parametrize(
    "answer", [b"INSTREAM size limit exceeded. ERROR", b"", b"stream: ", b"x" * 10_000, b"UNKNOWN COMMAND"]
)
async def test_u5_a_scanner_that_does_not_say_clean_has_not_scanned(daemon: clamd.Daemon, answer: bytes) -> None:
    daemon.answer = answer
    with pytest.raises(MalwareScannerUnavailable):
        await ClamdScanner(daemon.url).find_malware_name(pieces(b"x"))


async def test_u5_a_scanner_that_is_away_is_down(tmp_path: Path) -> None:
    async with clamd.running() as gone:
        pass
    scanners: tuple[MalwareScanner, ...] = (ClamdScanner(gone.url), ClamdScanner(f"clamd://{tmp_path}/nobody"))
    for scanner in scanners:
        with pytest.raises(MalwareScannerUnavailable):
            await scanner.find_malware_name(pieces(b"x"))
    assert await DisabledMalwareScanner().find_malware_name(pieces(b"x")) is None
