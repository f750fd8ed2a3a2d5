"""Who follows an organisation hears once of each load that changes it, and of no load that does not."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from almoner.nonprofits.branding import service as branding
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.organisations import jobs as organisations_jobs
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.registers.domain import RegisterLink
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Job, JobDone
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.written_register import Loader, Written, entry

DAYS = [datetime(2026, month, 9, tzinfo=UTC) for month in range(1, 8)]
CCEW, OSCR = Written("ccew", "CCEW", ignored_columns=frozenset({"seen"})), Written("oscr", "OSCR")
LINKS = Written("gb-links", "CCEW", lists_organisations=False)
BODIES = [entry(f"26{nth:04d}", f"Fund {nth}", types=["nonprofit"]) for nth in range(130)]


@pytest.fixture
async def api(alone: Service) -> AsyncIterator[Client]:
    client = alone.client((await alone.tenant()).secret)
    yield client
    await client.close()


@pytest.fixture
def loader(alone: Service, tmp_path: Path) -> Loader:
    return Loader(alone.db, tmp_path)


async def found(loader: Loader, registry: str, number: str) -> tuple[UUID, str]:
    async with loader.db.read() as tx:
        row = await organisations.get_by_number(tx, ALL_PARTNERS, "GBR", registry, number)
        return row.id, tx.ids.encode("organisation", row.id)


async def told(alone: Service, api: Client) -> list[dict[str, Any]]:
    await alone.drain()
    events = data(await api.get("/v1/events", type="organisation.updated", pageSize=100, direction="ASC"))
    return [event["eventData"] for event in events if event["eventType"] == "organisation.updated"]


async def follow(api: Client, category: str, organisation: str) -> None:
    assert (await api.put(f"/v1/categories/{category}/{organisation}")).status_code == 200


async def test_followers_hear_once_of_each_load_that_changes_what_they_follow(
    alone: Service, api: Client, loader: Loader
) -> None:
    await loader.load(CCEW, DAYS[0], *BODIES)
    category = (await factories.category(api))["id"]
    for nth in (1, 2, 120):
        await follow(api, category, (await found(loader, "CCEW", f"26{nth:04d}"))[1])
    given = (await found(loader, "CCEW", "260003"))[1]
    await factories.donation(alone, api, organisation=given)
    second = await factories.category(api)  # in two categories and given to: still one event
    await follow(api, second["id"], (await found(loader, "CCEW", "260001"))[1])
    assert await told(alone, api) == []
    # Every body of more than one batch changes in two fields; four are followed.
    changed = [body._replace(name=f"{body.name} Trust", city="Leeds") for body in BODIES]
    await loader.load(CCEW, DAYS[1], *changed)
    heard = await told(alone, api)
    assert sorted(record["registryId"] for record in heard) == ["260001", "260002", "260003", "260120"]
    by_number = {record["registryId"]: record for record in heard}
    assert by_number["260001"] == data(await api.get(f"/v1/organisations/{by_number['260001']['id']}"))
    assert {category["id"] for category in by_number["260001"]["categories"]} == {category, second["id"]}
    # Facts that move without the body having changed tell nobody; nor does the same again.
    await loader.load(CCEW, DAYS[2], *(body._replace(facts={"seen": "2026-03"}) for body in changed))
    assert len(await told(alone, api)) == 4
    await loader.load(CCEW, DAYS[3], *changed[:2], *changed[3:])
    gone = await told(alone, api)
    assert [(record["registryId"], record["active"], record["inactiveReason"]) for record in gone[4:]] == [
        ("260002", False, "removed")
    ]


async def test_followers_hear_once_that_an_organisation_is_shown_otherwise(
    alone: Service, api: Client, loader: Loader
) -> None:
    await loader.load(CCEW, DAYS[0], *BODIES[:2])
    number, followed = await found(loader, "CCEW", "260000")
    await follow(api, (await factories.category(api))["id"], followed)
    await alone.drain()
    for name in ("Friends", "Friends"):  # the second time nothing changes
        async with loader.db.write() as tx:
            await branding.update_branding_of_primary_record(tx, number, branding.BrandingChange(display_name=name))
    async with loader.db.write() as tx:
        await branding.update_branding_of_primary_record(
            tx, (await found(loader, "CCEW", "260001"))[0], branding.BrandingChange(display_name="Others")
        )
    (record,) = await told(alone, api)
    assert (record["id"], record["displayName"]) == (followed, "Friends")


async def killed(alone: Service, load_id: UUID) -> None:
    async with alone.db.write() as tx:
        assert await organisations.notify_next_followers_batch_if_any(
            tx, (categories.load_categorising_partner_ids_by_organisation,), load_id
        )
        raise RuntimeError("killed before the commit")


async def test_nobody_hears_twice_whatever_dies(alone: Service, api: Client, loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], *BODIES)
    category = (await factories.category(api))["id"]
    for nth in (1, 120):
        await follow(api, category, (await found(loader, "CCEW", f"26{nth:04d}"))[1])
    await alone.drain()
    made = await loader.load(CCEW, DAYS[1], *(body._replace(city="Leeds") for body in BODIES))
    followers = (categories.load_categorising_partner_ids_by_organisation,)
    with pytest.raises(RuntimeError, match="killed"):
        await killed(alone, made.id)
    async with alone.db.write() as tx:
        assert await organisations.notify_next_followers_batch_if_any(
            tx, followers, made.id
        )  # the first batch; then it is killed
    kind = organisations.NOTIFY_FOLLOWERS
    job = kind.decode(Job(1, kind.name, {"load": str(made.id)}, 1, 0, made.loaded_at, None))
    for _ in range(2):
        assert await organisations_jobs.notify_followers_of_import(followers, JobContext(alone.db), job) == JobDone()
    assert sorted(record["registryId"] for record in await told(alone, api)) == ["260001", "260120"]


async def test_a_body_in_two_registers_is_told_of_once(alone: Service, api: Client, loader: Loader) -> None:
    await loader.load(CCEW, DAYS[0], BODIES[0])
    await loader.load(OSCR, DAYS[0], entry("SC002327", "Fund"))
    category = (await factories.category(api))["id"]
    scottish = (await found(loader, "OSCR", "SC002327"))[1]
    await follow(api, category, scottish)
    await alone.drain()
    await loader.load(LINKS, DAYS[1], BODIES[5], RegisterLink("same", "CCEW", "260000", "OSCR", "SC002327"))
    (record,) = await told(alone, api)
    assert (record["registryName"], [source["registryName"] for source in record["sources"]]) == (
        "CCEW",
        ["CCEW", "OSCR"],
    )
    assert [own["id"] for own in record["categories"]] == [category]
    shown = data(await api.get("/v1/organisations", **{"category[]": category}))
    assert [row["id"] for row in shown] == [record["id"]]
    # A change of either record is a change of the organisation.
    await loader.load(OSCR, DAYS[2], entry("SC002327", "Fund of Scotland"))
    assert len(await told(alone, api)) == 2
    # Taken out by either id, it is out.
    assert (await api.delete(f"/v1/categories/{category}/{scottish}")).status_code == 204
    assert data(await api.get("/v1/organisations", **{"category[]": category})) == []
