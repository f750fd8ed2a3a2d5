"""Registers and watchlists that an administrator uploads in the console: imported by a job, with the same checks."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from zipfile import ZipFile

import pytest

from almoner.nonprofits.registers import service as registers
from tests.support.bmf import bodies, write
from tests.support.browsing import Browser
from tests.support.console import act, closed, upload, words
from tests.support.database import TestDatabase
from tests.support.hostile_files import HONEST, PDF
from tests.support.operators import operator, signed_in
from tests.support.service import Service, serving
from tests.support.validation import requested

REGISTER, LISTS = "/operator/register-imports", "/operator/watch-lists"
SDN_SAMPLE = Path(__file__).parents[2] / "src" / "almoner" / "samples" / "ofac_sdn" / "2024-05-03"
FIELDS = {"source": "irs-bmf", "day": "2026-04-13"}
LIST_FIELDS = {"source": "ofac-sdn-sample", "day": "2024-05-03"}


@pytest.fixture
async def service(empty_database: TestDatabase, tmp_path: Path) -> AsyncIterator[Service]:
    """A service without any register."""
    async with serving(empty_database, data_dir=tmp_path / "var") as made:
        yield made


@pytest.fixture
async def admin(service: Service) -> AsyncIterator[Browser]:
    """An administrator's browser."""
    browser = await signed_in(service, await operator(service, "administrator"))
    yield browser
    await browser.close()


def published(folder: Path, rows: int) -> bytes:
    return write(folder / "eo1.csv", bodies(rows)).read_bytes()


async def imported(browser: Browser, service: Service, content: bytes, name: str = "eo1.csv", **fields: str) -> str:
    """Upload a register and let the job run; what the page of the upload says."""
    page = await upload(browser, f"{REGISTER}/upload", name, content, **{**FIELDS, **fields})
    await browser.open(page)
    assert "A background worker will import the file soon" in words(browser)
    await service.drain()
    await browser.open(page)
    return words(browser)


def stored_files(service: Service) -> list[Path]:
    """The files that the document storage holds."""
    assert service.services.settings.documents_url is not None
    return [file for file in Path(service.services.settings.documents_url).glob("??/*") if file.is_file()]


async def test_a_register_is_uploaded_and_imported(service: Service, admin: Browser, tmp_path: Path) -> None:
    content = published(tmp_path, 200)
    assert "Loaded" in await imported(admin, service, content)
    async with service.db.read() as tx:
        [load] = await registers.list_imports(tx, 5)
        trail = await tx.fetch("select action, actor_kind from audit_entry where action like 'register.%' order by id")
    assert (load.rows, f"{load.data_as_of:%Y-%m-%d}", load.status) == (200, "2026-04-13", "loaded")
    assert [tuple(row) for row in trail] == [("register.uploaded", "operator"), ("register.imported", "operator")]
    assert stored_files(service) == [], "the file is not kept"
    assert "already been imported" in await imported(admin, service, content)
    await admin.open(f"{REGISTER}/upload")
    assert "Unchanged" in words(admin)


async def test_a_form_that_is_sent_twice_starts_one_import(service: Service, admin: Browser, tmp_path: Path) -> None:
    content, again = published(tmp_path, 20), {**FIELDS, "form_key": "the-same-form"}
    before = len(stored_files(service))
    pages = [await upload(admin, f"{REGISTER}/upload", "eo1.csv", content, **again) for _ in range(2)]
    assert len(set(pages)) == 1
    assert len(stored_files(service)) == before + 1
    other = await upload(admin, f"{REGISTER}/upload", "eo1.csv", published(tmp_path, 21), **again)
    assert other not in pages


async def test_what_looks_damaged_is_quarantined_until_it_is_forced(
    service: Service, admin: Browser, tmp_path: Path
) -> None:
    await imported(admin, service, published(tmp_path, 200))
    few = published(tmp_path, 20)
    said = await imported(admin, service, few, day="2026-05-13")
    assert "looks damaged, so it was not imported" in said
    assert "Import checks Applied" in said
    async with service.db.read() as tx:
        assert await registers.count_undecided_imports(tx) == 1
    assert "Import checks Overridden" in await imported(admin, service, few, day="2026-05-13", force="yes")
    async with service.db.read() as tx:
        assert await registers.count_undecided_imports(tx) == 0
        assert await tx.fetchval("select count(*) from organisation where active") == 20


