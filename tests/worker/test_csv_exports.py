"""Large lists as CSV files that a job prepares: who gets one, what it says, and how long it is kept."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import asyncpg

from almoner.access.people import service as people
from almoner.access.people.domain import MemberRole
from almoner.adapters.storage_objects import open_storage
from almoner.dashboard import exports
from almoner.dashboard.api_request_source import ApiRequestSource
from almoner.dashboard.list_files import MAX_DOWNLOAD, RecordListReader
from almoner.dashboard.member_api_client import MemberApiClient
from almoner.dashboard.record_lists import API_REQUESTS
from almoner.platform.database.counters import add_to_list_total
from almoner.platform.files.storage import BlobStore
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Job
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.validation.applications.documents import jobs as documents_jobs
from tests.support import factories
from tests.support.client import Client, data
from tests.support.members import Desk, desk
from tests.support.service import Service, Tenant

DONOR = "kept@example.org"


@dataclass
class Ground:
    """A service of its own, and somebody of the partner's finance team at a browser."""

    service: Service
    tenant: Tenant
    api: Client
    finance: Desk

    async def request(self, path: str = "/donations", query: str = "") -> None:
        """Ask for a list."""
        await self.finance.get(f"{self.finance.home}/exports")
        await self.finance.get(f"{self.finance.home}/exports?list={path}")
        sent = await self.finance.post(f"{self.finance.home}/exports", list=path, query=query)
        assert sent.status_code == 303, self.finance.text()
        await self.finance.get(sent.headers["location"])

    async def rows(self) -> list[Any]:
        """What is known of the files."""
        async with self.service.db.read() as tx:
            return list(await tx.fetch("select * from csv_export order by id"))

    async def address(self) -> str:
        """Where the only file is downloaded."""
        [row] = await self.rows()
        return f"{self.finance.home}/exports/{self.service.db.deployment.ids.encode('csvexport', row['id'])}"

    async def have_role(self, role: MemberRole) -> None:
        """Give the person this role, and no other."""
        assert self.finance.person is not None
        async with self.service.db.write() as tx:
            await people.set_granted_roles(tx, self.finance.person, [role])

    def files(self) -> list[Path]:
        """What lies in the storage."""
        folder = self.service.services.settings.documents_url
        assert folder is not None
        return [file for file in Path(folder).glob("??/*") if file.is_file()]


@asynccontextmanager
async def ground(service: Service) -> AsyncIterator[Ground]:
    """The ground."""
    tenant = await service.tenant()
    made = Ground(service, tenant, service.client(tenant.secret), await desk(service, tenant, "finance"))
    yield made
    await made.finance.close()
    await made.api.close()


async def test_a_file_is_prepared_and_a_link_to_it_mailed(alone: Service) -> None:
    async with ground(alone) as here:
        await factories.donation(here.service, here.api, email=DONOR, firstName="=HYPERLINK(1)")
        await factories.donation(here.service, here.api, email="left@example.org")
        await here.request(query="email=kept%40example.org")
        assert "We’re preparing this file." in here.finance.text()
        assert (await here.finance.get(await here.address())).status_code == 404
        await here.service.drain()
        assert here.finance.person is not None
        [mail] = data(await here.api.get("/v1/sandbox/mailbox", to=str(here.finance.person.email)))
        assert f"{here.finance.home}/exports" in mail["text"]
        assert DONOR not in str(mail)
        [file] = here.files()
        assert DONOR.encode() not in file.read_bytes()
        page = await here.finance.get(f"{here.finance.home}/exports")
        assert await here.address() in page.text
        answer = await here.finance.get(await here.address())
        assert answer.text == (await here.finance.get(f"{here.finance.home}/donations.csv?email={DONOR}")).text
        assert ",'=HYPERLINK(1)," in answer.text
        assert answer.headers["cache-control"] == "no-store"
        async with here.service.db.read() as tx:
            actions = [row[0] for row in await tx.fetch("select action from audit_entry where action ~ '^csv_export'")]
            viewed = await tx.fetchval("select count(*) from donor_view where person_id = $1", here.finance.person.id)
        assert sorted(actions) == ["csv_export.downloaded", "csv_export.requested"]
        assert viewed == 2, "by the job, and by the download of the list"


async def test_nobody_else_gets_it_and_whoever_may_not_see_it_any_more(alone: Service) -> None:
    async with ground(alone) as here:
        await factories.donation(here.service, here.api, email=DONOR)
        await here.request()
        await here.service.drain()
        owner = await desk(here.service, here.tenant, "owner")
        assert (await owner.get(await here.address())).status_code == 404
        stranger = await desk(here.service, await here.service.tenant(), "owner")
        name = (await here.address()).rpartition("/")[2]
        assert (await stranger.get(f"{stranger.home}/exports/{name}")).status_code == 404
        assert (await here.finance.get(await here.address())).status_code == 200
        await here.request()
        await here.have_role("reviewer")
        await here.service.drain()
        assert [row["status"] for row in await here.rows()] == ["ready", "failed"]
        first = here.service.db.deployment.ids.encode("csvexport", (await here.rows())[0]["id"])
        assert (await here.finance.get(f"{here.finance.home}/exports/{first}")).status_code == 404
        assert "could not be prepared" in (await here.finance.get(f"{here.finance.home}/exports")).text
        await here.finance.get(f"{here.finance.home}/exports")
        refused = await here.finance.post(f"{here.finance.home}/exports", list="/donations", query="")
        assert refused.status_code == 404
        for browser in (owner, stranger):
            await browser.close()


