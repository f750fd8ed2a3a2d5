"""Background work of documents: scans, what is removed, what is swept, what is found lost (U4, U5)."""

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from almoner.adapters.storage_objects import open_storage
from almoner.platform.database.transactions import ALL_PARTNERS, Partner
from almoner.platform.files import import_uploads
from almoner.platform.files.storage import BlobStore
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Job, JobRetry
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from almoner.settings import InvalidSettings, read_settings
from almoner.validation.applications.documents import jobs as documents_jobs
from almoner.validation.applications.documents import service as documents
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
        found = self.service.db.deployment.ids.decode(documents.TYPE, name)
        assert found is not None
        return found

    async def download(self, document_id: UUID) -> int:
        """Status of its download."""
        async with self.service.db.read() as tx:
            url = documents.build_download_url(
                tx, (await documents.list_documents_with_ids(tx, ALL_PARTNERS, [document_id]))[0]
            )
        return (await self.anonymous.get(url)).status_code

    async def statuses(self) -> list[str]:
        """What partners are told of the documents."""
        record = data(await self.api.get(f"/v1/validation-requests/{self.record['id']}"))
        return [document["status"] for document in record["documents"]]

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
        assert self.service.services.settings.documents_url is not None
        return {file for file in Path(self.service.services.settings.documents_url).glob("??/*") if file.is_file()}

    def trash(self) -> list[Path]:
        """What lies in its trash."""
        assert self.service.services.settings.documents_url is not None
        return sorted(Path(self.service.services.settings.documents_url).glob("trash/*/*"))

    def age(self, *, days: float, files: Iterable[Path]) -> None:
        """Have them lie there for so long."""
        moment = (self.service.clock.real_now() - timedelta(days)).timestamp()
        for file in files:
            os.utime(file, (moment, moment))

    async def sweep(self) -> None:
        """Sweep now."""
        async with self.service.db.write() as tx:
            await documents_jobs.SWEEP.enqueue(tx, queue.NoDetails())
        await self.service.drain()

    async def findings(self) -> set[str]:
        """What the self-check tells of documents."""
        outcome = await selfcheck.run_selfcheck(self.service.db, CHECKS)
        return {finding.check.name for finding in outcome.findings if finding.check.name.startswith("documents.")}


def orphan(file: Path, head: str, mark: str | None = None) -> Path:
    """A blob that no row knows, beside one that has its row."""
    mark = file.name[26:] if mark is None else mark
    made = file.with_name(f"{file.name[:24]}u{head}{mark}")  # no key that is made has an u
    made.write_bytes(b"x")
    return made


@asynccontextmanager
async def ground(service: Service) -> AsyncIterator[Ground]:
    """The ground."""
    api, anonymous = service.client((await service.tenant()).secret), service.client(None)
    yield Ground(service, api, anonymous, await requested(api))
    await api.close()
    await anonymous.close()


@asynccontextmanager
async def scanned(database: TestDatabase, scanner_url: str) -> AsyncIterator[Ground]:
    """The ground, with this scanner."""
    async with serving(database, scanner_url=scanner_url) as service, ground(service) as made:
        yield made


async def test_u5_nobody_downloads_before_the_scanner_finds_it_clean(empty_database: TestDatabase) -> None:
    async with clamd.running() as scanner, scanned(empty_database, scanner.url) as here:
        clean, infected = await here.hand_in(), await here.hand_in(INFECTED)
        assert (await here.download(clean), await here.download(infected)) == (409, 409)
        assert await here.statuses() == ["pending", "pending"]
        await here.service.drain()
        assert sorted(scanner.seen) == sorted([HONEST[PDF], INFECTED])
        assert (await here.download(clean), await here.download(infected)) == (200, 404)
        assert await here.statuses() == ["clean", "infected"]
        row = await here.row(infected)
        assert (row["status"], row["threat"]) == ("rejected", "Eicar-Test-Signature")
        assert row["removed_at"] is not None
        assert [file.name for file in here.files()] == [(await here.row(clean))["storage_key"]]


async def test_u5_what_a_scanner_cannot_look_into_or_is_gone_is_unreadable(empty_database: TestDatabase) -> None:
    async with clamd.running() as scanner, scanned(empty_database, scanner.url) as here:
        scanner.answer = b"stream: Heuristics.Encrypted.PDF FOUND"
        encrypted = await here.hand_in()
        await here.service.drain()
        scanner.answer = None
        lost = await here.hand_in(HONEST[JPEG], JPEG)
        for file in here.files():
            file.unlink()
        await here.service.drain()
        assert await here.statuses() == ["unreadable", "unreadable"]
        assert (await here.download(encrypted), await here.download(lost)) == (404, 404)
        assert (await here.row(encrypted))["threat"] == "Heuristics.Encrypted.PDF"
        events = data(await here.api.get("/v1/events", type="validation_request_document.rejected"))
        reported = [one["eventData"] for one in events]
        assert [(one["validationRequestId"], one["status"]) for one in reported] == [
            (here.record["id"], "unreadable")
        ] * 2
        async with here.service.db.read() as tx:
            assert await tx.fetchval("select count(*) from job where dead_at is not null") == 0


