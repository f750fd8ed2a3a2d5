"""Leaving an organisation alone while another begins to watch it (A3), and reading while lists are compared (A4)."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from almoner.platform.observability import selfcheck
from almoner.screening.screenings.service import Screener
from almoner.validation.ongoing.monitoring import checks as monitoring_checks
from almoner.validation.ongoing.monitoring import monitoring_evaluation
from almoner.validation.ongoing.monitoring import service as monitoring
from tests.support import factories, validation
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.locking import waits_for_lock
from tests.support.monitoring import cancelled, looked, shown, statuses, subscribe, told
from tests.support.service import Service, Tenant
from tests.support.watchlists import Lists, listing

AQSA = "AL-MASJED AL-AQSA CHARITY FOUNDATION"


@pytest.fixture
async def owner(alone: Service) -> Tenant:
    return await alone.tenant()


@pytest.fixture
async def api(alone: Service, owner: Tenant) -> AsyncIterator[Client]:
    client = alone.client(owner.secret)
    yield client
    await client.close()


def uuid(service: Service, text: str) -> UUID:
    """Of a subscription."""
    found = service.db.deployment.ids.decode("monitoringsubscription", text)
    assert found is not None
    return found


async def watched(service: Service) -> list[bool]:
    """Whether each organisation that was compared is watched."""
    async with service.db.read() as tx:
        return [row["monitored"] for row in await tx.fetch("select monitored from screening_subject")]


async def test_who_cancels_while_a_request_is_accepted_leaves_it_watched(
    alone: Service, owner: Tenant, api: Client
) -> None:
    request = await validation.requested(api)
    await validation.simulate(api, request, "accept")
    await alone.drain()
    organisation = (await validation.shown(api, request))["organisationId"]
    leaving = await looked(alone, api, organisationId=organisation)
    coming = await subscribe(alone, api, validationRequestId=request["id"])

    async def leave() -> None:
        async with alone.db.write() as tx:
            await monitoring.cancel(tx, owner.partner, uuid(alone, leaving["id"]))

    async with alone.db.write() as tx:
        await monitoring_evaluation.evaluate_subscription(tx, Screener(), uuid(alone, coming["id"]), "created")
        left = asyncio.create_task(leave())
        await eventually(partial(waits_for_lock, alone))
    await left
    assert (await shown(api, coming))["status"] == "live"
    assert await watched(alone) == [True]
    await cancelled(api, coming)
    assert await watched(alone) == [False]


async def test_a_record_names_no_version_that_it_was_not_compared_with(
    alone: Service, api: Client, tmp_path: Path
) -> None:
    lists = Lists(alone.db, tmp_path)
    old = await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"))
    organisation = await factories.nonprofit(alone, name=AQSA)
    touched = await looked(alone, api, organisationId=organisation)
    other = await looked(alone, api, organisationId=await factories.nonprofit(alone, name="Casper Relief Fund"))
    alone.clock.advance(minutes=1)
    new = await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"), listing(1, AQSA))

    def versions(record: dict[str, list[dict[str, str]]]) -> list[str]:
        return [source["version"] for source in record["sources"]]

    seen = set()
    for _ in range(100):  # one event or job after another, as a worker takes them
        record = await shown(api, touched)
        seen.add((versions(record)[0], statuses(record)["sanction"]))
        if not await step(alone):
            break
    assert seen == {(old.version_label, "clear"), (new.version_label, None)}
    assert versions(await shown(api, other)) == [new.version_label]
    assert len(await told(alone, api)) == 3
    async with alone.db.read() as tx:
        assert (await selfcheck.run_consistency_checks(tx, monitoring_checks.checks)).findings == ()


async def step(service: Service) -> bool:
    """The next thing that a worker does; whether there was any."""
    background = service.services.background_worker
    moved = (
        await background.dispatcher.dispatch_next_events()
        or await background.chainer.chain_next_entries()
        or await background.runner.record_results_and_start_jobs()
    )
    await background.runner.wait_until_idle()
    return bool(moved)
