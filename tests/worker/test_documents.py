"""Background work of documents: scans, what is removed, what is swept, what is found lost (U4, U5)."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from almoner.adapters.storage_objects import open_storage
from almoner.platform import selfcheck
from almoner.platform.db import EVERYONE, Partner
from almoner.platform.queue import Job, Retry
from almoner.platform.storage import Blobs
from almoner.platform.uploads.files import Stored
from almoner.platform.work import Work
from almoner.selfchecks import CHECKS
from almoner.settings import UnsafeSettings, read
from almoner.validation.documents import jobs
from almoner.validation.documents import service as documents
from tests.support import clamd, hostile_pdfs
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.hostile_files import HONEST, JPEG, PDF
from tests.support.service import Service, serving, settings_for
from tests.support.validation import requested

INFECTED = hostile_pdfs.pdf(hostile_pdfs.stream(clamd.EICAR))


class Ground:
    """A service of its own with one partner and one validation request."""

    def __init__(self, service: Service, api: Client, anonymous: Client, record: dict[str, Any]) -> None:
        self.service, self.api, self.anonymous, self.record = service, api, anonymous, record

    async def hand_in(self, content: bytes = HONEST[PDF], kind: str = PDF) -> UUID:
        """A new document."""
        answer = await self.api.upload(
            f"/v1/validation-requests/{self.record['id']}/document", "file", "x", content, kind
        )
        name = data(answer)["documents"][-1]["id"]
        found = self.service.db.deployment.ids.parse(documents.TYPE, name)
        assert found is not None
        return found

    async def download(self, document_id: UUID) -> int:
        """Status of its download."""
        async with self.service.db.read() as tx:
            url = documents.url(tx, (await documents.of(tx, EVERYONE, [document_id]))[0])
        return (await self.anonymous.get(url)).status_code

    async def row(self, document_id: UUID) -> Any:
        """Its row."""
        async with self.service.db.read() as tx:
            return await tx.fetchrow("select * from document where id = $1", document_id)

    async def later(self, *, days: float = 0, hours: float = 0, minutes: float = 0) -> None:
        """Let business time pass, and do what is due."""
        self.service.clock.advance(timedelta(days, hours=hours, minutes=minutes))
        await self.service.drain()

    def files(self) -> set[Path]:
        """What lies in the storage."""
        assert self.service.house.settings.documents_url is not None
        return {file for file in Path(self.service.house.settings.documents_url).rglob("*") if file.is_file()}

    async def findings(self) -> set[str]:
        """What the self-check tells of documents."""
        outcome = await selfcheck.run(self.service.db, CHECKS)
        return {finding.check.name for finding in outcome.findings if finding.check.name.startswith("documents.")}


@asynccontextmanager
async def ground(database: TestDatabase, *, scanner_url: str | None = None) -> AsyncIterator[Ground]:
    """The ground, with this scanner."""
    async with serving(database, scanner_url=scanner_url) as service:
        api, anonymous = service.client((await service.tenant()).secret), service.client(None)
        yield Ground(service, api, anonymous, await requested(api))
        await api.close()
        await anonymous.close()


async def test_u5_nobody_downloads_before_the_scanner_finds_it_clean(empty_database: TestDatabase) -> None:
    async with clamd.running() as scanner, ground(empty_database, scanner_url=scanner.url) as here:
        clean, infected = await here.hand_in(), await here.hand_in(INFECTED)
        assert (await here.download(clean), await here.download(infected)) == (409, 409)
        await here.service.drain()
        assert sorted(scanner.seen) == sorted([HONEST[PDF], INFECTED])
        assert (await here.download(clean), await here.download(infected)) == (200, 404)
        row = await here.row(infected)
        assert (row["status"], row["threat"]) == ("rejected", "Eicar-Test-Signature")
        assert row["removed_at"] is not None
        assert [file.name for file in here.files()] == [(await here.row(clean))["storage_key"]]


async def test_u5_a_scanner_that_is_down_keeps_documents_waiting(empty_database: TestDatabase) -> None:
    async with clamd.running() as scanner:
        url = scanner.url
    async with ground(empty_database, scanner_url=url) as here:
        document = await here.hand_in(HONEST[JPEG], JPEG)
        await here.later(minutes=30)
        assert await here.download(document) == 409
        await here.later(days=1)
        assert await here.findings() == {"documents.scanned"}


async def test_u5_in_production_documents_wait_for_a_scanner_unless_told(empty_database: TestDatabase) -> None:
    for environment, setting, unscanned in (
        ("sandbox", None, True),
        ("sandbox", "none", True),
        ("sandbox", "clamd:///run/clamd", False),
        ("production", None, False),
        ("production", "none", True),
        ("production", "clamd://scanner:3310", False),
    ):
        told = {"environment": environment, "scanner_url": setting}
        assert settings_for(empty_database).model_copy(update=told).unscanned is unscanned
    async with ground(empty_database) as here:
        document = await here.hand_in()
        async with here.service.db.read() as tx:
            key = (await documents.get(tx, EVERYONE, document)).storage_key
        blobs = Blobs(open_storage(here.service.house.settings.documents_url, Path()), here.service.db.deployment.vault)
        scan = jobs.handlers(blobs, None)[documents.SCAN]
        async with here.service.db.write() as tx:
            waiting = await documents.store(tx, Partner((await here.row(document))["partner_id"]), unscanned_of(key))
        job = Job(1, documents.SCAN, {"document": str(waiting.id)}, 1, 0, here.service.clock.now(), None)
        assert isinstance(await scan(Work(here.service.db), job), Retry)
        assert await here.download(waiting.id) == 409


def unscanned_of(key: str) -> Stored:
    """Something stored that waits for its scan."""
    return Stored(
        "application/pdf", 1, bytes(32), key[:-1] + ("0" if key[-1] != "0" else "1"), scanned=False, flags=(), fields={}
    )


async def test_u5_without_a_scanner_the_sandbox_finds_documents_clean_at_once(empty_database: TestDatabase) -> None:
    async with ground(empty_database) as here:
        assert await here.download(await here.hand_in()) == 200


async def test_a_deleted_document_keeps_its_row_and_loses_its_bytes(empty_database: TestDatabase) -> None:
    async with ground(empty_database) as here:
        document = await here.hand_in()
        async with here.service.db.write() as tx:
            await documents.delete(tx, EVERYONE, document)
        assert await here.download(document) == 404
        await here.service.drain()
        assert here.files() == set()
        row = await here.row(document)
        assert None not in (row["deleted_at"], row["removed_at"])


async def test_u4_what_no_row_knows_is_swept_after_a_day(empty_database: TestDatabase) -> None:
    async with ground(empty_database) as here:
        await here.service.drain()
        await here.hand_in()
        kept = here.files()
        (file,) = kept
        orphans = [file.with_name(f"{file.name[:-2]}0{end}") for end in "ab"]
        for orphan in orphans:
            orphan.write_bytes(b"x")
        old = here.service.clock.wall() - timedelta(hours=25)
        for aged in (file, orphans[0]):
            os.utime(aged, (old.timestamp(), old.timestamp()))
        await here.later(days=2)
        assert here.files() == {file, orphans[1]}


async def test_u4_a_lost_or_altered_document_is_told(empty_database: TestDatabase) -> None:
    async with ground(empty_database) as here:
        await here.service.drain()
        lost, altered, kept = [await here.hand_in() for _ in range(3)]
        await here.later(days=2)
        assert await here.findings() == set()
        files = {file.name: file for file in here.files()}
        files[(await here.row(lost))["storage_key"]].unlink()
        file = files[(await here.row(altered))["storage_key"]]
        whole = file.read_bytes()
        file.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
        await here.later(days=2)
        assert await here.findings() == {"documents.kept"}
        assert [(await here.row(one))["lost_at"] is None for one in (lost, altered, kept)] == [False, False, True]
        file.write_bytes(whole)
        await here.later(days=2)
        assert (await here.row(altered))["lost_at"] is None


async def test_s3_a_lease_that_a_crash_left_is_forgotten(empty_database: TestDatabase) -> None:
    async with ground(empty_database) as here:
        async with here.service.db.write() as tx:
            await tx.execute(
                "insert into flow_call (flow, row_id, holder, leased_until) values ('uploads', $1, $1, $2)",
                tx.new_id(),
                tx.wall - timedelta(minutes=1),
            )
        await here.later(hours=2)
        async with here.service.db.read() as tx:
            assert await tx.fetch("select from flow_call where flow = 'uploads'") == []


@pytest.mark.parametrize("setting", ["ftp://x/y", "s4://bucket"])
def test_addresses_that_are_none(setting: str) -> None:
    with pytest.raises(UnsafeSettings, match="ALMONER_DOCUMENTS_URL"):
        read(documents_url=setting)
    with pytest.raises(UnsafeSettings, match="ALMONER_SCANNER_URL"):
        read(scanner_url=setting)
