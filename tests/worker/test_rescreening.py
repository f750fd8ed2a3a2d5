"""Comparing again when a list changes: each job looks at so many and leaves the others to the next (C4)."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import JobDone
from almoner.screening.screenings.service import Screener
from almoner.validation.ongoing.matches import jobs as matches_jobs
from almoner.validation.ongoing.matches.service import RESCREEN, RescreenAfterImportJob
from tests.support import factories
from tests.support.client import Client
from tests.support.monitoring import looked, shown, statuses
from tests.support.refusals import refusing
from tests.support.service import Service
from tests.support.watchlists import Lists, listing

AQSA, ZAVOD = "AL-MASJED AL-AQSA CHARITY FOUNDATION", "ZAVOD IMENI DEGTYAREVA"


@pytest.fixture
async def api(alone: Service) -> AsyncIterator[Client]:
    client = alone.client((await alone.tenant()).secret)
    yield client
    await client.close()


async def taken(service: Service) -> list[RescreenAfterImportJob]:
    """The jobs that wait, taken out of the queue."""
    async with service.db.write() as tx:
        rows = await tx.fetch("delete from job where kind = $1 returning payload", RESCREEN.name)
    return [msgspec.convert(row["payload"], RescreenAfterImportJob) for row in rows]


async def test_c4_a_long_rescreen_is_done_by_many_short_jobs(alone: Service, api: Client, tmp_path: Path) -> None:
    lists = Lists(alone.db, tmp_path)
    await lists.load(listing(1, ZAVOD))
    ended = [await looked(alone, api, organisationId=await factories.nonprofit(alone, name=ZAVOD)) for _ in range(3)]
    came = [await looked(alone, api, organisationId=await factories.nonprofit(alone, name=AQSA)) for _ in range(3)]
    assert {statuses(await shown(api, one))["sanction"] for one in ended} == {None}
    load = await lists.load(listing(2, AQSA))
    screener, stages = Screener(), []
    await alone.services.background_worker.dispatcher.dispatch_next_events()
    while found := await taken(alone):
        [progress] = found
        stages.append((progress.stage, progress.after is not None))
        assert isinstance(
            await matches_jobs.rescreen_after_import(screener, JobContext(alone.db), progress, max_subjects=1), JobDone
        )
    assert stages.count(("ended", True)) == 3
    assert stages.count(("brought", True)) == 1
    await alone.drain()
    assert {statuses(await shown(api, one))["sanction"] for one in ended} == {"clear"}
    assert {statuses(await shown(api, one))["sanction"] for one in came} == {None}
    assert {one["version"] for record in (*ended, *came) for one in (await shown(api, record))["sources"]} == {
        load.version_label
    }


_MATCHED = "select distinct screening_subject_id as id from screening_match order by id"


async def subjects(service: Service, sql: str) -> list[UUID]:
    async with service.db.read() as tx:
        return [row["id"] for row in await tx.fetch(sql)]


async def test_c4_one_that_fails_keeps_no_other_from_being_compared(
    alone: Service, api: Client, tmp_path: Path
) -> None:
    lists = Lists(alone.db, tmp_path)
    await lists.load(listing(1, ZAVOD))
    for _ in range(3):
        await looked(alone, api, organisationId=await factories.nonprofit(alone, name=AQSA))
    watched = await subjects(alone, "select id from screening_subject where monitored order by id")
    async with refusing(alone.database, "insert", "screening_match", f"new.screening_subject_id = '{watched[0]}'"):
        await lists.load(listing(2, AQSA))
        await alone.drain()
        assert await subjects(alone, _MATCHED) == watched[1:]
    alone.clock.advance(hours=1)
    await alone.drain()
    assert await subjects(alone, _MATCHED) == watched