async def test_u5_documents_wait_while_the_storage_as_a_whole_is_not_there(empty_database: TestDatabase) -> None:
    """As when the folder is not mounted: what is stored there is scanned once it is back."""
    async with clamd.running() as scanner, scanned(empty_database, scanner.url) as here:
        earlier = await here.hand_in()
        await here.service.drain()
        waiting = await here.hand_in(HONEST[JPEG], JPEG)
        mounted = {file: file.read_bytes() for file in here.files()}
        for file in mounted:
            file.unlink()
        await here.service.drain()
        assert await here.statuses() == ["clean", "pending"]
        for file, content in mounted.items():
            file.write_bytes(content)
        await here.later(minutes=1)
        assert await here.statuses() == ["clean", "clean"]
        lost = await here.hand_in(HONEST[JPEG], JPEG)
        for file in here.files() - mounted.keys():
            file.unlink()
        await here.service.drain()
        assert await here.statuses() == ["clean", "clean", "unreadable"], "only this one is missing"
        assert [await here.download(one) for one in (earlier, waiting, lost)] == [200, 200, 404]


async def test_u5_a_scanner_that_is_down_keeps_documents_waiting(empty_database: TestDatabase) -> None:
    async with clamd.running() as scanner:
        url = scanner.url
    async with scanned(empty_database, url) as here:
        document = await here.hand_in(HONEST[JPEG], JPEG)
        await here.later(minutes=30)
        assert await here.download(document) == 409
        await here.later(days=1)
        assert await here.findings() == {"documents.scanned_on_time"}


async def test_u5_in_production_documents_wait_for_a_scanner_unless_told(alone: Service) -> None:
    for environment, setting, unscanned in (
        ("sandbox", None, True),
        ("sandbox", "none", True),
        ("sandbox", "clamd:///run/clamd", False),
        ("production", None, False),
        ("production", "none", True),
        ("production", "clamd://scanner:3310", False),
    ):
        reported = {"environment": environment, "scanner_url": setting}
        assert settings_for(alone.database).model_copy(update=reported).skips_virus_scan is unscanned
    async with ground(alone) as here:
        document = await here.hand_in()
        async with here.service.db.read() as tx:
            key = (await documents.get(tx, ALL_PARTNERS, document)).storage_key
        blobs = BlobStore(
            open_storage(here.service.services.settings.documents_url, Path()), here.service.db.deployment.vault
        )
        scan = documents_jobs.scan_tasks.bind(documents_jobs.ScanDependencies(blobs, None)).handlers[
            documents.SCAN.name
        ]
        async with here.service.db.write() as tx:
            waiting = await documents.store_document(
                tx, Partner((await here.row(document))["partner_id"]), unscanned_of(key)
            )
        job = Job(1, documents.SCAN.name, {"document": str(waiting.id)}, 1, 0, here.service.clock.now(), None)
        assert isinstance(await scan(JobContext(here.service.db), job), JobRetry)
        assert await here.download(waiting.id) == 409


def unscanned_of(key: str) -> StoredFile:
    """Something stored that waits for its scan."""
    return StoredFile(
        "application/pdf",
        1,
        bytes(32),
        ("0" if key[0] != "0" else "1") + key[1:],
        scanned=False,
        flags=(),
        form_fields={},
    )


async def test_u5_without_a_scanner_the_sandbox_finds_documents_clean_at_once(alone: Service) -> None:
    async with ground(alone) as here:
        assert await here.download(await here.hand_in()) == 200


async def test_a_deleted_document_keeps_its_row_and_loses_its_bytes(alone: Service) -> None:
    async with ground(alone) as here:
        document = await here.hand_in()
        async with here.service.db.write() as tx:
            await documents.delete(tx, ALL_PARTNERS, document)
        assert await here.download(document) == 404
        await here.service.drain()
        assert here.files() == set()
        row = await here.row(document)
        assert None not in (row["deleted_at"], row["removed_at"])