async def test_after_seven_days_the_link_ends_and_the_file_is_deleted(alone: Service) -> None:
    async with ground(alone) as here:
        await here.request()
        await here.service.drain()
        here.service.clock.advance(timedelta(days=7) - timedelta(minutes=1))
        assert here.finance.person is not None
        await here.finance.sign_in(here.finance.person)
        assert (await here.finance.get(await here.address())).status_code == 200
        here.service.clock.advance(timedelta(minutes=1))
        assert (await here.finance.get(await here.address())).status_code == 404
        assert len(here.files()) == 1
        here.service.clock.advance(timedelta(days=1))
        await here.service.drain()
        assert (await here.rows(), here.files()) == ([], [])


async def test_the_sweep_of_the_storage_leaves_it_there(alone: Service) -> None:
    async with ground(alone) as here:
        await here.request()
        await here.service.drain()
        [file] = here.files()
        moment = (here.service.clock.real_now() - timedelta(days=2)).timestamp()
        os.utime(file, (moment, moment))
        async with here.service.db.write() as tx:
            await documents_jobs.SWEEP.enqueue(tx, queue.NoDetails())
        await here.service.drain()
        assert here.files() == [file]


async def test_what_was_cut_off_starts_over_and_leaves_no_half_file(alone: Service) -> None:
    async with ground(alone) as here:
        organisation = await factories.nonprofit(here.service)
        for _ in range(120):
            await factories.direct(here.service, here.api, organisation=organisation, firstName="Ada", email=DONOR)
        await here.request()
        [row] = await here.rows()
        job = Job(1, exports.PREPARE.name, details(here, row["id"]), 1, 0, here.service.clock.now(), None)

        async def prepare() -> None:
            handlers = exports.file_tasks.bind(parts_of(here.service)).handlers
            await handlers[exports.PREPARE.name](JobContext(here.service.db), job)

        running = asyncio.create_task(prepare())
        async with here.service.db.read() as tx:
            while not await tx.fetchval("select count(*) from donor_view"):
                assert not running.done()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        assert ([row["status"] for row in await here.rows()], here.files()) == (["pending"], [])
        await here.service.drain()
        answer = await here.finance.get(await here.address())
        assert len(answer.text.splitlines()) == 121
        assert len(here.files()) == 1


async def test_a_partner_has_so_many_files_and_no_more(alone: Service) -> None:
    async with ground(alone) as here:
        for _ in range(exports.MOST_EXPORTS):
            await here.request()
        await here.finance.get(f"{here.finance.home}/exports?list=/donations")
        refused = await here.finance.post(f"{here.finance.home}/exports", list="/donations", query="")
        assert refused.status_code == 422
        assert "limit of 20 files" in here.finance.text()
        assert len(await here.rows()) == exports.MOST_EXPORTS


async def test_a_download_of_more_records_leads_to_the_page_that_prepares_it(alone: Service) -> None:
    async with ground(alone) as here:
        nonprofit = here.service.db.deployment.ids.decode("organisation", await factories.nonprofit(here.service))
        owner = await asyncpg.connect(here.service.database.owner_dsn)
        await owner.execute(
            """
            insert into donation_session (
                id, partner_id, organisation_id, status, created_at, expires_at, status_changed_at
            )
            select gen_random_uuid(), $1, $2, 'open', $3, $3::timestamptz + interval '1 day', $3
            from generate_series(1, $4)
            """,
            here.tenant.partner.id,
            nonprofit,
            here.service.clock.now(),
            MAX_DOWNLOAD + 1,
        )
        await owner.close()
        async with here.service.db.write() as tx:
            await add_to_list_total(tx, here.tenant.partner, "donation_session", MAX_DOWNLOAD + 1)
        answer = await here.finance.get(f"{here.finance.home}/donation-sessions.csv?direction=ASC&sort=createdAt")
        asked = urlsplit(answer.headers["location"])
        assert parse_qs(asked.query) == {
            "list": ["/donation-sessions"],
            "query": ["sort=createdAt&direction=ASC"],
        }
        await here.finance.open(answer.headers["location"])
        assert "Records in this list: 50,001." in here.finance.text()
        assert "Prepare CSV file" in here.finance.text()


def details(here: Ground, export: UUID) -> dict[str, Any]:
    """What the job of a file says."""
    return {"partner": str(here.tenant.partner.id), "export": str(export)}


def parts_of(service: Service) -> exports.ExportJobDependencies:
    """What a worker prepares files with."""
    folder = service.services.settings.documents_url
    assert folder is not None
    blobs = BlobStore(open_storage(folder, Path()), service.db.deployment.vault, service.db.deployment.identity)
    calls = MemberApiClient(service.services.api)
    return exports.ExportJobDependencies(
        RecordListReader(service.db, calls, {API_REQUESTS: ApiRequestSource(service.db)}),
        blobs,
        TranslationCatalogues(),
    )
