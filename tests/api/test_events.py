"""Events that partners read back: settled 7 and 8, P1, P4-P8."""

from datetime import timedelta
from typing import Any

import pytest

from almoner.platform.events import outbox
from tests.support.client import Client, data
from tests.support.service import Service, Tenant


async def _happen(service: Service, tenant: Tenant, *types: str) -> list[str]:
    async with service.db.write() as tx:
        made = [await outbox.emit_event(tx, tenant.partner.id, name, {"id": "x", "note": "Zoë"}) for name in types]
        ids = [tx.ids.encode("event", event_id) for event_id in made]
    while await service.services.background_worker.dispatcher.dispatch_next_events():
        """Numbers are given in batches."""
    return ids


async def _all(api: Client, path: str) -> list[Any]:
    seen: list[Any] = []
    following: str | None = path
    while following:
        page = (await api.get(following)).json()
        seen += page["data"]
        following = page["_links"]["next"]
    return seen


async def test_an_event_is_listed_with_its_number_and_its_record(service: Service, api: Client, tenant: Tenant) -> None:
    (event_id,) = await _happen(service, tenant, "donation.created")
    answer = (await api.get("/v1/events")).json()
    assert (answer["object"], answer["totalResults"], answer["pageSize"]) == ("event", 1, 25)
    (event,) = answer["data"]
    assert event == {
        "id": event_id,
        "sequence": 1,
        "createdAt": event["createdAt"],
        "eventType": "donation.created",
        "eventData": {"id": "x", "note": "Zoë"},
    }
    assert data(await api.get(f"/v1/events/{event_id}")) == event


async def test_settled_7_an_event_is_there_once_it_has_its_number(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with service.db.write() as tx:
        event_id = await outbox.emit_event(tx, tenant.partner.id, "donation.created", {"id": "x"})
        path = f"/v1/events/{tx.ids.encode('event', event_id)}"
    assert (await api.get(path)).status_code == 404
    assert data(await api.get("/v1/events")) == []
    await _happen(service, tenant)
    assert data(await api.get(path))["sequence"] == 1


async def test_w8_sequences_have_no_gaps_and_are_each_partners_own(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    await _happen(service, tenant, *["donation.created"] * 7)
    stranger = await service.tenant()
    await _happen(service, stranger, "donation.created")
    await _happen(service, tenant, "donation.cancelled")
    assert [event["sequence"] for event in await _all(api, "/v1/events?direction=ASC&pageSize=3")] == list(range(1, 9))
    assert [event["sequence"] for event in await _all(api, "/v1/events?pageSize=3")] == list(range(8, 0, -1))
    assert data(await other.get("/v1/events")) == []


async def test_p1_going_back_leads_to_where_one_came_from(service: Service, api: Client, tenant: Tenant) -> None:
    await _happen(service, tenant, *["donation.created"] * 6)
    first = (await api.get("/v1/events", pageSize=2, direction="ASC")).json()
    second = (await api.get(first["_links"]["next"])).json()
    assert [event["sequence"] for event in second["data"]] == [3, 4]
    back = (await api.get(second["_links"]["prev"])).json()
    assert [event["sequence"] for event in back["data"]] == [1, 2]
    assert first["_links"]["prev"] is None


async def test_p1_no_page_has_events_up_to_the_sequence_that_the_list_starts_after(
    service: Service, api: Client, tenant: Tenant
) -> None:
    await _happen(service, tenant, *["donation.created"] * 6)
    first = (await api.get("/v1/events", pageSize=2, after=2)).json()
    assert ([event["sequence"] for event in first["data"]], first["_links"]["prev"]) == ([3, 4], None)
    second = (await api.get(first["_links"]["next"])).json()
    back = (await api.get(second["_links"]["prev"])).json()
    assert ([event["sequence"] for event in back["data"]], back["_links"]["prev"]) == ([3, 4], None)


async def test_filters_by_type_and_time(service: Service, api: Client, tenant: Tenant) -> None:
    started = service.clock.now()
    for _ in range(3):
        await _happen(service, tenant, "donation.created", "donation.cancelled")
        service.clock.advance(days=1)

    async def found(**query: str) -> tuple[int, list[int]]:
        answer = (await api.get("/v1/events", headers=None, direction="ASC", **query)).json()
        return answer["totalResults"], [event["sequence"] for event in answer["data"]]

    assert await found(type="donation.cancelled") == (3, [2, 4, 6])
    for wrong, hint in (("donation.creatd", "did you mean donation.created?"), ("thing", "the reference lists them")):
        refused = await api.get("/v1/events", type=wrong)
        reason = f"query.type '{wrong}' is not an event type; {hint}"
        assert (refused.status_code, refused.json()["error"]["reasons"]) == (400, [reason])
    assert await found(startDate=started.date().isoformat()) == (6, [1, 2, 3, 4, 5, 6])
    assert await found(endDate=started.isoformat()) == (0, []), "the end is exclusive"
    assert await found(startDate=started.isoformat(), endDate=service.clock.now().isoformat()) == (
        6,
        [1, 2, 3, 4, 5, 6],
    )
    later = started + timedelta(seconds=1)
    assert (await found(startDate=later.isoformat(), type="donation.created"))[1] == [3, 5]


@pytest.mark.parametrize("query", ["startDate=yesterday", "endDate=2026-13-01", "pageSize=0", "direction=UP"])
async def test_e1_bad_queries_are_refused(api: Client, query: str) -> None:
    answer = await api.get(f"/v1/events?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


@pytest.mark.parametrize("path", ["/v1/events", "/v1/donations"])
async def test_a_window_that_ends_before_it_begins_is_refused(path: str, api: Client) -> None:
    answer = await api.get(path, startDate="2026-03-02", endDate="2026-03-01T23:59:59Z")
    assert answer.status_code == 400
    assert answer.json()["error"]["reasons"] == ["query.endDate must not be before startDate"]
    assert data(await api.get(path, startDate="2026-03-02", endDate="2026-03-02")) == []


async def test_p4_a_cursor_is_bound_to_its_filters_and_partner(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    await _happen(service, tenant, *["donation.created"] * 3)
    following = (await api.get("/v1/events", pageSize=1)).json()["_links"]["next"]
    assert (await api.get(following)).status_code == 200
    for answer in (await other.get(following), await api.get(following + "&type=donation.created")):
        assert answer.json()["error"]["code"] == "pagination/cursor_error"


async def test_k10_another_partners_event_is_not_there(
    service: Service, api: Client, other: Client, publishable: Client, tenant: Tenant
) -> None:
    (event_id,) = await _happen(service, tenant, "donation.created")
    for path in (f"/v1/events/{event_id}", "/v1/events/sandbox_event_nonsense", f"/v1/events/{event_id.upper()}"):
        assert (await other.get(path)).status_code == 404
    assert (await publishable.get("/v1/events")).status_code == 403


async def test_w15_source_addresses_need_no_key(service: Service, anonymous: Client) -> None:
    answer = await anonymous.get("/v1/webhook-source-addresses")
    assert (answer.status_code, answer.json()["object"]) == (200, "webhook_source_addresses")
    assert answer.json()["data"] == {
        "environment": "sandbox",
        "addresses": list(service.db.deployment.webhook_source_addresses),
    }
