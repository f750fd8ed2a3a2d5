"""The life of an agent verification (settled 5), its events, test values (spec 4.11), simulated steps (settled 9)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from almoner.validation.agents.domain import LIFETIME, REJECTIONS
from tests.support import factories
from tests.support.agents import ADA, INVALID_STATE, PATH, SIMULATE, create, listed, refused, shown, simulate, told
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.service import Service

MS = timedelta(milliseconds=1)
OWN = {"email": "ada@charity.example"}
ELSEWHERE = {"email": "ada@elsewhere.example"}
TRIGGERED = (
    "validation_request_failed",
    "user_verification_expired",
    "user_failed_percent_review",
    "reapply",
    "fake_email_used",
    "no_online_presence",
    "nonprofit_association_expired",
    "other",
)


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: weeks of the shared service's clock would be weeks of work for all that other tests have left."""
    return alone


async def request_of(api: Client, **body: Any) -> dict[str, Any]:
    """A new validation request of a nonprofit that no register here lists."""
    asked = {"name": "Hill Road Relief", "registryName": "IRS", "registryId": "12-3456789", "countryCode": "USA"}
    record: dict[str, Any] = data(
        await api.post("/v1/validation-requests", {**asked, "website": "https://charity.example", **body})
    )
    return record


async def forbidden(api: Client, record: dict[str, Any], action: str, **more: Any) -> bool:
    """Whether the lifecycle refuses the step, and it changes nothing."""
    before = await shown(api, record)
    answer = await api.post(SIMULATE, {"id": record["id"], "action": action, **more})
    assert await shown(api, record) == before
    return (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE


async def test_the_rules_let_the_own_domain_through_and_the_applicant_confirms(service: Service, api: Client) -> None:
    made = await create(service, api, **OWN)
    assert made["status"] == "pending"
    [(kind, record)] = await told(service, api)
    assert kind == "pending_user_verification"
    assert record == {**made, "status": "pending_user_verification"} == await shown(api, made)
    assert await forbidden(api, made, "approve")
    approved = await simulate(api, made, "confirm_email")
    assert approved == {**made, "status": "approved", "externalActionRequired": False}
    assert (await told(service, api))[1:] == [("approved", approved)]
    for action in ("approve", "reject", "confirm_email"):
        assert await forbidden(api, made, action)


async def test_who_has_another_domain_confirms_and_waits_for_a_person(service: Service, api: Client) -> None:
    made = await create(service, api, **ELSEWHERE)
    assert await told(service, api) == []
    confirmed = await simulate(api, made, "confirm_email")
    assert confirmed == {**made, "status": "pending_review", "externalActionRequired": False}
    assert await told(service, api) == [("pending_review", confirmed)]
    assert await forbidden(api, made, "confirm_email")
    approved = await simulate(api, made, "approve")
    assert approved["status"] == "approved"
    assert [kind for kind, _ in await told(service, api)] == ["pending_review", "approved"]


async def test_a_person_may_let_through_who_has_yet_to_confirm(service: Service, api: Client) -> None:
    made = await create(service, api, **ELSEWHERE)
    passed = await simulate(api, made, "approve")
    assert (passed["status"], passed["externalActionRequired"]) == ("pending_user_verification", True)
    assert (await simulate(api, made, "confirm_email"))["status"] == "approved"
    kinds = [kind for kind, _ in await told(service, api)]
    assert kinds == ["pending_user_verification", "approved"]


@pytest.mark.parametrize("steps", [(), ("approve",), ("confirm_email",)])
@pytest.mark.parametrize("code", ["other", "fake_email_used"])
async def test_every_open_state_can_be_rejected(
    service: Service, api: Client, steps: tuple[str, ...], code: str
) -> None:
    made = await create(service, api, **ELSEWHERE)
    for step in steps:
        await simulate(api, made, step)
    rejected = await simulate(api, made, "reject", rejectionReasonCode=code)
    assert (rejected["status"], rejected["rejectionReasonCode"]) == ("rejected", code)
    assert rejected["rejectionReason"]
    assert rejected["externalActionRequired"] is False
    assert (await told(service, api))[-1] == ("rejected", rejected)


async def test_every_code_of_settled_4_can_be_given_and_no_other(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    for code in REJECTIONS:
        made = await create(service, api, organisation=organisation, **ELSEWHERE)
        assert (await simulate(api, made, "reject", rejectionReasonCode=code))["rejectionReasonCode"] == code
    made = await create(service, api, organisation=organisation, **ELSEWHERE)
    assert (await simulate(api, made, "reject"))["rejectionReasonCode"] == "other"
    made = await create(service, api, organisation=organisation, **ELSEWHERE)
    for foreign in ("not_eligible", "mood"):
        answer = await api.post(SIMULATE, {"id": made["id"], "action": "reject", "rejectionReasonCode": foreign})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
        only = f"body.rejectionReasonCode must be one of {', '.join(REJECTIONS)} for this record"
        assert answer.json()["error"]["reasons"] == [only]


@pytest.fixture
async def worked(service: Service) -> AsyncIterator[Service]:
    """The service with a worker beside it, as it runs in life."""
    stop = asyncio.Event()
    running = asyncio.create_task(service.services.background_worker.run(stop))
    yield service
    stop.set()
    await running


@pytest.mark.parametrize("code", TRIGGERED)
async def test_4_11_a_test_value_rejects_and_the_next_get_shows_it(worked: Service, api: Client, code: str) -> None:
    made = await create(worked, api, firstName=f"test_reject_{code}")
    assert (made["status"], made["rejectionReasonCode"]) == ("pending", None)

    async def rejected() -> bool:
        return bool((await shown(api, made))["status"] == "rejected")

    await eventually(rejected)
    assert (await shown(api, made))["rejectionReasonCode"] == code


async def test_4_11_test_accept_approves_and_the_next_get_shows_it(worked: Service, api: Client) -> None:
    made = await create(worked, api, firstName="test_accept", **ELSEWHERE)
    assert made["status"] == "pending"

    async def approved() -> bool:
        return bool((await shown(api, made))["status"] == "approved")

    await eventually(approved)


async def test_4_11_events_are_those_of_life(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    made = await create(service, api, organisation=organisation, firstName="test_accept")
    kinds = [kind for kind, _ in await told(service, api)]
    assert kinds == ["pending_user_verification", "approved"]
    made = await create(service, api, organisation=organisation, firstName="test_reject_reapply")
    assert (await told(service, api))[2:] == [("rejected", await shown(api, made))]
    near = await create(service, api, organisation=organisation, firstName="test_reject_fake_documentation")
    assert len(await told(service, api)) == 3
    assert (await shown(api, near))["status"] == "pending"


async def test_s3_without_confirmation_it_expires_after_30_days(service: Service, api: Client) -> None:
    waiting = await create(service, api, **ELSEWHERE)
    passed = await create(service, api, **OWN)
    await service.drain()
    service.clock.advance(seconds=(LIFETIME - MS).total_seconds())
    assert [(await shown(api, one))["status"] for one in (waiting, passed)] == ["pending", "pending_user_verification"]
    service.clock.advance(milliseconds=1)
    for record in (waiting, passed):
        expired = await shown(api, record)
        assert (expired["status"], expired["rejectionReasonCode"]) == ("rejected", "user_verification_expired")
        assert expired["externalActionRequired"] is False
        assert await forbidden(api, record, "confirm_email")
    assert await listed(api, status="rejected") == ([passed["id"], waiting["id"]], 2)
    assert await listed(api, status="pending") == ([], 0)
    kinds = [kind for kind, _ in await told(service, api)]
    assert kinds == ["pending_user_verification", "rejected", "rejected"]
    assert (await told(service, api))[-1][1] in [await shown(api, one) for one in (waiting, passed)]


async def test_who_never_confirmed_is_forgotten_30_days_later(service: Service, api: Client) -> None:
    waiting = await create(service, api, title="Treasurer", **ELSEWHERE)
    decided = await create(service, api, **ELSEWHERE)
    await simulate(api, decided, "reject")
    await service.drain()
    service.clock.advance(days=30)
    await service.drain()
    service.clock.advance(days=32)
    await service.drain()
    gone = await shown(api, waiting)
    assert [gone[name] for name in ("firstName", "lastName", "email", "title")] == [None] * 4
    assert gone["rejectionReasonCode"] == "user_verification_expired"
    assert (await shown(api, decided))["email"] == ELSEWHERE["email"]


async def test_the_nonprofit_of_an_undecided_request_is_waited_for(service: Service, api: Client) -> None:
    request = await request_of(api)
    made = data(await api.post(PATH, {"validationRequestId": request["id"], **ADA, **ELSEWHERE}))
    assert (made["organisationId"], made["organisation"]) == (None, None)
    assert made["validationRequest"] == {"id": request["id"], "name": request["name"]}
    assert made["validationRequestId"] == request["id"]
    await service.drain()
    confirmed = await simulate(api, made, "confirm_email")
    assert (confirmed["status"], confirmed["externalActionRequired"]) == ("pending_review", False)
    await service.drain()
    accepted = data(await api.post(SIMULATE, {"id": request["id"], "action": "accept"}))
    await service.drain()
    record = await shown(api, made)
    assert record["organisationId"] == accepted["organisationId"] == record["organisation"]["id"]
    assert record["validationRequest"] == made["validationRequest"]
    assert record["status"] == "pending_review"


@pytest.mark.parametrize("steps", [(), ("approve",), ("confirm_email",)])
async def test_a_rejected_request_rejects_its_agents(service: Service, api: Client, steps: tuple[str, ...]) -> None:
    request = await request_of(api)
    made = data(await api.post(PATH, {"validationRequestId": request["id"], **ADA, **ELSEWHERE}))
    for step in steps:
        await simulate(api, made, step)
    await service.drain()
    data(await api.post(SIMULATE, {"id": request["id"], "action": "reject"}))
    events = await told(service, api)
    record = await shown(api, made)
    assert (record["status"], record["rejectionReasonCode"]) == ("rejected", "validation_request_failed")
    assert events[-1] == ("rejected", record)


async def test_an_agent_of_a_request_that_was_decided_follows_it(service: Service, api: Client) -> None:
    accepted, rejected = await request_of(api), await request_of(api, registryId="98-7654321")
    data(await api.post(SIMULATE, {"id": accepted["id"], "action": "accept"}))
    data(await api.post(SIMULATE, {"id": rejected["id"], "action": "reject"}))
    late = data(await api.post(PATH, {"validationRequestId": rejected["id"], **ADA}))
    soon = data(await api.post(PATH, {"validationRequestId": accepted["id"], **ADA, "email": "ada@charity.example"}))
    assert soon["organisation"]["name"] == accepted["name"]
    await service.drain()
    assert (await shown(api, late))["rejectionReasonCode"] == "validation_request_failed"
    # What its own partner said of the website proves nothing about the applicant.
    assert (await shown(api, soon))["status"] == "pending"


async def test_requests_that_are_not_there_are_told(service: Service, api: Client, other: Client) -> None:
    theirs = await request_of(other)
    for wrong in ("", "x", theirs["id"], service.db.deployment.ids.example_id("organisation")):
        found = await refused(api, **ADA, validationRequestId=wrong)
        assert found == (400, "agent_verification/validation_request_not_found"), wrong


async def test_of_random_steps_each_state_is_told_once_and_in_order(service: Service, api: Client) -> None:
    arrows = {
        ("pending", "pending_review"),
        ("pending", "pending_user_verification"),
        ("pending", "rejected"),
        ("pending_review", "approved"),
        ("pending_review", "rejected"),
        ("pending_user_verification", "approved"),
        ("pending_user_verification", "rejected"),
    }
    organisation = await factories.nonprofit(service, website="https://www.charity.example")
    made = [await create(service, api, organisation=organisation, **ELSEWHERE) for _ in range(9)]
    for number, record in enumerate(made):
        for turn in range(4):
            action = ("confirm_email", "approve", "reject")[(number + turn * (number // 3)) % 3]
            await api.post(SIMULATE, {"id": record["id"], "action": action})
    events = await told(service, api)
    for record in made:
        states = ["pending", *(kind for kind, told_of in events if told_of["id"] == record["id"])]
        assert states[-1] == (await shown(api, record))["status"]
        assert set(pairwise(states)) <= arrows
