"""One body in several registers: no alert is lost when another record answers, nobody decides the same twice (A5)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from almoner.nonprofits.registers.domain import RegisterLink
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.observability import selfcheck
from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewRefused, ReviewSubject
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.ongoing.monitoring import checks as monitoring_checks
from tests.support import appeals, eligibility, submissions
from tests.support.client import Client, data
from tests.support.monitoring import looked, shown, statuses, told
from tests.support.service import Service
from tests.support.watchlists import Lists, listing
from tests.support.written_register import Loader, Written, entry

AQSA = "AL-MASJED AL-AQSA CHARITY FOUNDATION"
CCEW, OSCR, LINKS = (
    Written("ccew", "CCEW"),
    Written("oscr", "OSCR"),
    Written("gb-links", "CCEW", lists_organisations=False),
)
DAYS = [datetime(2026, month, 9, tzinfo=UTC) for month in range(1, 7)]
SAME = ReviewDecision("accepted", None, "operator_1", "The same board")
OTHER = ReviewDecision("rejected", "not_the_same", "operator_1", "Another town, another board")
JOIN = RegisterLink("same", "CCEW", "263710", "OSCR", "SC002327")
UNSEEN: dict[str, str | None] = dict.fromkeys(CATEGORIES)


@pytest.fixture
async def api(alone: Service) -> AsyncIterator[Client]:
    client = alone.client((await alone.tenant()).secret)
    yield client
    await client.close()


@pytest.fixture
async def other(alone: Service) -> AsyncIterator[Client]:
    client = alone.client((await alone.tenant()).secret)
    yield client
    await client.close()


async def registered(service: Service, folder: Path, ours: str, theirs: str) -> tuple[Loader, str, str]:
    """A body in two registers that nobody has joined yet: the ids of both its records."""
    loader = Loader(service.db, folder)
    await loader.load(CCEW, DAYS[0], entry("263710", ours))
    await loader.load(OSCR, DAYS[0], entry("SC002327", theirs, registration_date=DAYS[0]))
    api = service.client((await service.tenant()).secret)
    ids = [
        data(await api.get(f"/v1/organisations/GBR/{register}/{number}"))["id"]
        for register, number in (("CCEW", "263710"), ("OSCR", "SC002327"))
    ]
    await api.close()
    return loader, ids[0], ids[1]


async def join(service: Service, loader: Loader, *links: RegisterLink, day: datetime = DAYS[1]) -> None:
    """What is said of both from this day on."""
    await loader.load(LINKS, day, entry("199999", f"Links of {day:%B}"), *links)
    await service.drain()


async def waiting(service: Service) -> list[Any]:
    """The matches that wait for a person."""
    async with service.db.read() as tx:
        rows = await tx.fetch("select subject_id from review where kind = 'match' and status = 'open' order by id")
    return [row["subject_id"] for row in rows]


async def decide(service: Service, decision: ReviewDecision) -> None:
    """Decide whatever waits."""
    for match in await waiting(service):
        async with service.db.write() as tx:
            await matches.decide_match(tx, ALL_PARTNERS, match, decision)
    await service.drain()


async def broken(service: Service) -> list[str]:
    """The promises of monitoring that do not hold."""
    async with service.db.read() as tx:
        return [
            finding.check.name
            for finding in (await selfcheck.run_consistency_checks(tx, monitoring_checks.checks)).findings
        ]


async def test_a_flag_stays_when_another_record_answers(alone: Service, api: Client, tmp_path: Path) -> None:
    await Lists(alone.db, tmp_path).load(listing(1, AQSA))
    loader, ours, theirs = await registered(alone, tmp_path, AQSA, "Shelter Fund Scotland")
    made = await looked(alone, api, organisationId=ours)
    await decide(alone, SAME)
    assert statuses(await shown(api, made))["sanction"] == "flag"
    count = len(await told(alone, api))
    await join(alone, loader, JOIN)
    joined = await shown(api, made)
    assert joined["organisation"] == {"name": "Shelter Fund Scotland"}
    assert statuses(joined)["sanction"] == "flag"
    assert joined["results"]["complianceStatus"] == "fail"
    assert len(await told(alone, api)) == count
    by_the_other = await looked(alone, api, organisationId=theirs)
    assert by_the_other["results"] == joined["results"]
    alone.clock.advance(minutes=30)
    assert await broken(alone) == []


async def test_what_is_found_of_a_record_that_does_not_answer_is_told_of_the_body(
    alone: Service, api: Client, tmp_path: Path
) -> None:
    lists = Lists(alone.db, tmp_path)
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"))
    loader, _, theirs = await registered(alone, tmp_path, AQSA, "Shelter Fund Scotland")
    await join(alone, loader, JOIN)
    made = await looked(alone, api, organisationId=theirs)
    assert statuses(made) == {**UNSEEN, "sanction": "clear"}
    await lists.load(listing(2, "ZAVOD IMENI DEGTYAREVA"), listing(1, AQSA))
    assert statuses((await told(alone, api))[-1]) == UNSEEN
    await decide(alone, SAME)
    assert statuses((await told(alone, api))[-1])["sanction"] == "flag"
    await join(alone, loader, day=DAYS[2])
    parted = await shown(api, made)
    assert statuses(parted) == {**UNSEEN, "sanction": "clear"}, "the other is no record of this body any more"
    assert (await told(alone, api))[-1] == parted


@pytest.mark.parametrize(("decision", "status"), [(SAME, "flag"), (OTHER, "clear")])
async def test_what_was_decided_of_one_record_holds_for_the_same_question_of_another(
    alone: Service, api: Client, tmp_path: Path, decision: ReviewDecision, status: str
) -> None:
    await Lists(alone.db, tmp_path).load(listing(1, AQSA))
    loader, ours, _ = await registered(alone, tmp_path, AQSA, AQSA)
    made = await looked(alone, api, organisationId=ours)
    await decide(alone, decision)
    before = await shown(api, made)
    assert statuses(before)["sanction"] == status
    await join(alone, loader, JOIN)
    assert await waiting(alone) == []
    assert (await shown(api, made))["results"] == before["results"]
    async with alone.db.read() as tx:
        rows = await tx.fetch(
            "select m.id, s.partner_id from screening_match m "
            "join screening_subject s on s.id = m.screening_subject_id order by 1"
        )
        stored = [
            (await reviews.load_review_history(tx, ReviewSubject("match", row[0], row[1]))).decisions for row in rows
        ]
    [[first], [second]] = [[one.decision for one in stated] for stated in stored]
    assert first == decision
    assert (second.verdict, second.by) == (decision.verdict, decision.by)
    assert second.note.startswith("As of sandbox_screeningmatch_")
    assert second.note.endswith(f": {decision.note}")


async def test_two_records_that_wait_are_answered_by_one_decision(alone: Service, api: Client, tmp_path: Path) -> None:
    await Lists(alone.db, tmp_path).load(listing(1, AQSA))
    loader, ours, _ = await registered(alone, tmp_path, AQSA, AQSA)
    await join(alone, loader, JOIN)
    made = await looked(alone, api, organisationId=ours)
    first, _ = await waiting(alone)
    async with alone.db.write() as tx:
        await matches.decide_match(tx, ALL_PARTNERS, first, OTHER)
    await alone.drain()
    assert await waiting(alone) == []
    assert statuses(await shown(api, made))["sanction"] == "clear"


async def test_the_body_has_one_name_in_answers_events_and_lists(alone: Service, api: Client, tmp_path: Path) -> None:
    loader, ours, theirs = await registered(alone, tmp_path, "Shelter Fund", "Shelter Fund Scotland")
    await join(alone, loader, JOIN)
    async with alone.db.write() as tx:
        await tx.execute(
            "insert into organisation_branding (organisation_id, display_name, images) values ($1, 'Shelter!', '{}')",
            tx.ids.decode("organisation", theirs),
        )
    made = await looked(alone, api, organisationId=ours)
    assert made["organisation"] == {"name": "Shelter Fund Scotland"}
    assert [one["organisation"] for one in data(await api.get("/v1/monitoring-subscriptions"))] == [
        {"name": "Shelter Fund Scotland"}
    ]
    [event] = await told(alone, api)
    assert event == made
    judged = await eligibility.evaluated(alone, api, ours, "test_pass")
    assert judged["organisationName"] == "Shelter Fund Scotland"
    assert await eligibility.told(alone, api) == [judged]
    assert data(await api.get(eligibility.PATH)) == [judged]


async def test_who_decided_about_a_joined_record_does_not_decide_the_appeal(
    alone: Service, api: Client, other: Client, tmp_path: Path
) -> None:
    await Lists(alone.db, tmp_path).load(listing(1, AQSA))
    loader, ours, theirs = await registered(alone, tmp_path, AQSA, "Shelter Fund Scotland")
    for partner, by in ((api, "operator_1"), (other, "operator_2")):
        await looked(alone, partner, organisationId=ours)
        await decide(alone, replace(SAME, by=by))
    await join(alone, loader, JOIN)
    only = await submissions.configured(api, "compliance")
    made = await submissions.applied(api, organisationId=theirs, configurationId=only)
    failed = await submissions.ended(alone, api, made)
    assert (failed["status"], set(failed["failureReasons"])) == ("failed", {"compliance"})
    appeal = await appeals.made(api, failed)
    with pytest.raises(ReviewRefused, match="another operator"):
        await appeals.decide(alone, appeal, "accepted", "operator_1")
    await appeals.release(alone, appeal, "operator_1")
    await appeals.decide(alone, appeal, "accepted", "operator_2")  # who decided for another partner alone
    assert (await appeals.shown(api, appeal))["status"] == "reversed"
