"""Several people and the rules at once: one decides, once, and nobody decides what somebody else holds."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from uuid import UUID

import pytest

from almoner.kit.errors import Problem
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    CurrentEvidenceNotSeen,
    Kind,
    ReviewClaimedByAnother,
    ReviewDecision,
    ReviewFilters,
    ReviewNotOpen,
    ReviewRefused,
)
from almoner.validation.decisions.reviews.ports import ReviewHandler
from tests.support.client import Client, data
from tests.support.reviews import Waiting, waiting
from tests.support.service import Service
from tests.support.terminal import Operator, operator


async def tried(attempt: Awaitable[None]) -> str:
    """What became of a decision."""
    try:
        await attempt
    except (ReviewRefused, Problem) as refused:
        return type(refused).__name__
    return "decided"


@pytest.fixture
async def people(service: Service) -> list[Operator]:
    """Eight reviewers."""
    return [await operator(service, "reviewer") for _ in range(8)]


async def test_of_two_who_decide_at_the_same_moment_one_wins(
    service: Service, api: Client, people: list[Operator]
) -> None:
    """Both saw it: the first one's fifteen minutes are over, and the second looked then."""
    for turn in range(6):
        one, first, second = await waiting(service, api), people[turn], people[turn + 1]
        await one.look(first)
        service.clock.advance_wall(minutes=16)
        *reported, looked = await asyncio.gather(tried(one.accept(first)), tried(one.reject(first)), one.look(second))
        if looked.claimed_by == second.id:
            assert set(reported) == {ReviewClaimedByAnother.__name__}
            assert await tried(one.reject(second)) == "decided"
        else:
            assert sorted(reported) == [ReviewNotOpen.__name__, "decided"]
        history = await one.history()
        assert len(history.decisions) == 1
        assert [review.status for review in history.reviews] == ["decided"]


async def test_of_all_who_look_at_once_one_holds_it_and_that_one_decides(
    service: Service, api: Client, people: list[Operator]
) -> None:
    one = await waiting(service, api)
    looked = await asyncio.gather(*(one.look(person) for person in people))
    [holder] = {seen.claimed_by for seen in looked}
    reported = await asyncio.gather(*(tried(one.accept(person)) for person in people))
    assert Counter(reported)["decided"] == 1
    assert set(reported) <= {"decided", ReviewClaimedByAnother.__name__, ReviewNotOpen.__name__}
    assert reported[[person.id for person in people].index(holder or "")] == "decided"
    [stored] = (await one.history()).decisions
    assert stored.decision.by == holder


async def test_the_same_command_typed_twice_decides_once(service: Service, api: Client, people: list[Operator]) -> None:
    olive = people[0]
    one = await waiting(service, api)
    await one.look(olive)
    reported = await asyncio.gather(*(tried(one.accept(olive)) for _ in range(8)))
    assert Counter(reported) == {"decided": 1, "ReviewNotOpen": 7}
    assert len((await one.history()).decisions) == 1


async def test_reasons_that_come_meanwhile_are_lost_to_nobody(
    service: Service, api: Client, people: list[Operator]
) -> None:
    """Asked by the subject's slice under the subject's lock: before the decision it is refused, after it opens anew."""
    olive = people[0]
    for _ in range(6):
        one = await waiting(service, api)
        await one.look(olive)
        reported, _ = await asyncio.gather(tried(one.accept(olive)), asks(one))
        history = await one.history()
        assert history.current_open_review is not None
        assert "register_changed" in history.current_open_review.reasons
        assert reported in ("decided", CurrentEvidenceNotSeen.__name__)
        assert len(history.decisions) == (reported == "decided")


async def asks(one: Waiting) -> None:
    """As the subject's slice does."""
    async with one.service.db.write() as tx:
        assert await one.case.lock_subject(tx, one.subject.id)
        await reviews.request_review(tx, one.subject, ["register_changed"])


async def test_rules_and_a_person_at_once_end_it_once(service: Service, api: Client, people: list[Operator]) -> None:
    olive = people[0]

    async def by_rule(one: Waiting) -> None:
        async with service.db.write() as tx:
            assert await one.case.lock_subject(tx, one.subject.id)
            history = await reviews.load_review_history(tx, one.subject)
            if history.current_open_review:  # its own lifecycle would say so
                decision = ReviewDecision("rejected", "no_response", "rules", "Out of time")
                await one.case.reject_subject(tx, ALL_PARTNERS, one.subject.id, decision)

    for _ in range(6):
        one = await waiting(service, api)
        await one.look(olive)
        reported, _ = await asyncio.gather(tried(one.accept(olive)), by_rule(one))
        [stored] = (await one.history()).decisions
        assert stored.decision.by == (olive.id if reported == "decided" else "rules")
        assert reported in ("decided", "ReviewNotOpen")


async def test_a_validation_request_is_decided_and_told_once_whoever_decides(
    service: Service, api: Client, people: list[Operator]
) -> None:
    """The holder types it twice, somebody else tries, and the partner simulates the opposite."""
    case = REVIEW_HANDLERS["validation_request"]
    asked = {"name": "Relief", "registryName": "IRS", "website": "https://example.org", "countryCode": "USA"}
    for number in ("53-0196605", "13-1623829", "13-5562309", "13-1788491"):
        made = data(await api.post("/v1/validation-requests", {**asked, "registryId": number}))
        await service.drain()
        request_id = service.db.deployment.ids.decode("validationrequest", made["id"])
        assert request_id is not None
        async with service.db.write() as tx:
            looked = await reviews.claim_for_review(tx, case, request_id, people[0].id)
        one = Waiting(service, case, looked.subject)
        body = {"id": made["id"], "action": "reject", "rejectionReasonCode": "other"}
        *reported, simulated = await asyncio.gather(
            tried(one.accept(people[0])),
            tried(one.accept(people[0])),
            tried(one.accept(people[1])),
            api.post("/v1/sandbox/simulate", body),
        )
        assert reported.count("decided") + (simulated.status_code == 200) == 1, (reported, simulated.text)
        history = await one.history()
        assert [review.status for review in history.reviews] == ["decided"]
        [stored] = history.decisions
        assert stored.decision.by == (people[0].id if "decided" in reported else "sandbox")
    await service.drain()
    events = data(await api.get("/v1/events", pageSize=100))
    assert sorted(event["eventData"]["id"] for event in events) == sorted(
        {event["eventData"]["id"] for event in events}
    )
    assert len(events) == 4


async def test_eight_who_take_the_next_case_decide_each_once(
    service: Service, api: Client, people: list[Operator]
) -> None:
    """As the page takes it: each asks for the next until there is none."""
    cases = [await waiting(service, api) for _ in range(12)]
    handlers: Mapping[Kind, ReviewHandler] = {"match": cases[0].case}
    wanted = ReviewFilters(partner_id=cases[0].subject.partner_id)

    async def work(by: Operator) -> list[UUID]:
        decided: list[UUID] = []
        while True:
            async with service.db.write() as tx:
                if not await reviews.list_open_reviews(tx, replace(wanted, free_for=by.id), 1):
                    return decided
                taken = await reviews.claim_next_review(tx, wanted, by.id, handlers)
            if taken is not None:
                async with service.db.write() as tx:
                    decision = ReviewDecision("accepted", None, by.id, "Seen")
                    await reviews.decide_review(tx, cases[0].case, taken.subject.id, decision)
                decided.append(taken.subject.id)

    done = [one for decided in await asyncio.gather(*map(work, people)) for one in decided]
    assert sorted(done) == sorted(one.subject.id for one in cases)
    assert [len((await one.history()).decisions) for one in cases] == [1] * len(cases)
