"""What becomes of monetary donation verifications (spec 3.6; settled 5, 6 and 9)."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import DecisionGrounds, EligibilityStatus
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Partner
from tests.support import factories
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.production import PRODUCTION
from tests.support.service import Service, Tenant, serving
from tests.support.verifications import (
    CHECKS,
    INVALID_STATE,
    LIFETIME,
    NOT_FOUND,
    PATH,
    SIMULATE,
    checks,
    forbidden,
    listed,
    refused,
    shown,
    simulate,
    told,
)


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: months of the shared service's clock would be months of work for all that other tests have left."""
    return alone


@pytest.mark.parametrize(
    ("test", "status", "reason"),
    [("approve", "approved", None), ("reject", "rejected", "other"), ("expire", "expired", None)],
)
async def test_test_values_of_the_sandbox_drive_it(
    service: Service, api: Client, test: str, status: str, reason: str | None
) -> None:
    """Spec 4.11: the answer to the POST does not show it, the next GET does."""
    made = await factories.verification(service, api, test=test)
    assert made["status"]["type"] == "pending"
    assert "-" not in made["organisationId"]
    working = asyncio.create_task(service.drain())

    async def driven() -> dict[str, Any]:
        record = await shown(api, made)
        assert record["status"]["type"] == status
        return record

    record = await eventually(driven)
    await working
    assert record["rejectionReasonCode"] == reason
    assert record["processedAt"] == iso_timestamp(service.clock.now())
    assert [kind for kind, _ in await told(service, api)] == ["received", "progressed", "progressed"]


async def test_a_test_value_does_not_make_an_unlisted_organisation_eligible(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service, active=False)
    made = await factories.verification(service, api, organisation=organisation, test="approve")
    await service.drain()
    assert (await shown(api, made))["rejectionReasonCode"] == "not_eligible"


async def test_every_check_can_be_ended_and_the_last_success_approves(service: Service, api: Client) -> None:
    made = await factories.verification(service, api)
    await service.drain()
    seen = [await shown(api, made)]
    for check in CHECKS[1:]:
        service.clock.advance(minutes=1)
        seen.append(await simulate(api, made, "succeed_check", type=check))
        assert await shown(api, made) == seen[-1]
        assert seen[-1]["updatedAt"] == iso_timestamp(service.clock.now())
    assert [record["status"]["type"] for record in seen] == ["pending"] * 3 + ["approved"]
    assert [record["status"]["awaitingAnswerFromOrganisation"] for record in seen] == [True, True, True, False]
    assert seen[-1]["checks"] == checks(**dict.fromkeys(CHECKS, "succeeded"))
    assert (seen[-1]["expiresAt"], seen[-1]["processedAt"]) == (None, iso_timestamp(service.clock.now()))
    assert [record for _, record in await told(service, api)] == [made, *seen]


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("registration", "not_eligible"),
        ("compliance", "failed_compliance"),
        ("bank_details", "other"),
        ("organisation_confirmation", "declined_by_organisation"),
    ],
)
async def test_a_failed_check_rejects_with_its_reason(service: Service, api: Client, check: str, reason: str) -> None:
    made = await factories.verification(service, api)
    if check != "registration":
        await service.drain()
    failed = await simulate(api, made, "fail_check", type=check)
    assert (failed["status"]["type"], failed["rejectionReasonCode"]) == ("rejected", reason)
    assert {"type": check, "status": "failed"} in failed["checks"]
    await service.drain()
    assert await shown(api, made) == failed, "the automatic check comes too late to change anything"
    assert (await told(service, api))[-1] == ("progressed", failed)