async def test_u4_what_no_row_knows_lies_in_the_trash_for_thirty_days(alone: Service) -> None:
    async with ground(alone) as here:
        await here.service.drain()
        document = await here.hand_in()
        (file,) = here.files()
        old = orphan(file, "0")
        left = {
            "within a day": orphan(file, "1"),
            "newer than all that rows know": orphan(file, "2"),
            "of another deployment": orphan(file, "3", mark="3" * 8),
            "of before keys bore a mark, newer": orphan(file, "4", mark=""),
        }
        here.age(days=3, files=[file])
        here.age(days=4, files=[old, left["of another deployment"]])
        here.age(days=2, files=[left["newer than all that rows know"], left["of before keys bore a mark, newer"]])
        await here.sweep()
        assert here.files() == {file, *left.values()}
        assert [lying.name for lying in here.trash()] == [old.name]
        assert await here.findings() == {"documents.no_orphaned_files"}
        here.service.clock.advance_wall(days=29)
        await here.sweep()
        assert old.name in [lying.name for lying in here.trash()]
        assert await here.download(document) == 200
        here.service.clock.advance_wall(days=1)
        await here.sweep()
        assert old.name not in [lying.name for lying in here.trash()]


async def test_u4_a_file_that_waits_to_be_imported_is_known(alone: Service) -> None:
    async with ground(alone) as here:
        await here.hand_in()
        (file,) = here.files()
        waiting = orphan(file, "0")
        new = import_uploads.NewUpload("register", "irs-bmf", "eo1.csv", 1, None, False, waiting.name, "an operator")
        async with here.service.db.write() as tx:
            upload = await import_uploads.insert_upload(tx, new)
        here.age(days=3, files=[file])
        here.age(days=4, files=[waiting])
        await here.sweep()
        assert waiting in here.files()
        async with here.service.db.write() as tx:
            await import_uploads.mark_upload_importing(tx, upload)
            await import_uploads.record_import_result(tx, upload, "unchanged")
        await here.sweep()
        assert [lying.name for lying in here.trash()] == [waiting.name]


async def test_u4_a_database_without_documents_trashes_nothing(alone: Service) -> None:
    """It may have been made a moment ago, beside the storage of another."""
    async with ground(alone) as here:
        await here.hand_in()
        async with here.service.db.write() as tx:
            await tx.execute("update document set removed_at = created_at, deleted_at = created_at, file_name = null")
        before = here.files()
        here.age(days=9, files=before)
        await here.sweep()
        assert (here.files(), here.trash()) == (before, [])


async def test_u4_nothing_is_removed_while_the_storage_does_not_know_the_deployment(
    alone: Service,
) -> None:
    async with ground(alone) as here:
        document = await here.hand_in()
        (file,) = here.files()
        old = orphan(file, "0")
        here.age(days=2, files=[file])
        here.age(days=3, files=[old])
        marks = file.parents[1] / "marks"
        marks.rename(marks.with_name("away"))
        marks.touch()
        async with here.service.db.write() as tx:
            await documents.delete(tx, ALL_PARTNERS, document)
        await here.sweep()
        assert here.files() == {file, old}
        assert await here.download(await here.hand_in()) == 200  # all else goes on
        marks.unlink()
        marks.with_name("away").rename(marks)
        await here.later(minutes=15)
        assert file not in here.files()


async def test_u4_a_lost_or_altered_document_is_told(alone: Service) -> None:
    async with ground(alone) as here:
        await here.service.drain()
        lost, altered, stored = [await here.hand_in() for _ in range(3)]
        await here.later(days=2)
        assert await here.findings() == set()
        files = {file.name: file for file in here.files()}
        files[(await here.row(lost))["storage_key"]].unlink()
        file = files[(await here.row(altered))["storage_key"]]
        whole = file.read_bytes()
        file.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
        await here.later(days=2)
        assert await here.findings() == {"documents.unchanged"}
        assert [(await here.row(one))["missing_at"] is None for one in (lost, altered, stored)] == [False, False, True]
        file.write_bytes(whole)
        await here.later(days=2)
        assert (await here.row(altered))["missing_at"] is None


async def test_s3_a_lease_that_a_crash_left_is_forgotten(alone: Service) -> None:
    async with ground(alone) as here:
        async with here.service.db.write() as tx:
            await tx.execute(
                "insert into provider_call_lease (flow, row_id, holder, leased_until) values ('uploads', $1, $1, $2)",
                tx.new_id(),
                tx.real_now - timedelta(minutes=1),
            )
        await here.later(hours=2)
        async with here.service.db.read() as tx:
            assert await tx.fetch("select from provider_call_lease where flow = 'uploads'") == []


@pytest.mark.parametrize("setting", ["ftp://x/y", "s4://bucket"])
def test_addresses_that_are_none(setting: str) -> None:
    with pytest.raises(InvalidSettings, match="ALMONER_DOCUMENTS_URL"):
        read_settings(documents_url=setting)
    with pytest.raises(InvalidSettings, match="ALMONER_SCANNER_URL"):
        read_settings(scanner_url=setting)
