"""Quarantined register imports: seen in the console, released or refused there by a person, once."""

from pathlib import Path

import pytest

from almoner.nonprofits.registers import service as registers
from almoner.nonprofits.registers.domain import RegisterImport
from tests.support.browsing import Browser
from tests.support.database import TestDatabase
from tests.support.operators import operator, signed_in
from tests.support.receivers import receiver
from tests.support.service import Service
from tests.worker.test_register_refresh import DAY, found, published, refreshing, stand

IMPORTS = "/operator/register-imports"
NOTE = {"note": "The publisher says that it is right"}


async def quarantined(service: Service) -> tuple[str, RegisterImport]:
    """The newest import, which waits for a person."""
    async with service.db.read() as tx:
        [load] = await registers.list_imports_page(tx, "irs-bmf", "quarantined", None, 1)
        return tx.ids.encode("registerload", load.id), load


async def act(browser: Browser, path: str, form: dict[str, str]) -> int:
    """Open an act's page and do it."""
    assert (await browser.get(path)).status_code == 200, path
    return (await browser.post(path, {"sure": "yes", **form})).status_code


@pytest.mark.parametrize(("decision", "action"), [("release", "register.released"), ("refuse", "register.refused")])
async def test_a_quarantined_import_is_decided_by_a_person_once(
    decision: str, action: str, empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with (
        receiver(published(tmp_path, 200, "v1")) as server,
        refreshing(empty_database, tmp_path, server) as service,
    ):
        await service.drain()
        server.otherwise = published(tmp_path, 20, "v2")
        service.clock.advance(DAY)
        await service.drain()
        text, load = await quarantined(service)
        browser = await signed_in(service, await operator(service, "administrator"))
        assert text[-8:] in (await browser.open(f"{IMPORTS}?status=quarantined")).text
        for query in ("", "?compare=previous"):
            await browser.open(f"{IMPORTS}/{text}{query}")
            assert browser.page is not None
            assert load.reasons[0][:20] in browser.page.text
            assert "0 registration numbers are added, 0 changed and 180 removed" in browser.page.text
            assert browser.page.text.count('<td data-label="Change">removed</td>') == 50
        asked = (await browser.open(f"{IMPORTS}/{text}/{decision}")).text
        assert "Describe what you compared and whom you contacted." in asked
        assert await act(browser, f"{IMPORTS}/{text}/{decision}", NOTE) == 303
        await service.drain()
        released = decision == "release"
        assert await stand(service) == (("loaded", 0, 3) if released else ("quarantined", 0, 2))
        assert "registers.no_quarantined_imports" not in await found(service), "a person has dealt with it"
        for again in ("release", "refuse"):
            assert (await browser.post(f"{IMPORTS}/{text}/{again}", {"sure": "yes", **NOTE})).status_code == 409
        async with service.db.read() as tx:
            active = await tx.fetchval("select count(*) from organisation where active")
            entries = await tx.fetchval("select count(*) from audit_entry where action = $1", action)
        assert (active, entries) == (20 if released else 200, 1)
        page = (await browser.open(f"{IMPORTS}/{text}")).text
        assert NOTE["note"] in page
        if released:
            async with service.db.read() as tx:
                [newest] = await registers.list_imports_page(tx, "irs-bmf", "loaded", None, 1)
            own = f"{IMPORTS}/{service.db.deployment.ids.encode('registerload', newest.id)}?compare=previous"
            assert "180 removed" in (await browser.open(own)).text
        await browser.close()


async def test_what_the_publisher_has_replaced_is_not_released(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with (
        receiver(published(tmp_path, 200, "v1")) as server,
        refreshing(empty_database, tmp_path, server) as service,
    ):
        await service.drain()
        server.otherwise = published(tmp_path, 20, "v2")
        service.clock.advance(DAY)
        await service.drain()
        text, _ = await quarantined(service)
        browser = await signed_in(service, await operator(service, "administrator"))
        server.otherwise = published(tmp_path, 30, "v3")
        assert await act(browser, f"{IMPORTS}/{text}/release", NOTE) == 303
        await service.drain()
        assert await stand(service) == ("quarantined", 0, 2)
        assert "publisher has replaced the files" in (await browser.open("/operator/health/jobs")).text
        await browser.close()


async def test_a_register_is_refreshed_now(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with (
        receiver(published(tmp_path, 200, "v1")) as server,
        refreshing(empty_database, tmp_path, server) as service,
    ):
        await service.drain()
        server.otherwise = published(tmp_path, 210, "v2")
        browser = await signed_in(service, await operator(service, "administrator"))
        assert "irs-bmf" in (await browser.open("/operator/registers")).text
        assert await act(browser, "/operator/registers/irs-bmf/refresh", {}) == 303
        async with service.db.read() as tx:
            started = "select count(*) from audit_entry where action = $1 and subject = 'irs-bmf'"
            assert await tx.fetchval(started, "register.refresh_started") == 1
        await service.drain()
        assert await stand(service) == ("loaded", 0, 2)
        assert (await browser.get("/operator/registers/no-such/refresh")).status_code == 404
        await browser.close()