async def test_decisions_need_not_wait_for_the_automatic_check(service: Service, api: Client) -> None:
    made = await factories.verification(service, api)
    approved = await simulate(api, made, "approve")
    assert (approved["status"]["type"], approved["rejectionReasonCode"]) == ("approved", None)
    assert approved["checks"] == checks(**dict.fromkeys(CHECKS, "succeeded"))
    await service.drain()
    assert await shown(api, made) == approved
    unlisted = await factories.nonprofit(service, active=False)
    hopeless = await factories.verification(service, api, organisation=unlisted)
    answer = await api.post(SIMULATE, {"id": hopeless["id"], "action": "approve"})
    assert (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE
    assert "register lists as active" in answer.json()["error"]["reasons"][0]
    assert await shown(api, hopeless) == hopeless


async def test_s1_moves_that_the_lifecycle_does_not_know_are_refused(service: Service, api: Client) -> None:
    allowed = {
        "pending": {"approve", "reject", "expire", "succeed_check", "fail_check"},
        "approved": set(),
        "rejected": {"reopen"},
        "expired": {"reopen"},
    }
    ways = {"pending": None, "approved": "approve", "rejected": "reject", "expired": "expire"}
    for status, way in ways.items():
        made = await factories.verification(service, api)
        if way:
            await simulate(api, made, way)
        for action in ("approve", "reject", "expire", "reopen", "succeed_check", "fail_check"):
            if action not in allowed[status]:
                assert await forbidden(api, made, action, type="compliance"), (status, action)
    ended = await factories.verification(service, api)
    await simulate(api, ended, "succeed_check", type="compliance")
    for action in ("succeed_check", "fail_check"):
        assert await forbidden(api, ended, action, type="compliance")


async def test_simulations_name_what_they_lack_and_what_they_cannot_do(
    service: Service, api: Client, other: Client
) -> None:
    made = await factories.verification(service, api)
    missing = await api.post(SIMULATE, {"id": made["id"], "action": "fail_check"})
    assert missing.json()["error"]["reasons"] == ["body.type is required for this action"]
    for client, action in ((other, "approve"), (api, "pay")):
        answer = await client.post(SIMULATE, {"id": made["id"], "action": action})
        assert answer.json()["error"]["code"] == "sandbox/record_not_found"
    for wrong in ({"type": "luck"}, {"rejectionReasonCode": "mood"}):
        answer = await api.post(SIMULATE, {"id": made["id"], "action": "reject", **wrong})
        assert answer.json()["error"]["code"] == "bad_request"
    rejected = await simulate(api, made, "reject", rejectionReasonCode="no_response")
    assert rejected["rejectionReasonCode"] == "no_response"


@pytest.mark.parametrize("way", ["reject", "expire"])
async def test_a_reopened_one_begins_anew(service: Service, api: Client, way: str) -> None:
    made = await factories.verification(service, api)
    await service.drain()
    await simulate(api, made, way)
    service.clock.advance(days=40)
    now = service.clock.now()
    reopened = await simulate(api, made, "reopen")
    assert reopened == {**made, "updatedAt": iso_timestamp(now), "expiresAt": iso_timestamp(now + LIFETIME)}
    await service.drain()
    checked = await shown(api, made)
    assert checked["checks"] == checks(registration="succeeded")
    assert [record for _, record in (await told(service, api))[-2:]] == [reopened, checked]
    assert (await simulate(api, made, "approve"))["status"]["type"] == "approved"


async def test_one_is_not_reopened_beside_another_that_counts(service: Service, api: Client) -> None:
    first = await factories.verification(service, api)
    await simulate(api, first, "reject")
    second = await factories.verification(service, api, organisation=first["organisationId"])
    assert await forbidden(api, first, "reopen")
    await simulate(api, second, "reject")
    answers = await asyncio.gather(
        *(api.post(SIMULATE, {"id": record["id"], "action": "reopen"}) for record in (first, second))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 400]
    assert (await listed(api, status="pending"))[1] == 1


@pytest.mark.parametrize("late", [timedelta(milliseconds=-1), timedelta(), timedelta(milliseconds=1)])
async def test_s3_expiry_is_exact_whether_or_not_a_sweep_has_recorded_it(
    service: Service, api: Client, late: timedelta
) -> None:
    """Nothing sweeps here: reading, lists, new ones and decisions know the moment by themselves."""
    made = await factories.verification(service, api)
    ends = service.clock.now() + LIFETIME
    service.clock.advance_to(ends + late)
    expired = late >= timedelta()
    seen = await shown(api, made)
    if not expired:
        assert seen == made
        assert await listed(api, status="pending") == ([made["id"]], 1)
        assert await listed(api, status="expired") == ([], 0)
        assert await refused(api, organisationId=made["organisationId"]) == INVALID_STATE
        assert (await simulate(api, made, "approve"))["status"]["type"] == "approved"
        return
    status = {"type": "expired", "awaitingAnswerFromOrganisation": False}
    assert seen == {**made, "status": status, "updatedAt": iso_timestamp(ends), "processedAt": iso_timestamp(ends)}
    assert await listed(api, status="expired") == ([made["id"]], 1)
    assert await listed(api, status="pending") == ([], 0)
    assert data(await api.get(PATH)) == [seen]
    for action in ("approve", "reject", "expire", "succeed_check"):
        assert await forbidden(api, made, action, type="compliance"), action
    async with service.db.write() as tx:
        assert await verifications.expire_due_verifications(tx, 1_000_000) >= 1
    assert await shown(api, made) == seen, "recording it changes nothing that can be read"
    assert (await told(service, api))[-1] == ("progressed", seen)


async def test_s3_an_overdue_one_makes_room_and_is_reopened_before_any_sweep(service: Service, api: Client) -> None:
    made = await factories.verification(service, api)
    service.clock.advance(LIFETIME)
    again = await factories.verification(service, api, organisation=made["organisationId"])
    assert (await shown(api, made))["status"]["type"] == "expired"
    assert await listed(api, status="pending") == ([again["id"]], 1)
    service.clock.advance(LIFETIME)
    assert (await simulate(api, made, "reopen"))["status"]["type"] == "pending"
    kinds = [(kind, record["id"], record["status"]["type"]) for kind, record in await told(service, api)]
    assert kinds[:4] == [
        ("received", made["id"], "pending"),
        ("progressed", made["id"], "expired"),
        ("received", again["id"], "pending"),
        ("progressed", again["id"], "expired"),
    ]


async def test_the_sweep_records_and_tells_each_expiry_once(service: Service, api: Client) -> None:
    made = [await factories.verification(service, api) for _ in range(3)]
    await service.drain()
    service.clock.advance(LIFETIME)
    await service.drain()
    await service.drain()
    expired = [record["id"] for _, record in await told(service, api) if record["status"]["type"] == "expired"]
    assert sorted(expired) == sorted(record["id"] for record in made)


async def test_what_stands_in_the_way_of_being_paid(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    expected, ids = {}, service.db.deployment.ids
    for action, standing in (
        ("approve", EligibilityStatus.APPROVED),
        ("reject", EligibilityStatus.REJECTED),
        ("expire", EligibilityStatus.EXPIRED),
        (None, EligibilityStatus.PENDING),
    ):
        made = await factories.verification(service, api)
        if action:
            await simulate(api, made, action)
        expected[made["organisationId"]] = standing
    stranger = await factories.verification(service, other)
    await simulate(other, stranger, "approve")
    expected[stranger["organisationId"]] = EligibilityStatus.MISSING
    # The one that counts wins over those that ended; else the one that ended last.
    twice = await factories.verification(service, api)
    await simulate(api, twice, "reject")
    approved = await factories.verification(service, api, organisation=twice["organisationId"])
    await simulate(api, approved, "approve")
    expected[twice["organisationId"]] = EligibilityStatus.APPROVED
    ended = await factories.verification(service, api)
    await simulate(api, ended, "reject")
    later = await factories.verification(service, api, organisation=ended["organisationId"])
    await simulate(api, later, "reject")
    service.clock.advance(minutes=1)
    await simulate(api, ended, "reopen")
    await simulate(api, ended, "expire")
    expected[ended["organisationId"]] = EligibilityStatus.EXPIRED
    assert await standings(service, tenant.partner, expected) == expected
    service.clock.advance(LIFETIME)
    pending = next(name for name, standing in expected.items() if standing is EligibilityStatus.PENDING)
    assert await standings(service, tenant.partner, expected) == {**expected, pending: EligibilityStatus.EXPIRED}
    assert ids.decode("organisation", pending)


async def standings(
    service: Service, partner: Partner, organisations: dict[str, EligibilityStatus]
) -> dict[str, EligibilityStatus]:
    """As payouts ask for them."""
    ids = service.db.deployment.ids
    known = {ids.decode("organisation", name): name for name in organisations}
    async with service.db.read() as tx:
        found = await verifications.load_eligibility_by_organisation(tx, partner, [id_ for id_ in known if id_])
    return {known[id_]: standing for id_, standing in found.items()}


async def test_what_officers_decided_stays_with_who_and_why(service: Service, api: Client) -> None:
    made = await factories.verification(service, api)
    verification_id = service.db.deployment.ids.decode("monetarydonationverification", made["id"])
    assert verification_id is not None
    await simulate(api, made, "reject", rejectionReasonCode="no_response")
    await simulate(api, made, "reopen")
    await simulate(api, made, "approve")
    async with service.db.read() as tx:
        history = await verifications.list_decisions(tx, verification_id)
    evidence = DecisionGrounds("sandbox", "Simulated by the partner.")
    assert [(one.decision, one.reason) for one in history] == [
        ("rejected", "no_response"),
        ("reopened", None),
        ("approved", None),
    ]
    assert {one.grounds for one in history} == {evidence}


async def test_in_production_a_test_value_is_a_wrong_id_and_nothing_is_simulated(empty_database: TestDatabase) -> None:
    async with serving(empty_database, **PRODUCTION) as service:
        api = service.client((await service.tenant()).secret)
        organisation = await factories.nonprofit(service)
        assert await refused(api, organisationId=f"{organisation}-monetaryDonation:approve") == NOT_FOUND
        made = await factories.verification(service, api, organisation=organisation)
        await service.drain()
        assert (await shown(api, made))["checks"] == checks(registration="succeeded")
        assert (await api.post(SIMULATE, {"id": made["id"], "action": "approve"})).status_code == 404
        await api.close()
