"""Simulated ends: sessions and invites expire, receivers fail, organisations and documents are told of."""

from typing import Any

from tests.support import factories
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST
from tests.support.payouts import refused, simulate
from tests.support.service import Service


async def told(service: Service, api: Client, event_type: str) -> list[dict[str, Any]]:
    await service.drain()
    return [one["eventData"] for one in data(await api.get("/v1/events", type=event_type))]


async def test_a_session_expires_before_its_time_and_once(service: Service, api: Client) -> None:
    session = data(await api.post("/v1/donation-sessions", {"organisationId": await factories.nonprofit(service)}))
    assert (await simulate(api, session["id"], "expire"))["status"] == "expired"
    assert await refused(api, session["id"], "expire") == ("donation_session/invalid_state", [])
    assert [one["id"] for one in await told(service, api, "donation_session.expired")] == [session["id"]]


async def test_an_invite_expires_before_its_time_and_once(service: Service, api: Client) -> None:
    invite = data(await api.post("/v1/validation-invites", {}))
    assert (await simulate(api, invite["id"], "expire"))["status"] == "expired"
    assert (await refused(api, invite["id"], "expire"))[0] == "validation_invite/validation_invite_expired"
    assert [one["id"] for one in await told(service, api, "validation_invite.expired")] == [invite["id"]]


async def test_a_receiver_fails_for_a_day_and_for_five(service: Service, api: Client) -> None:
    made = data(await api.post("/v1/webhook-subscriptions", {"url": "http://127.0.0.1:9/h", "events": ["*"]}))
    failing = await simulate(api, made["id"], "fail")
    assert (failing["status"], failing["health"], failing["failingSince"] is None) == ("active", "failing", False)
    suspended = await simulate(api, made["id"], "suspend")
    assert (suspended["status"], suspended.get("secret")) == ("suspended", None)
    assert (await refused(api, made["id"], "fail"))[0] == "webhook_subscription/invalid_state"
    (warned,) = await told(service, api, "webhook_subscription.failing")
    assert {**failing, "secret": None} == warned
    assert len(await told(service, api, "webhook_subscription.suspended")) == 1


async def test_nobody_else_is_told_of_a_simulated_load(service: Service, api: Client, other: Client) -> None:
    organisation = await factories.nonprofit(service)
    shown = await simulate(api, organisation, "update")
    assert shown == data(await api.get(f"/v1/organisations/{organisation}"))
    assert await told(service, api, "organisation.updated") == [shown]
    assert await told(service, other, "organisation.updated") == []


async def test_nothing_of_another_partner_is_ended(service: Service, api: Client, other: Client) -> None:
    organisation = await factories.nonprofit(service)
    session = data(await api.post("/v1/donation-sessions", {"organisationId": organisation}))
    invite = data(await api.post("/v1/validation-invites", {}))
    hook = data(await api.post("/v1/webhook-subscriptions", {"url": "http://127.0.0.1:9/h", "events": ["*"]}))
    for record, action in ((session, "expire"), (invite, "expire"), (hook, "fail"), (hook, "suspend")):
        assert (await refused(other, record["id"], action))[0] == "sandbox/record_not_found"


async def test_a_file_with_the_test_value_as_its_name_is_found_infected(service: Service, api: Client) -> None:
    body = {"registryName": "IRS", "registryId": "53-0196605", "name": "test_pending", "countryCode": "USA"}
    request = data(await api.post("/v1/validation-requests", {**body, "website": "https://example.org"}))
    path = f"/v1/validation-requests/{request['id']}"
    for name in ("letter.png", "test_infected.png"):
        await api.upload(f"{path}/document", "file", name, HONEST["image/png"], "image/png")
    await service.drain()
    assert [one["status"] for one in data(await api.get(path))["documents"]] == ["clean", "infected"]
    assert len(await told(service, api, "validation_request_document.rejected")) == 1
