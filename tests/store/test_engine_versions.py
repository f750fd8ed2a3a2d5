"""When the engine has another version whoever is watched is compared again; what people decided stays decided."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import JobDone
from almoner.screening.matching.service import ENGINE_VERSION
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import ScreeningMatch
from almoner.screening.screenings.service import Screener
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.ongoing.matches import jobs as matches_jobs
from almoner.validation.ongoing.matches import service as matches
from tests.support import factories
from tests.support.client import Client
from tests.support.monitoring import looked, shown, statuses, told
from tests.support.service import Service
from tests.support.watchlists import Lists, body, listing

AQSA = "AL-MASJED AL-AQSA CHARITY FOUNDATION"
CLEARED = ReviewDecision("rejected", "not_the_same", "operator_1", "Another town, another board")
CONFIRMED = ReviewDecision("accepted", None, "operator_1", "The passport says so")


@pytest.fixture(autouse=True)
async def _listed(alone: Service, tmp_path: Path) -> None:
    await Lists(alone.db, tmp_path).load(listing(1, AQSA))


@pytest.fixture
async def api(alone: Service) -> AsyncIterator[Client]:
    client = alone.client((await alone.tenant()).secret)
    yield client
    await client.close()


async def all_matches(service: Service) -> list[ScreeningMatch]:
    async with service.db.read() as tx:
        rows = await tx.fetch("select id from screening_match order by id")
        found = [await screenings.find_match(tx, row["id"]) for row in rows]
    return [match for match in found if match is not None]


async def decide(service: Service, match: ScreeningMatch, decision: ReviewDecision) -> None:
    async with service.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, match.id, decision)


async def waits(service: Service, match: ScreeningMatch) -> bool:
    async with service.db.read() as tx:
        return (
            await reviews.load_review_history(tx, matches.review_subject_for(match))
        ).current_open_review is not None


OLDER = "update screening_subject set engine_version = engine_version - 1"
READ_OTHERWISE = """
update screening_match set subject_side = subject_side || '{"name": "almasjed"}',
    entry_side = entry_side || '{"name": "masjed"}', decided_subject = decided_subject || '{"name": "almasjed"}',
    decided_entry = decided_entry || '{"name": "masjed"}'
"""


async def age(service: Service, *statements: str) -> None:
    """Leave what an older engine would have left."""
    async with service.db.write() as tx:
        for statement in (OLDER, *statements):
            await tx.execute(statement)


async def engines(service: Service) -> set[int]:
    async with service.db.read() as tx:
        return {row["engine_version"] for row in await tx.fetch("select engine_version from screening_subject")}


@pytest.mark.parametrize(("decision", "status"), [(CLEARED, "clear"), (CONFIRMED, "flag")])
async def test_what_was_decided_holds_however_the_engine_reads_the_same_names(
    alone: Service, api: Client, decision: ReviewDecision, status: str
) -> None:
    record = await looked(alone, api, organisationId=await factories.nonprofit(alone, name=AQSA))
    (match,) = await all_matches(alone)
    await decide(alone, match, decision)
    before = await told(alone, api)
    await age(alone, READ_OTHERWISE)
    await alone.drain()
    (after,) = await all_matches(alone)
    assert (after.decision, after.awaiting_review, after.changes_since_decision) == (match_of(decision), False, [])
    assert after.subject_side == match.subject_side
    assert statuses(await shown(api, record))["sanction"] == status
    assert await told(alone, api) == before
    assert await engines(alone) == {ENGINE_VERSION}


def match_of(decision: ReviewDecision) -> str:
    return "cleared" if decision is CLEARED else "confirmed"


async def test_what_an_older_engine_missed_is_found_and_told(alone: Service, api: Client) -> None:
    record = await looked(alone, api, organisationId=await factories.nonprofit(alone, name=AQSA))
    quiet = await looked(alone, api, organisationId=await factories.nonprofit(alone, name="Garden Club of Casper"))
    (match,) = await all_matches(alone)
    await decide(alone, match, CONFIRMED)
    before = await told(alone, api)
    await age(alone, "update screening_match set entry_key = '9', current = false")
    await alone.drain()
    (found,) = [one for one in await all_matches(alone) if one.current]
    assert (found.entry_key, found.decision, await waits(alone, found)) == ("1", "open", True)
    assert statuses(await shown(api, record))["sanction"] is None
    assert [one["id"] for one in (await told(alone, api))[len(before) :]] == [record["id"]]
    assert statuses(await shown(api, quiet))["sanction"] == "clear"


async def test_what_an_older_engine_alone_found_ends(alone: Service) -> None:
    screener, (who, asked) = Screener(), body((await alone.tenant()).partner, UUID(int=1), AQSA)
    await screener.run_with_current_watchlists(
        alone.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=True)
    )
    (match,) = await all_matches(alone)
    assert await waits(alone, match)
    await age(alone, "update screening_subject set names = '{Garden Club of Casper}'")
    await alone.drain()
    (after,) = await all_matches(alone)
    assert (after.current, await waits(alone, after)) == (False, False)


async def test_what_changed_beside_the_engine_is_asked_about(alone: Service, api: Client, tmp_path: Path) -> None:
    await looked(alone, api, organisationId=await factories.nonprofit(alone, name=AQSA))
    (match,) = await all_matches(alone)
    await decide(alone, match, CLEARED)
    await age(alone, READ_OTHERWISE)
    (tmp_path / "later").mkdir()
    await Lists(alone.db, tmp_path / "later").load(listing(1, "AL-MASJED AL-AQSA CHARITY FOUNDATION OF TYRE"))
    await alone.drain()
    (after,) = await all_matches(alone)
    assert (after.decision, await waits(alone, after)) == ("open", True)


async def test_who_looks_anew_before_the_worker_does_keeps_what_was_decided(alone: Service, api: Client) -> None:
    await looked(alone, api, organisationId=await factories.nonprofit(alone, name=AQSA))
    (match,) = await all_matches(alone)
    await decide(alone, match, CLEARED)
    await age(alone, READ_OTHERWISE)
    screener = Screener()
    async with alone.db.read() as tx:
        stored = await screenings.get_subject_of_match(tx, match)
    found = await screener.run_with_current_watchlists(
        alone.db, lambda tx: matches.screen(tx, screener, stored.subject, stored.details, monitor=True)
    )
    assert ([one.decision for one in found.matches], found.newly_awaiting_review) == (["cleared"], [])
    assert await engines(alone) == {ENGINE_VERSION}


async def test_many_are_compared_again_by_many_short_jobs(alone: Service, api: Client) -> None:
    for number in range(3):
        await looked(alone, api, organisationId=await factories.nonprofit(alone, name=f"Garden Club {number}"))
    await age(alone)
    screener, rounds, after = Screener(), 0, UUID(int=0)
    while await engines(alone) != {ENGINE_VERSION}:
        assert isinstance(
            await matches_jobs.rescreen_outdated_subjects(screener, JobContext(alone.db), after, max_subjects=1),
            JobDone,
        )
        async with alone.db.write() as tx:
            (left,) = await tx.fetch(
                "delete from job where kind = $1 returning payload", matches.RESCREEN_OUTDATED.name
            )
        rounds, after = rounds + 1, UUID(left["payload"]["after"])
    assert rounds == 3
