"""Agent verifications on the wire (spec 2.2 and 4.1; settled 4 and 8)."""

import asyncio
from datetime import timedelta

from almoner.kit.time import iso_timestamp
from tests.support import factories
from tests.support.agents import ADA, PATH, create, listed, refused, shown
from tests.support.client import Client, data
from tests.support.service import Service


async def test_the_record_of_a_new_one(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service, name="Hill Road Relief")
    body = {"organisationId": organisation, **ADA, "title": "Treasurer", "language": "fr-CA"}
    answer = await api.post(PATH, {**body, "organisationWebsite": "www.charity.example"})
    made = data(answer)
    assert answer.json()["object"] == "agent_verification"
    assert made == {
        "id": made["id"],
        **ADA,
        "title": "Treasurer",
        "organisationId": organisation,
        "organisation": {"id": organisation, "name": "Hill Road Relief", "email": None},
        "validationRequestId": None,
        "validationRequest": None,
        "language": "fr-CA",
        "status": "pending",
        "rejectionReason": None,
        "rejectionReasonCode": None,
        "metadata": None,
        "externalActionRequired": True,
        "createdAt": iso_timestamp(service.clock.now()),
    }
    assert service.db.deployment.ids.decode("agentverification", made["id"])
    assert await shown(api, made) == made
    assert data(await api.get(PATH)) == [made]


async def test_everything_wrong_is_told_at_once(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    wrong = {"organisationId": organisation, "firstName": 1, "lastName": "x" * 256, "email": "ada", "language": "1"}
    answer = await api.post(PATH, {**wrong, "title": 7, "organisationWebsite": "w" * 256})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "bad_request")
    named = {reason.split()[0].removeprefix("body.") for reason in error["reasons"]}
    assert named == {"firstName", "lastName", "email", "language", "title", "organisationWebsite"}
    assert await refused(api) == (400, "bad_request")
    assert await refused(api, **ADA) == (400, "bad_request")
    ids = service.db.deployment.ids
    both = {"organisationId": organisation, "validationRequestId": ids.example_id("validationrequest")}
    assert await refused(api, **ADA, **both) == (400, "bad_request")
    assert await listed(api) == ([], 0)


