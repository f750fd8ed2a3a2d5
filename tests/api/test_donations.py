"""Reading donations and changing their metadata (spec 2.8; settled 1, 4, 8)."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from almoner.kit.time import iso_timestamp
from tests.support import factories
from tests.support import giving as support
from tests.support.client import Client, data
from tests.support.giving import DAY, gift
from tests.support.service import Service


async def promised(service: Service, api: Client, **body: Any) -> dict[str, Any]:
    """A donation that waits for its money."""
    giving = await support.open_session(service, api, **body)
    await giving.begin()
    return (await giving.donations())[0]


async def listed(api: Client, **query: Any) -> tuple[list[str], int]:
    """Ids and total of a list."""
    answer = await api.get("/v1/donations", **query)
    assert answer.status_code == 200, answer.text
    return [row["id"] for row in answer.json()["data"]], answer.json()["totalResults"]


async def test_every_filter_narrows_list_and_total(service: Service, api: Client, other: Client) -> None:
    user, organisation = (await factories.user(api))["id"], await factories.nonprofit(service)
    first = await promised(service, api, userId=user)
    service.clock.advance(hours=1)
    moment = iso_timestamp(service.clock.now())
    second = await promised(service, api, organisation=organisation)
    third = await promised(service, api, organisation=organisation, userId=user)
    await promised(service, other)
    everything = [third["id"], second["id"], first["id"]]
    assert await listed(api) == (everything, 3)
    assert await listed(api, userId=user) == ([third["id"], first["id"]], 2)
    assert await listed(api, organisationId=organisation) == ([third["id"], second["id"]], 2)
    assert await listed(api, organisationId=organisation, userId=user) == ([third["id"]], 1)
    assert await listed(api, status="REQUESTED_PAYMENT") == (everything, 3)
    assert await listed(api, status="CANCELLED") == ([], 0)
    assert await listed(api, startDate=moment) == ([third["id"], second["id"]], 2)
    assert await listed(api, endDate=moment) == ([first["id"]], 1)
    assert await listed(api, startDate=moment, endDate=moment) == ([], 0)
    assert await listed(api, direction="ASC") == (everything[::-1], 3)
    assert await listed(api, userId=service.db.deployment.ids.example_id("user")) == ([], 0)


async def test_a_session_leads_to_its_donation(service: Service, api: Client, other: Client) -> None:
    giving = await support.open_session(service, api)
    path = f"/v1/donation-sessions/{giving.session['id']}"
    assert giving.session["donationId"] is None
    await giving.begin()
    (waiting,), total = await listed(api, sessionId=giving.session["id"])
    assert total == 1
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    assert data(await api.get(path))["donationId"] == waiting
    assert data(await api.get("/v1/donation-sessions"))[0]["donationId"] == waiting
    await promised(service, api)
    assert await listed(api, sessionId=giving.session["id"]) == ([waiting], 1)
    assert await listed(api, sessionId=giving.session["id"], status="CANCELLED") == ([], 0)
    assert await listed(other, sessionId=giving.session["id"]) == ([], 0)


async def test_an_address_leads_to_its_donations(service: Service, api: Client, other: Client) -> None:
    mine = [(await promised(service, api))["id"] for _ in range(3)][::-1]
    giving = await support.open_session(service, api)
    await giving.begin(support.gift(email="eve@example.org"))
    assert await listed(api, email="ADA@example.org") == (mine, 3)
    assert len((await listed(api, email="eve@example.org"))[0]) == 1
    assert await listed(api, email="example.org") == ([], 0)
    assert await listed(other, email="ada@example.org") == ([], 0)
    first = await api.get("/v1/donations", email="ada@example.org", pageSize=2, status="REQUESTED_PAYMENT")
    assert ([row["id"] for row in data(first)], first.json()["totalResults"]) == (mine[:2], 3)
    following = await api.get(first.json()["_links"]["next"])
    assert [row["id"] for row in data(following)] == mine[2:]
    assert [row["id"] for row in data(await api.get(following.json()["_links"]["prev"]))] == mine[:2]
    async with service.db.write() as tx:
        await tx.execute("update partner set shares_donor_details = false")
    assert await listed(api, email="ada@example.org") == ([], 0)  # what it is not shown it is not told either


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"firstName": "Sukarno"}, ("Sukarno", "")),
        ({"firstName": "", "lastName": "Sukarno"}, ("", "Sukarno")),
        ({"firstName": " ", "lastName": ""}, (None, None)),
        ({}, (None, None)),
    ],
)
async def test_one_name_is_enough(service: Service, api: Client, given: dict[str, str], shown: tuple[str, str]) -> None:
    body = {"organisationId": await factories.nonprofit(service), "amount": 100, "currencyCode": "USD", **given}
    made = data(await api.post("/v1/donations", body))
    assert (made["firstName"], made["lastName"]) == shown
    assert data(await api.get(f"/v1/donations/{made['id']}")) == made


async def test_a_simulated_donor_may_have_one_name(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    gift = {"id": session["id"], "action": "donate", "amount": 2500, "email": "ada@example.org"}
    missing = await api.post("/v1/sandbox/simulate", gift)
    assert missing.json()["error"]["reasons"] == ["body.firstName is required for this action"]
    done = data(await api.post("/v1/sandbox/simulate", {**gift, "lastName": "Sukarno"}))
    donation = data(await api.get(f"/v1/donations/{done['donationId']}"))
    assert (donation["firstName"], donation["lastName"]) == ("", "Sukarno")


async def test_days_begin_at_midnight_utc_and_offsets_are_understood(service: Service, api: Client) -> None:
    made = await promised(service, api)
    created = service.clock.now()
    day, next_day = created.date().isoformat(), (created.date() + timedelta(days=1)).isoformat()
    assert await listed(api, startDate=day, endDate=next_day) == ([made["id"]], 1)
    assert await listed(api, startDate=next_day) == ([], 0)
    local = (created + timedelta(hours=2)).isoformat(timespec="milliseconds").replace("+00:00", "+02:00")
    assert await listed(api, startDate=local) == ([made["id"]], 1)


async def test_status_filters_follow_the_donation(service: Service, api: Client) -> None:
    paid, abandoned = await support.open_session(service, api), await support.open_session(service, api)
    for giving in (paid, abandoned):
        await giving.begin()
    paid.provider.pay_with_card(paid.provider.only())
    await paid.come_back()
    service.clock.advance(DAY)
    await abandoned.sweep()
    assert (await listed(api, status="RECEIVED_PAYMENT"))[1] == 1
    assert (await listed(api, status="CANCELLED"))[1] == 1
    assert (await listed(api, status="REQUESTED_PAYMENT"))[1] == 0
    assert (await listed(api))[1] == 2


async def test_pages_keep_their_filters(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    made = [(await promised(service, api, organisation=organisation))["id"] for _ in range(5)]
    await promised(service, api)
    answer = (await api.get("/v1/donations", organisationId=organisation, pageSize=2)).json()
    seen = [row["id"] for row in answer["data"]]
    while answer["_links"]["next"]:
        answer = (await api.request("GET", answer["_links"]["next"])).json()
        assert answer["totalResults"] == 5
        seen += [row["id"] for row in answer["data"]]
    assert seen == made[::-1]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"userId": "nobody"}, "userId"),
        ({"organisationId": "nowhere"}, "organisationId"),
        ({"status": "LOST"}, "status"),
        ({"startDate": "yesterday"}, "startDate"),
        ({"endDate": "2026-02-30"}, "endDate"),
    ],
)
async def test_filters_that_make_no_sense_are_refused(api: Client, query: dict[str, Any], field: str) -> None:
    answer = await api.get("/v1/donations", **query)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
    assert answer.json()["error"]["reasons"][0].startswith(f"query.{field}")


async def test_metadata_are_merged_key_by_key(service: Service, api: Client) -> None:
    made = await promised(service, api, metadata={"a": "1", "b": "2"})
    path = f"/v1/donations/{made['id']}"
    changed = data(await api.patch(path, {"metadata": {"b": None, "c": "3"}}))
    assert changed == {**made, "metadata": {"a": "1", "c": "3"}}
    assert data(await api.get(path)) == changed
    assert data(await api.patch(path, {})) == changed
    assert data(await api.patch(path, {"metadata": {}})) == changed
    assert data(await api.patch(path, {"metadata": None}))["metadata"] == {}


@pytest.mark.parametrize(
    "metadata", [{str(number): "x" for number in range(21)}, {"k" * 41: "x"}, {"k": "v" * 251}, {"": "x"}]
)
async def test_metadata_beyond_the_limits_are_refused(service: Service, api: Client, metadata: dict[str, str]) -> None:
    made = await promised(service, api, metadata={"kept": "1"})
    answer = await api.patch(f"/v1/donations/{made['id']}", {"metadata": metadata})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "donation/invalid_metadata")
    assert data(await api.get(f"/v1/donations/{made['id']}"))["metadata"] == {"kept": "1"}


async def test_the_sum_of_old_and_new_keys_counts(service: Service, api: Client) -> None:
    made = await promised(service, api, metadata={f"old{number}": "x" for number in range(15)})
    path = f"/v1/donations/{made['id']}"
    too_many = {f"new{number}": "x" for number in range(6)}
    assert (await api.patch(path, {"metadata": too_many})).json()["error"]["code"] == "donation/invalid_metadata"
    assert len(data(await api.patch(path, {"metadata": {**too_many, "old0": None}}))["metadata"]) == 20


async def test_s2_no_key_is_lost_when_many_change_metadata_at_once(service: Service, api: Client) -> None:
    made = await promised(service, api)
    path = f"/v1/donations/{made['id']}"
    await asyncio.gather(*(api.patch(path, {"metadata": {f"key{number}": "x"}}) for number in range(20)))
    assert len(data(await api.get(path))["metadata"]) == 20


async def test_the_largest_amount_goes_through_unharmed(service: Service, api: Client) -> None:
    giving = await support.open_session(service, api)
    await giving.begin(gift(2**53 - 1))
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    assert [(row["amount"], row["status"]) for row in await giving.donations()] == [(2**53 - 1, "RECEIVED_PAYMENT")]