async def test_files_in_a_zip_and_files_that_are_none(service: Service, admin: Browser, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "both.zip", "w") as packed:
        for name, start, state in (("eo1.csv", 100_000_000, "WY"), ("eo2.csv", 200_000_000, "OR")):
            packed.write(write(tmp_path / name, bodies(20, start=start, state=state)), name)
    assert "Loaded" in await imported(admin, service, (tmp_path / "both.zip").read_bytes(), "both.zip")
    async with service.db.read() as tx:
        assert await tx.fetchval("select count(*) from organisation") == 40
    said = await imported(admin, service, b"PK no archive", "broken.zip")
    assert "Refused" in said
    assert "cannot be read" in said
    assert stored_files(service) == []


async def test_a_form_that_lacks_something_stores_nothing(service: Service, admin: Browser) -> None:
    await admin.open(f"{REGISTER}/upload")
    for fields, name, problem in (
        ({"source": "no-such", "day": ""}, "eo1.csv", "Choose a source from the list"),
        ({"source": "irs-bmf", "day": "13.04.2026"}, "eo1.csv", "Enter a date such as"),
        (FIELDS, "..", "The file must have a name"),
    ):
        answer = await admin.request(
            "POST",
            f"{REGISTER}/upload",
            headers={"Sec-Fetch-Site": "same-origin"},
            data={"csrf": admin.csrf, **fields},
            files={"file": (name, b"something")},
        )
        assert (answer.status_code, problem in words(admin)) == (422, True), problem
    assert (await admin.post(f"{REGISTER}/upload", FIELDS)).status_code == 422
    assert stored_files(service) == []
    async with service.db.read() as tx:
        assert await tx.fetchval("select count(*) from import_upload") == 0
        assert await tx.fetchval("select count(*) from audit_entry where action = 'register.uploaded'") == 0


async def test_a_file_that_is_lost_is_refused(service: Service, admin: Browser, tmp_path: Path) -> None:
    page = await upload(admin, f"{REGISTER}/upload", "eo1.csv", published(tmp_path, 20), **FIELDS)
    [stored] = stored_files(service)
    stored.unlink()
    await service.drain()
    assert "no longer stored. Upload it again" in await closed(admin, page)


async def test_an_upload_waits_while_the_storage_as_a_whole_is_not_there(
    service: Service, admin: Browser, tmp_path: Path
) -> None:
    """As when the folder is not mounted: the file is imported once it is back."""
    api = service.client((await service.tenant()).secret)
    record = await requested(api)
    await api.upload(f"/v1/validation-requests/{record['id']}/document", "file", "x", HONEST[PDF], PDF)
    for address, name, content, fields in (
        (f"{REGISTER}/upload", "eo1.csv", published(tmp_path, 20), FIELDS),
        (f"{LISTS}/upload", "sdn.csv", (SDN_SAMPLE / "sdn.csv").read_bytes(), LIST_FIELDS),
    ):
        page = await upload(admin, address, name, content, **fields)
        mounted = {file: file.read_bytes() for file in stored_files(service)}
        for file in mounted:
            file.unlink()
        await service.drain()
        await admin.open(page)
        assert "Importing" in words(admin)
        for file, stored in mounted.items():
            file.write_bytes(stored)
        service.clock.advance(timedelta(minutes=1))
        await service.drain()
        await admin.open(page)
        assert "Loaded" in words(admin)
    await api.close()


async def test_a_watch_list_is_uploaded_imported_and_retired(service: Service, admin: Browser, tmp_path: Path) -> None:
    packed = tmp_path / "sdn.zip"
    with ZipFile(packed, "w") as archive:
        for file in SDN_SAMPLE.iterdir():
            archive.write(file, file.name)
    page = await upload(admin, f"{LISTS}/upload", "sdn.zip", packed.read_bytes(), **LIST_FIELDS)
    await service.drain()
    await admin.open(page)
    assert "Loaded" in words(admin)
    await admin.open(LISTS)
    assert "ofac-sdn-sample" in words(admin)
    page = await upload(admin, f"{LISTS}/upload", "sdn.csv", b"no such list", **LIST_FIELDS)
    await service.drain()
    assert "Refused" in await closed(admin, page)
    assert "has no refresh schedule" in await closed(admin, f"{LISTS}/ofac-sdn-sample/refresh")
    await act(admin, f"{LISTS}/ofac-sdn-sample/retire")
    assert "This watchlist has been retired" in await closed(admin, f"{LISTS}/ofac-sdn-sample/retire")
    async with service.db.read() as tx:
        rows = await tx.fetch("select action from audit_entry where action like 'watchlist.%' order by id")
    assert [row["action"] for row in rows] == [
        "watchlist.uploaded",
        "watchlist.imported",
        "watchlist.uploaded",
        "watchlist.retired",
    ]
