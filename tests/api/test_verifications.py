"""Monetary donation verifications on the wire (spec 2.10; settled 4, 6 and 8)."""

import asyncio

from almoner.kit.time import iso_timestamp
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.verifications import (
    INVALID_STATE,
    LIFETIME,
    NOT_FOUND,
    PATH,
    checks,
    listed,
    refused,
    shown,
    simulate,
    told,
)


async def test_the_record_of_a_new_one_and_its_first_check(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    now = service.clock.now()
    answer = await api.post(PATH, {"organisationId": organisation, "metadata": {"case": "7"}})
    made = data(answer)
    assert answer.json()["object"] == "monetary_donation_verification"
    assert made == {
        "id": made["id"],
        "organisationId": organisation,
        "status": {"type": "pending", "awaitingAnswerFromOrganisation": False},
        "checks": checks(),
        "rejectionReasonCode": None,
        "metadata": {"case": "7"},
        "createdAt": iso_timestamp(now),
        "updatedAt": iso_timestamp(now),
        "expiresAt": iso_timestamp(now + LIFETIME),
        "processedAt": None,
    }
    assert service.db.deployment.ids.decode("monetarydonationverification", made["id"])
    assert await shown(api, made) == made
    service.clock.advance(seconds=1)
    await service.drain()
    checked = {
        **made,
        "status": {"type": "pending", "awaitingAnswerFromOrganisation": True},
        "checks": checks(registration="succeeded"),
        "updatedAt": iso_timestamp(service.clock.now()),
    }
    assert await shown(api, made) == checked
    assert await told(service, api) == [("received", made), ("progressed", checked)]


async def test_a_register_that_does_not_list_it_as_active_rejects_it(service: Service, api: Client) -> None:
    made = await factories.verification(service, api, organisation=await factories.nonprofit(service, active=False))
    rejected = await told(service, api)
    assert [kind for kind, _ in rejected] == ["received", "progressed"]
    record = await shown(api, made)
    assert record == rejected[1][1]
    assert record["status"] == {"type": "rejected", "awaitingAnswerFromOrganisation": False}
    assert (record["rejectionReasonCode"], record["checks"]) == ("not_eligible", checks(registration="failed"))
    assert (record["expiresAt"], record["processedAt"]) == (None, iso_timestamp(service.clock.now()))


async def test_organisations_that_are_not_there_are_told(service: Service, api: Client, other: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    ids = service.db.deployment.ids
    for wrong in (
        "",
        "x",
        ids.example_id("organisation"),
        ids.example_id("donation"),
        nonprofit.upper(),
        nonprofit + "x",
    ):
        assert await refused(api, organisationId=wrong) == NOT_FOUND, wrong
    assert await refused(api, organisationId=f"{nonprofit}-monetaryDonation:dance") == NOT_FOUND
    assert await refused(api) == (400, "bad_request")
    assert await listed(api) == ([], 0)


async def test_an_organisation_has_one_that_is_pending_or_approved(
    service: Service, api: Client, other: Client
) -> None:
    organisation = await factories.nonprofit(service)
    made = await factories.verification(service, api, organisation=organisation)
    for status in ("pending", "approved"):
        answer = await api.post(PATH, {"organisationId": organisation})
        assert (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE
        assert answer.json()["error"]["reasons"] == [f"the organisation has {made['id']}, which is {status}"]
        if status == "pending":
            await simulate(api, made, "approve")
    # Another partner asks for itself.
    await factories.verification(service, other, organisation=organisation)
    rejected = await factories.verification(service, api)
    await simulate(api, rejected, "reject")
    again = await factories.verification(service, api, organisation=rejected["organisationId"])
    assert await listed(api, organisationId=rejected["organisationId"]) == ([again["id"], rejected["id"]], 2)


async def test_of_many_at_once_one_is_made(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    answers = await asyncio.gather(*(api.post(PATH, {"organisationId": organisation}) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 9
    assert {answer.json()["error"]["code"] for answer in answers if answer.status_code == 400} == {INVALID_STATE[1]}
    assert (await listed(api))[1] == 1


async def test_i1_a_repeated_creation_is_answered_and_not_done_again(service: Service, api: Client) -> None:
    body = {"organisationId": await factories.nonprofit(service)}
    first = await api.post(PATH, body, idempotency_key="verify")
    again = await api.post(PATH, body, idempotency_key="verify")
    assert (first.status_code, again.content) == (200, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert (await listed(api))[1] == 1
    other_data = await api.post(PATH, {**body, "metadata": {"a": "1"}}, idempotency_key="verify")
    assert other_data.json()["error"]["code"] == "idempotency/same_key_different_data"


async def test_metadata_are_merged_key_by_key(service: Service, api: Client) -> None:
    made = await factories.verification(service, api, metadata={"a": "1", "b": "2"})
    service.clock.advance(minutes=1)
    path = f"{PATH}/{made['id']}"
    changed = data(await api.patch(path, {"metadata": {"b": None, "c": "3"}}))
    assert changed == {**made, "metadata": {"a": "1", "c": "3"}, "updatedAt": iso_timestamp(service.clock.now())}
    assert await shown(api, made) == changed
    assert data(await api.patch(path, {})) == changed
    assert data(await api.patch(path, {"metadata": None}))["metadata"] is None
    assert data(await api.patch(path, {"metadata": {"d": "4"}}))["metadata"] == {"d": "4"}
    for wrong in ({str(number): "x" for number in range(21)}, {"k" * 41: "x"}, {"k": "v" * 251}, {"": "x"}):
        for answer in (
            await api.patch(path, {"metadata": wrong}),
            await api.post(PATH, {"organisationId": await factories.nonprofit(service), "metadata": wrong}),
        ):
            code = answer.json()["error"]["code"]
            assert (answer.status_code, code) == (400, "monetary_donation_verification/invalid_metadata")
    assert (await shown(api, made))["metadata"] == {"d": "4"}


async def test_s2_no_key_is_lost_when_many_change_metadata_at_once(service: Service, api: Client) -> None:
    path = f"{PATH}/{(await factories.verification(service, api))['id']}"
    await asyncio.gather(*(api.patch(path, {"metadata": {f"key{number}": "x"}}) for number in range(20)))
    assert len(data(await api.get(path))["metadata"]) == 20


async def test_every_filter_narrows_list_and_total(service: Service, api: Client, other: Client) -> None:
    made = {}
    for action in ("approve", "reject", "expire"):
        made[action] = await factories.verification(service, api)
        await simulate(api, made[action], action)
    pending = await factories.verification(service, api)
    await factories.verification(service, other)
    everything = [pending["id"], made["expire"]["id"], made["reject"]["id"], made["approve"]["id"]]
    assert await listed(api) == (everything, 4)
    assert await listed(api, direction="ASC") == (everything[::-1], 4)
    for status, record in {
        "pending": pending,
        "approved": made["approve"],
        "rejected": made["reject"],
        "expired": made["expire"],
    }.items():
        assert await listed(api, status=status) == ([record["id"]], 1)
        assert await listed(api, organisationId=record["organisationId"], status=status) == ([record["id"]], 1)
    assert await listed(api, organisationId=pending["organisationId"], status="approved") == ([], 0)
    assert await listed(api, organisationId=service.db.deployment.ids.example_id("organisation")) == ([], 0)
    for field in ("status", "organisationId"):
        answer = await api.get(f"{PATH}?{field}=nowhere")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
        assert answer.json()["error"]["reasons"][0].startswith(f"query.{field}")


async def test_pages_keep_their_filters(service: Service, api: Client) -> None:
    made = [(await factories.verification(service, api))["id"] for _ in range(5)]
    await simulate(api, await factories.verification(service, api), "reject")
    answer = (await api.get(PATH, status="pending", pageSize=2)).json()
    seen = [row["id"] for row in answer["data"]]
    while answer["_links"]["next"]:
        answer = (await api.request("GET", answer["_links"]["next"])).json()
        assert answer["totalResults"] == 5
        seen += [row["id"] for row in answer["data"]]
    assert seen == made[::-1]
    back = (await api.request("GET", answer["_links"]["prev"])).json()
    assert [row["id"] for row in back["data"]] == made[::-1][2:4]
