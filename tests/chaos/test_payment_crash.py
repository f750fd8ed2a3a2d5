"""kill -9 around every call to the payment provider: no money asked for twice, none forgotten (I5, I6, M4)."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.checkout.donations.domain import CheckoutState
from almoner.giving.checkout.payments import service as payments
from almoner.kit.time import iso_timestamp
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import merge_background_tasks
from tests.support import forks
from tests.support import giving as support
from tests.support.built_in_provider import Till, serving_provider
from tests.support.database import TestDatabase
from tests.support.fake_provider import SECRET
from tests.support.giving import PAID, Giving
from tests.support.service import Service, serving


@pytest.fixture
async def own(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own, whose real time can be moved."""
    async with serving(empty_database) as service:
        yield service


async def killed(giving: Giving, simulator: Till, point: str) -> None:
    """Run the process that dies there."""
    service = giving.service
    task = {
        "point": point,
        "session": str(giving.session_id),
        "dsn": service.database.dsn,
        "now": iso_timestamp(service.clock.now()),
        "links": service.db.deployment.base_urls.pages,
        "master_key": service.master_key,
        "url": simulator.url,
        "secret": SECRET,
    }
    status, printed = await asyncio.to_thread(forks.run, ("-m", "tests.chaos.paying", json.dumps(task)), {})
    assert status == -9, printed


async def recover(giving: Giving, simulator: Till, by: str) -> None:
    """By a job, or by the donor's next attempt; both wait for the lease to run out."""
    giving.service.clock.advance_wall(seconds=61)
    if by == "job":
        asking = donations_jobs.provider_tasks.bind(donations_jobs.JobDependencies(simulator.provider))
        duties = merge_background_tasks([donations_jobs.tasks, asking])
        await BackgroundWorker(giving.service.db, duties, giving.service.services.telemetry).drain()
    assert (await giving.begin()).payment_url is not None


@pytest.mark.parametrize("point", ["before_create", "after_create"])
@pytest.mark.parametrize("by", ["job", "donor"])
async def test_i6_a_process_killed_while_asking_leaves_one_payment(own: Service, point: str, by: str) -> None:
    api = own.client((await own.tenant()).secret)
    async with serving_provider(own) as simulator:
        giving = await support.open_session(own, api)
        giving.provider = simulator.provider  # type: ignore[assignment]
        await killed(giving, simulator, point)
        async with own.db.read() as tx:
            row = await tx.fetchrow("select id, status from payment")
            assert await tx.fetchval("select count(*) from provider_call_lease") == 1
        assert row is not None
        assert row["status"] == "starting"
        reference = payments.payment_reference(row["id"])
        assert len(await simulator.payments(reference)) == (1 if point == "after_create" else 0)
        await recover(giving, simulator, by)
        (payment,) = await simulator.payments(reference)
        await simulator.pay_with_card(payment)
        assert (await giving.come_back()).state is CheckoutState.PAID
        assert await giving.events() == PAID
        async with own.db.read() as tx:
            assert await tx.fetchval("select count(*) from provider_call_lease") == 0
            assert await tx.fetchval("select count(*) from provider_test.payment") == 1
    await api.close()


@pytest.mark.parametrize("point", ["before_fetch", "after_fetch"])
async def test_m4_a_process_killed_while_looking_loses_no_money(own: Service, point: str) -> None:
    api = own.client((await own.tenant()).secret)
    async with serving_provider(own) as simulator:
        giving = await support.open_session(own, api)
        giving.provider = simulator.provider  # type: ignore[assignment]
        await giving.begin()
        async with own.db.read() as tx:
            payment = await tx.fetchval("select provider_payment from payment")
        await simulator.pay_with_card(payment)
        await killed(giving, simulator, point)
        assert await giving.events() == ["donation.created"]
        assert (await giving.come_back()).state is CheckoutState.PAID
        assert await giving.events() == PAID
        assert await giving.status() == "completed"
    await api.close()
