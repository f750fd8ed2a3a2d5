"""kill -9 around the charge of a regular gift: each date is charged once, also after nine days away (I5, I6)."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest

from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.subscriptions.charging import jobs as charging_jobs
from almoner.kit.time import iso_timestamp, parse_timestamp
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import merge_background_tasks
from tests.support import forks
from tests.support.built_in_provider import Till, serving_provider
from tests.support.database import TestDatabase
from tests.support.fake_provider import SECRET
from tests.support.regular_gifts import begin_plan
from tests.support.service import Service, serving


@pytest.fixture
async def own(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own, whose real time can be moved."""
    async with serving(empty_database) as service:
        yield service


async def killed(service: Service, simulator: Till, point: str, payment: UUID) -> None:
    """Run the process that dies there."""
    task = {
        "point": point,
        "payment": str(payment),
        "dsn": service.database.dsn,
        "now": iso_timestamp(service.clock.now()),
        "links": service.db.deployment.base_urls.pages,
        "master_key": service.master_key,
        "url": simulator.url,
        "secret": SECRET,
    }
    status, printed = await asyncio.to_thread(forks.run, ("-m", "tests.chaos.paying", json.dumps(task)), {})
    assert status == -9, printed


@pytest.mark.parametrize(
    ("point", "away", "became", "charged"),
    [
        ("before_charge", timedelta(), "paid", 1),
        ("after_charge", timedelta(), "paid", 1),
        ("before_charge", timedelta(days=9), "failed", 0),
        ("after_charge", timedelta(days=9), "paid", 1),
    ],
)
async def test_i6_a_process_killed_while_charging_charges_a_date_once(
    own: Service, point: str, away: timedelta, became: str, charged: int
) -> None:
    api = own.client((await own.tenant()).secret)
    async with serving_provider(own) as simulator:
        plan = await begin_plan(own, api)
        own.clock.advance_to(parse_timestamp((await plan.record())["nextDonationAt"]))
        await BackgroundWorker(
            own.db, charging_jobs.tasks.declared_tasks, own.services.telemetry
        ).sweeper.run_due_jobs()
        async with own.db.read() as tx:
            payment = await tx.fetchval("select id from payment where off_session and status = 'starting'")
        await killed(own, simulator, point, payment)
        own.clock.advance(away)
        own.clock.advance_wall(seconds=61)
        asking = donations_jobs.provider_tasks.bind(donations_jobs.JobDependencies(simulator.provider))
        tasks = merge_background_tasks([charging_jobs.tasks, donations_jobs.tasks, asking])
        for _ in range(2):
            await BackgroundWorker(own.db, tasks, own.services.telemetry).drain()
            own.clock.advance(hours=1)
        assert [outcome for _, outcome in await plan.dates()] == [became]
        assert (await plan.record())["donationsCount"] == 1 + charged
        async with own.db.read() as tx:
            assert (
                await tx.fetchval("select count(*) from provider_test.payment where status = 'succeeded'")
                == 1 + charged
            )
            assert await tx.fetchval("select count(*) from unallocated_payment") == 0
            assert await tx.fetchval("select count(*) from provider_call_lease") == 0
    await api.close()
