"""What a nearly full disk means for callers: nothing is written, everything is read, and it ends by itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from almoner.platform.database.disk_watch import DiskSpaceMonitor
from tests.support import giving as support
from tests.support.browsing import Browser
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.hostile_files import HONEST, PDF
from tests.support.service import Service, serving
from tests.support.validation import requested

MORE_THAN_THERE_IS = 2**60


def _watch(service: Service, folder: Path, reserve: int) -> None:
    """What the watch of a process does each second, with such a reserve."""
    DiskSpaceMonitor(service.db.disk, [folder], reserve, service.clock, service.services.telemetry).check()


@asynccontextmanager
async def _calling(service: Service) -> AsyncIterator[tuple[Client, Client]]:
    """A partner, and somebody without a key."""
    api, anonymous = service.client((await service.tenant()).secret), service.client(None)
    yield api, anonymous
    await api.close()
    await anonymous.close()


async def test_writes_are_refused_and_reads_answered_until_there_is_room(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database) as service, _calling(service) as (api, _):
        made = await requested(api)
        await service.drain()
        path = f"/v1/validation-requests/{made['id']}"
        browser = Browser(service.app, service.db.deployment.base_urls.pages)
        await browser.get("/operator/sign-in")
        _watch(service, tmp_path, MORE_THAN_THERE_IS)
        for refused in (
            await api.post("/v1/categories", {"name": "one"}, idempotency_key="once"),
            await api.upload(f"{path}/document", "file", "x", HONEST[PDF], PDF),
            await api.post("/v1/sandbox/clock", {"advanceSeconds": 3600}),
        ):
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "service_unavailable")
            assert int(refused.headers["retry-after"]) > 0
        assert (await api.get(path)).status_code == 200
        page = await browser.post("/operator/sign-in", user_name="nobody@example.org", password="x")
        assert page.status_code == 503
        _watch(service, tmp_path, 0)
        answer = await api.post("/v1/categories", {"name": "one"}, idempotency_key="once")
        assert answer.status_code == 200
        assert "idempotent-replayed" not in answer.headers


async def test_it_is_told_and_the_server_stays_in_service(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as service, _calling(service) as (api, anonymous):
        await requested(api)
        service.clock.advance(hours=1)
        assert (await anonymous.get("/readyz")).status_code == 503  # events wait for a dispatcher
        _watch(service, tmp_path, MORE_THAN_THERE_IS)
        answer = await anonymous.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (200, "ok")
        assert "nearly full" in answer.json()["writesRefused"]["why"]
        assert "almoner_writes_refused 1.0" in (await anonymous.get("/metrics")).text
        _watch(service, tmp_path, 0)
        await service.drain()
        assert (await anonymous.get("/readyz")).json() == {"status": "ok", "checks": {}}


async def test_background_work_rests_without_a_word_and_goes_on(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as service, _calling(service) as (api, _):
        await requested(api)
        _watch(service, tmp_path, MORE_THAN_THERE_IS)
        said, stop = len(service.lines), asyncio.Event()
        background = service.services.background_worker

        async def all_done() -> bool:
            async with service.db.read() as tx:
                return await background.count_outstanding_work(tx) == 0

        async with asyncio.TaskGroup() as group:
            group.create_task(background.run(stop))
            assert await background.runner.record_results_and_start_jobs() == 0
            assert not await all_done()
            assert service.lines[said:] == []
            _watch(service, tmp_path, 0)
            await eventually(all_done)
            stop.set()


async def test_a_providers_notice_is_refused_so_that_it_is_sent_again(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database) as service, _calling(service) as (api, _):
        giving = await support.open_session(service, api)
        await giving.begin()
        payment = giving.provider.only()
        giving.provider.pay_with_card(payment)
        _watch(service, tmp_path, MORE_THAN_THERE_IS)
        assert (await giving.notify(payment, event=f"same_{payment}")).status_code == 503
        _watch(service, tmp_path, 0)
        assert (await giving.notify(payment, event=f"same_{payment}")).status_code == 204
        assert (await giving.donations())[0]["status"] == "RECEIVED_PAYMENT"
