"""A number is corrected while others decide about the request, or rest something on it, at the same moment."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS, Partner
from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import AgentVerificationInput
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import InvalidState
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import CurrentEvidenceNotSeen, ReviewDecision, ReviewNotOpen
from almoner.validation.requests import evaluate
from almoner.validation.requests import service as validation_requests
from tests.support import appeals
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.service import Service
from tests.support.submissions import applied, ended, shown

ROUNDS = 6


async def unlisted(service: Service, api: Client, number: str) -> tuple[dict[str, Any], UUID, UUID]:
    """A submission of a number that no register lists; its own id, and that of its request."""
    made = await ended(service, api, await applied(api, organisationName="Nobody Knows Us", registryId=number))
    ids = service.db.deployment.ids
    submission = ids.decode("validationsubmission", made["id"])
    request = ids.decode("validationrequest", made["validationRequestId"])
    assert submission is not None
    assert request is not None
    return made, submission, request


async def correct(service: Service, submission: UUID, number: str) -> None:
    """As the applicant does on the page."""
    async with service.db.write() as tx:
        await submissions.correct_registry_number(tx, ALL_PARTNERS, submission, "IRS", number)


async def test_what_comes_to_rest_on_a_request_as_it_is_corrected_is_seen(service: Service, api: Client) -> None:
    made, submission, request = await unlisted(service, api, "99-1234601")

    async def waits(task: "asyncio.Task[None]") -> bool:
        async with service.db.read() as tx:
            locked = "datname = current_database() and wait_event_type = 'Lock' and query ~ $1"
            blocked = f"select exists (select from pg_stat_activity where {locked})"
            return task.done() or bool(await tx.fetchval(blocked, "^select from validation_request .* for update"))

    async with service.db.write() as tx:
        partner = Partner((await validation_requests.get(tx, ALL_PARTNERS, request)).partner_id)
        who = AgentVerificationInput(
            "Ada", "Byron", "ada@resting.example", None, None, made["validationRequestId"], None, "en"
        )
        await agents.create(tx, partner, who)
        task = asyncio.create_task(correct(service, submission, "99-1234602"))
        await eventually(lambda: waits(task))
        assert not task.done()
    with pytest.raises(InvalidState):
        await task
    assert (await shown(api, made))["requirements"][0]["registryId"] == "99-1234601"


async def test_a_number_is_corrected_or_decided_about_and_never_stuck(service: Service, api: Client) -> None:
    """Whichever comes first: who decides decides about the number that they were shown, and else looks again."""
    case = REVIEW_HANDLERS["validation_request"]
    for round_ in range(ROUNDS):
        before, after = f"99-123461{round_}", f"99-123462{round_}"
        made, submission, request = await unlisted(service, api, before)
        who = appeals.operator()
        async with service.db.write() as tx:
            await reviews.claim_for_review(tx, case, request, who)

        async def decide(request: UUID = request, who: str = who) -> None:
            async with service.db.write() as tx:
                verdict = ReviewDecision("rejected", "other", who, "The number is another body's.")
                await reviews.decide_review(tx, case, request, verdict)

        steps = [decide(), correct(service, submission, after)]
        done = await asyncio.gather(*(steps if round_ % 2 else steps[::-1]), return_exceptions=True)
        [refused] = [one for one in done if one is not None]
        record = data(await api.get(f"/v1/validation-requests/{made['validationRequestId']}"))
        now = await ended(service, api, made)
        if record["rejectedAt"] is not None:
            assert isinstance(refused, InvalidState)
            assert (record["registryId"], now["status"]) == (before, "failed")
            continue
        assert isinstance(refused, ReviewNotOpen | CurrentEvidenceNotSeen)
        assert (record["registryId"], now["requirements"][0]["registryId"]) == (after, after)
        await reviews_again(service, request)
        assert (await ended(service, api, made))["status"] == "failed"


async def reviews_again(service: Service, request: UUID) -> None:
    """A person is asked about the number of now, is shown it, and decides."""
    case, who = REVIEW_HANDLERS["validation_request"], appeals.operator()
    async with service.db.write() as tx:
        looked = await reviews.claim_for_review(tx, case, request, who)
        assert looked.claimed_by == who
    async with service.db.write() as tx:
        await reviews.decide_review(
            tx, case, request, ReviewDecision("rejected", "other", who, "It is another body's.")
        )


async def test_rules_that_look_as_a_number_is_corrected_see_one_of_the_two(service: Service, api: Client) -> None:
    for round_ in range(ROUNDS):
        before, after = f"99-123463{round_}", f"99-123464{round_}"
        made, submission, request = await unlisted(service, api, before)

        async def look(request: UUID = request) -> None:
            async with service.db.write() as tx:
                await evaluate.evaluate_request(tx, 0.9, request, "register_loaded")

        steps = [look(), correct(service, submission, after)]
        await asyncio.gather(*(steps if round_ % 2 else steps[::-1]))
        now = await ended(service, api, made)
        assert now["requirements"][0]["registryId"] == after
        async with service.db.read() as tx:
            rows = await tx.fetch(
                "select (facts ->> 'corrections')::int as corrections from evidence where record_id = $1 order by id",
                request,
            )
            now_is = await validation_requests.get(tx, ALL_PARTNERS, request)
            newest = await validation_requests.find_latest_evaluation(tx, now_is)
        assert [row["corrections"] for row in rows] in ([0, 0, 1], [0, 1, 1])
        assert newest is not None
        await reviews_again(service, request)
