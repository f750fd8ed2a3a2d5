"""Keys see who donors are with the scope ``donations:personal`` alone: in records, lists and events (settled 11)."""

from typing import Any

import pytest

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

NAMES = ("firstName", "lastName", "email")
HOOKS = "/v1/webhook-subscriptions"


@pytest.fixture
async def narrow(service: Service, tenant: Tenant) -> Client:
    """A key with every scope but that one."""
    return service.client(await service.key(tenant.partner, "secret", "*"))


async def given(service: Service, api: Client) -> dict[str, Any]:
    """A donation of Ada's."""
    session = await factories.session(service, api)
    gift = {"id": session["id"], "action": "donate", "amount": 2500, "firstName": "Ada", "lastName": "Byron"}
    done = data(await api.post("/v1/sandbox/simulate", {**gift, "email": "ada@example.org"}))
    made: dict[str, Any] = data(await api.get(f"/v1/donations/{done['donationId']}"))
    return made


def hidden(record: dict[str, Any]) -> dict[str, Any]:
    """The record without its donor."""
    return {**record, **dict.fromkeys(NAMES)}


async def test_records_lists_and_events_hide_donors(service: Service, api: Client, narrow: Client) -> None:
    made = await given(service, api)
    assert [made[name] for name in NAMES] == ["Ada", "Byron", "ada@example.org"]
    path = f"/v1/donations/{made['id']}"
    assert data(await narrow.get(path)) == hidden(made)
    assert data(await narrow.get("/v1/donations")) == [hidden(made)]
    assert data(await narrow.patch(path, {"metadata": {"a": "b"}})) == {**hidden(made), "metadata": {"a": "b"}}
    await service.drain()
    known, masked = data(await api.get("/v1/events")), data(await narrow.get("/v1/events"))
    donations = [event for event in known if event["eventType"].startswith("donation.")]
    assert {event["eventData"]["email"] for event in donations} == {"ada@example.org"}
    assert masked == [
        {**event, "eventData": hidden(event["eventData"])} if event in donations else event for event in known
    ]
    assert data(await narrow.get(f"/v1/events/{donations[0]['id']}"))["eventData"]["email"] is None
    answer = await narrow.get("/v1/donations", email="ada@example.org")
    assert answer.status_code == 403
    assert answer.json()["error"]["reasons"] == ["query.email needs a key with the scope donations:personal"]
    settled = {"id": made["id"], "action": "settle"}
    assert data(await narrow.post("/v1/sandbox/simulate", settled))["email"] is None


async def test_declarations_hide_who_made_them(api: Client, narrow: Client) -> None:
    body = {
        "title": "Ms",
        "firstName": "Ada",
        "lastName": "Byron",
        "buildingNameNumber": "12",
        "roadName": "High Street",
        "city": "Leeds",
        "country": "GBR",
        "postcode": "LS1 1AA",
    }
    known, masked = data(await api.post("/v1/gift-aid", body)), data(await narrow.post("/v1/gift-aid", body))
    assert {name for name, value in known.items() if name in masked and value != masked[name]} == {
        *("id", "title", "firstName", "lastName", "buildingNameNumber", "roadName", "city", "country", "postcode")
    }
    assert {masked[name] for name in body} == {None}


async def test_an_answer_that_names_a_donor_is_not_given_again_to_another_key(
    service: Service, api: Client, narrow: Client
) -> None:
    organisation = await factories.nonprofit(service)
    body = {"organisationId": organisation, "amount": 100, "currencyCode": "USD", "firstName": "Ada"}
    assert data(await api.post("/v1/donations", body, idempotency_key="k"))["firstName"] == "Ada"
    again = await narrow.post("/v1/donations", body, idempotency_key="k")
    assert (again.status_code, "Ada" in again.text) == (400, False)


async def test_endpoints_of_donations_need_the_scope(api: Client, narrow: Client) -> None:
    wanted = {"url": "https://hooks.example.com/a", "events": ["donation.created", "validation_request.approved"]}
    answer = await narrow.post(HOOKS, wanted)
    assert answer.status_code == 403
    assert "donations:personal" in answer.json()["error"]["reasons"][0]
    mine = data(await api.post(HOOKS, wanted))
    path = f"{HOOKS}/{mine['id']}"
    assert (await narrow.patch(path, {"url": "https://evil.example.com/a"})).status_code == 403
    assert (await narrow.patch(path, {"events": [*wanted["events"], "donation.settled"]})).status_code == 403
    assert data(await narrow.patch(path, {"events": wanted["events"][:1]}))["events"] == ["donation.created"]
    other = data(await narrow.post(HOOKS, {**wanted, "events": ["validation_request.approved"]}))
    moved = {"url": "https://hooks.example.com/b"}
    assert data(await narrow.patch(f"{HOOKS}/{other['id']}", moved))["url"] == moved["url"]
    assert data(await api.patch(path, moved))["url"] == moved["url"]


async def test_an_endpoint_of_all_events_needs_the_scope_too(api: Client, narrow: Client) -> None:
    every, none = {"url": "https://hooks.example.com/a", "events": ["*"]}, ["validation_request.approved"]
    assert (await narrow.post(HOOKS, every)).status_code == 403
    own = data(await narrow.post(HOOKS, {**every, "events": none}))
    assert (await narrow.patch(f"{HOOKS}/{own['id']}", {"events": [*none, "*"]})).status_code == 403
    path = f"{HOOKS}/{data(await api.post(HOOKS, every))['id']}"
    assert (await narrow.patch(path, {"url": "https://evil.example.com/a"})).status_code == 403
    assert data(await narrow.patch(path, {"events": none}))["events"] == none


async def test_an_event_that_names_donors_is_resent_to_receivers_of_its_type_alone(
    service: Service, api: Client, narrow: Client
) -> None:
    wanted = {"url": "https://hooks.example.com/a", "events": ["donation.created"]}
    hooks = [data(await api.post(HOOKS, wanted))["id"]]
    hooks.append(data(await narrow.post(HOOKS, {**wanted, "events": ["validation_request.approved"]}))["id"])
    await given(service, api)
    await service.drain()
    [event] = data(await api.get("/v1/events", type="donation.created"))
    asked = [
        (await key.post(f"/v1/events/{event['id']}/resend", {"webhookSubscriptionId": hook})).status_code
        for key in (narrow, api)
        for hook in hooks
    ]
    assert asked == [200, 403, 200, 200]