async def test_u8_one_name_is_enough(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    for first, last in (("Suharto", ""), ("\u200b", "Sukarno")):
        made = await create(service, api, firstName=first, lastName=last)
        assert (made["firstName"], made["lastName"]) == (first.strip("\u200b"), last)
    answer = await api.post(PATH, {**ADA, "organisationId": organisation, "firstName": "\u200b", "lastName": " "})
    assert answer.json()["error"]["reasons"] == ["body must have a firstName or a lastName"]


async def test_which_nonprofit_is_asked_for_with_all_the_rest(service: Service, api: Client) -> None:
    which = "body must have either organisationId or validationRequestId"
    required = [f"body.{name} is required" for name in ("firstName", "lastName", "email")]
    ids = service.db.deployment.ids
    one, other = ids.example_id("organisation"), ids.example_id("validationrequest")
    for given, reported in (
        ({}, [*required, which]),
        ({"organisationId": one, "validationRequestId": other}, [*required, which]),
        ({"organisationId": None, "validationRequestId": other}, required),
        ({"organisationId": 7}, [*required, "body.organisationId must be a string"]),
    ):
        error = (await api.post(PATH, given)).json()["error"]
        assert (error["code"], error["reasons"]) == ("bad_request", reported), given


async def test_what_nobody_types_is_not_kept_and_a_website_is_one(service: Service, api: Client) -> None:
    made = await create(service, api, firstName="Ada\r\nBcc: x@y.example", lastName="\x1bByron", title="Treas\turer")
    assert (made["firstName"], made["lastName"], made["title"]) == ("Ada Bcc: x@y.example", "Byron", "Treas urer")
    organisation = await factories.nonprofit(service)
    for website in ("javascript:alert(1)", "no website", "ada@charity.example"):
        body = {"organisationId": organisation, **ADA, "organisationWebsite": website}
        answer = await api.post(PATH, body)
        reasons = ["body.organisationWebsite must be a web address such as https://example.org"]
        assert (answer.status_code, answer.json()["error"]["reasons"]) == (400, reasons)
    for given in ("", None, "charity.example/about"):
        assert (await create(service, api, organisationWebsite=given))["status"] == "pending"


async def test_organisations_that_are_not_there_are_told(service: Service, api: Client, other: Client) -> None:
    ids = service.db.deployment.ids
    for wrong in ("", "x", ids.example_id("organisation"), ids.example_id("donation")):
        found = await refused(api, **ADA, organisationId=wrong)
        assert found == (400, "agent_verification/organisation_not_found"), wrong


async def test_i1_a_repeated_creation_is_answered_and_not_done_again(service: Service, api: Client) -> None:
    body = {"organisationId": await factories.nonprofit(service), **ADA}
    first = await api.post(PATH, body, idempotency_key="agent")
    again = await api.post(PATH, body, idempotency_key="agent")
    assert (first.status_code, again.content) == (200, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert (await listed(api))[1] == 1


async def test_metadata_are_merged_key_by_key_and_nothing_else_changes(service: Service, api: Client) -> None:
    made = await create(service, api)
    path = f"{PATH}/{made['id']}"
    changed = data(await api.patch(path, {"metadata": {"a": "1", "b": "2"}}))
    assert changed == {**made, "metadata": {"a": "1", "b": "2"}}
    changed = data(await api.patch(path, {"metadata": {"a": None, "b": "3", "c": "4"}}))
    assert changed["metadata"] == {"b": "3", "c": "4"}
    assert await shown(api, made) == changed
    assert data(await api.patch(path, {})) == changed
    assert data(await api.patch(path, {"metadata": None}))["metadata"] is None
    for wrong in ({str(number): "x" for number in range(21)}, {"k" * 41: "x"}, {"k": "v" * 251}):
        answer = await api.patch(path, {"metadata": wrong})
        code = answer.json()["error"]["code"]
        assert (answer.status_code, code) == (400, "agent_verification/invalid_metadata")
    answer = await api.patch(path, {"metadata": {"a": 7, "k" * 41: "x", "b": ["x"], "c": None}})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "agent_verification/invalid_metadata")
    assert error["reasons"] == [
        "body.metadata.a must be a string or null",
        f"body.metadata key '{'k' * 40}...' is longer than 40 characters",
        "body.metadata.b must be a string or null",
    ]
    full = {str(number): "x" for number in range(20)}
    assert data(await api.patch(path, {"metadata": full}))["metadata"] == full
    answer = await api.patch(path, {"metadata": {"one more": "x"}})
    assert answer.json()["error"]["code"] == "agent_verification/invalid_metadata"


async def test_s2_no_key_is_lost_when_many_change_metadata_at_once(service: Service, api: Client) -> None:
    path = f"{PATH}/{(await create(service, api))['id']}"
    await asyncio.gather(*(api.patch(path, {"metadata": {f"key{number}": "x"}}) for number in range(20)))
    assert len(data(await api.get(path))["metadata"]) == 20


async def test_every_filter_narrows_list_and_total(service: Service, api: Client, other: Client) -> None:
    first = await create(service, api, email="Eve@Charity.example")
    started = service.clock.now()
    service.clock.advance(hours=1)
    second = await create(service, api)
    await create(service, other)
    everything = [second["id"], first["id"]]
    assert await listed(api) == (everything, 2)
    assert await listed(api, direction="ASC") == (everything[::-1], 2)
    assert await listed(api, email="eve@charity.EXAMPLE") == ([first["id"]], 1)
    assert await listed(api, email="charity.example") == ([], 0)
    assert await listed(api, startDate=iso_timestamp(started + timedelta(hours=1))) == ([second["id"]], 1)
    assert await listed(api, endDate=iso_timestamp(started + timedelta(hours=1))) == ([first["id"]], 1)
    assert await listed(api, startDate=iso_timestamp(started), endDate=iso_timestamp(started)) == ([], 0)
    assert await listed(api, status="pending", email="eve@charity.example") == ([first["id"]], 1)
    for status in ("pending_user_verification", "pending_review", "approved", "rejected"):
        assert await listed(api, status=status) == ([], 0)
    for field in ("status", "startDate", "endDate"):
        answer = await api.get(f"{PATH}?{field}=nowhere")
        assert answer.json()["error"]["reasons"][0].startswith(f"query.{field}")


async def test_pages_keep_their_filters(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    made = [(await create(service, api, organisation=organisation))["id"] for _ in range(5)]
    await create(service, api, organisation=organisation, email="eve@other.example")
    answer = (await api.get(PATH, email=ADA["email"], pageSize=2)).json()
    seen = [row["id"] for row in answer["data"]]
    while answer["_links"]["next"]:
        answer = (await api.request("GET", answer["_links"]["next"])).json()
        assert answer["totalResults"] == 5
        seen += [row["id"] for row in answer["data"]]
    assert seen == made[::-1]
