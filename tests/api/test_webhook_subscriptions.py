"""Webhook subscriptions: spec 4.9, settled 4 and 8, W13."""

import base64
from typing import Any

import pytest

from tests.support.client import Client, data
from tests.support.service import Service, Tenant

URL = "https://hooks.example.com/almoner"
MADE = {"url": URL, "events": ["donation.created"]}


async def _made(api: Client, **changes: object) -> Any:
    return data(await api.post("/v1/webhook-subscriptions", {**MADE, **changes}))


async def test_create_answers_the_whole_record(api: Client) -> None:
    answer = await api.post("/v1/webhook-subscriptions", MADE)
    body = answer.json()
    assert (answer.status_code, body["object"]) == (200, "webhook_subscription")
    record = body["data"]
    assert record["id"].startswith("sandbox_webhooksubscription_")
    assert (record["url"], record["events"], record["status"]) == (URL, ["donation.created"], "active")
    assert record["createdAt"].endswith("Z")
    assert [record[name] for name in ("updatedAt", "deletedAt", "previousSecretExpiresAt")] == [None, None, None]
    assert data(await api.get(f"/v1/webhook-subscriptions/{record['id']}")) == record


async def test_w13_the_secret_is_32_random_bytes_and_shown_to_the_secret_key_alone(
    api: Client, publishable: Client
) -> None:
    first, second = await _made(api), await _made(api)
    for record in (first, second):
        assert record["secret"].startswith("whsec_")
        assert len(base64.b64decode(record["secret"].removeprefix("whsec_"), validate=True)) == 32
    assert first["secret"] != second["secret"]
    assert (await publishable.get(f"/v1/webhook-subscriptions/{first['id']}")).status_code == 403
    listed = data(await api.get("/v1/webhook-subscriptions"))
    assert [record["secret"] for record in listed] == [None, None]


async def test_w13_secrets_are_sealed_in_the_database(api: Client, service: Service) -> None:
    record = await _made(api)
    secret = record["secret"]
    async with service.db.read() as tx:
        rows = await tx.fetch("select secrets from webhook_subscription")
    stored = b"".join(sealed for row in rows for sealed in row["secrets"])
    assert secret.encode() not in stored
    assert base64.b64decode(secret.removeprefix("whsec_")) not in stored


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"url": "http://hooks.example.com/"},
            "body.url must use https; http is only for the sandbox's own machine, such as http://localhost:3000",
        ),
        ({"url": "https://hooks.example.com:8443/"}, "body.url must use port 443"),
        ({"url": "https://user:secret@hooks.example.com/"}, "body.url must not hold a user name or password"),
        ({"url": "https://10.0.0.1/"}, "body.url must have a public address"),
        ({"url": "https://169.254.169.254/latest/"}, "body.url must have a public address"),
        ({"url": "https://2130706433/"}, "body.url must have a host that is a domain name or a plain address"),
        ({"url": "https://intranet/"}, "body.url must have a full domain name"),
        ({"url": "ftp://hooks.example.com/"}, "body.url must be a web address such as https://example.com/hooks"),
        ({"url": 7}, "body.url must be a string"),
        ({"url": "https://hooks.example.com/" + "a" * 2048}, "body.url must be at most 2048 characters"),
        ({"events": []}, "body.events must name at least one event type, or *"),
        (
            {"events": ["donation.created", "donation.lost"]},
            "body.events.1 'donation.lost' is not an event type; the reference lists them, and * stands for all",
        ),
        (
            {"events": ["internal.anything"]},
            "body.events.0 'internal.anything' is not an event type; the reference lists them, and * stands for all",
        ),
    ],
)
async def test_w11_create_names_what_is_wrong(api: Client, changes: dict[str, object], reason: str) -> None:
    answer = await api.post("/v1/webhook-subscriptions", {**MADE, **changes})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
    assert answer.json()["error"]["reasons"] == [reason]


async def test_e1_all_problems_are_reported_at_once(api: Client) -> None:
    answer = await api.post("/v1/webhook-subscriptions", {"url": "http://10.0.0.1/", "events": ["no", "nor"]})
    assert len(answer.json()["error"]["reasons"]) == 3


async def test_an_event_named_twice_is_kept_once(api: Client) -> None:
    record = await _made(api, events=["donation.created", "*", "donation.created"])
    assert record["events"] == ["donation.created", "*"]


async def test_patch_changes_what_is_given(api: Client, service: Service) -> None:
    record = await _made(api)
    path = f"/v1/webhook-subscriptions/{record['id']}"
    service.clock.advance(seconds=5)
    changed = data(await api.patch(path, {"events": ["*"]}))
    assert (changed["events"], changed["url"], changed["secret"]) == (["*"], URL, record["secret"])
    assert changed["updatedAt"] > record["createdAt"]
    moved = data(await api.patch(path, {"url": "https://other.example.com/"}))
    assert (moved["url"], moved["events"]) == ("https://other.example.com/", ["*"])
    assert (await api.patch(path, {"url": "https://10.0.0.1/"})).status_code == 400
    assert (await api.patch(path, {"events": None})).status_code == 400
    assert data(await api.get(path)) == moved


@pytest.mark.parametrize("same", [[], ["url"], ["events"], ["url", "events", "status"]])
async def test_a_patch_that_changes_nothing_leaves_no_trace(same: list[str], api: Client, service: Service) -> None:
    record = data(await api.post("/v1/webhook-subscriptions", MADE))
    service.clock.advance(minutes=1)
    path = f"/v1/webhook-subscriptions/{record['id']}"
    assert data(await api.patch(path, {name: record[name] for name in same})) == record
    assert data(await api.get(path))["updatedAt"] is None


async def test_a_list_by_an_event_that_there_is_not_is_refused(api: Client) -> None:
    answer = await api.get("/v1/webhook-subscriptions", event="donation.lost", pageSize=0)
    assert answer.status_code == 400
    assert answer.json()["error"]["reasons"] == [
        "query.pageSize must be a positive integer",
        "query.event 'donation.lost' is not an event type; the reference lists them, and * stands for all",
    ]
    assert (await api.get("/v1/webhook-subscriptions", event="*")).status_code == 200


async def test_a_partner_may_suspend_and_resume(api: Client, service: Service) -> None:
    record = await _made(api)
    path = f"/v1/webhook-subscriptions/{record['id']}"
    for status in ("suspended", "suspended", "active", "active"):
        assert data(await api.patch(path, {"status": status}))["status"] == status
    async with service.db.read() as tx:
        moves = await tx.fetch(
            "select from_status, to_status from state_change where resource = 'webhook_subscription' "
            "and resource_id = $1 order by id",
            tx.ids.decode("webhooksubscription", record["id"]),
        )
    assert [tuple(move) for move in moves] == [("active", "suspended"), ("suspended", "active")]
    await service.drain()
    assert data(await api.get("/v1/events")) == [], (
        "the event tells of a receiver that is gone, not of the partner's wish"
    )


async def test_deleted_is_soft(api: Client) -> None:
    stored, gone = await _made(api), await _made(api)
    path = f"/v1/webhook-subscriptions/{gone['id']}"
    assert (await api.delete(path)).status_code == 204
    for answer in (
        await api.get(path),
        await api.patch(path, {"events": ["*"]}),
        await api.delete(path),
        await api.post(f"{path}/rotate-secret"),
        await api.post(f"{path}/test"),
        await api.post(f"{path}/replay", {"startDate": "2026-03-01"}),
        await api.get(f"{path}/deliveries"),
    ):
        assert answer.status_code == 404
    assert [record["id"] for record in data(await api.get("/v1/webhook-subscriptions"))] == [stored["id"]]
    (deleted,) = data(await api.get("/v1/webhook-subscriptions", deleted="true"))
    assert (deleted["id"], deleted["deletedAt"] is not None) == (gone["id"], True)


async def test_list_by_event_counts_the_wildcard(api: Client) -> None:
    both = await _made(api, events=["donation.created", "donation.cancelled"])
    every = await _made(api, events=["*"])
    await _made(api, events=["donation.cancelled"])
    answer = (await api.get("/v1/webhook-subscriptions", event="donation.created", direction="ASC")).json()
    assert [record["id"] for record in answer["data"]] == [both["id"], every["id"]]
    assert (answer["totalResults"], answer["object"]) == (2, "webhook_subscription")


async def test_p1_pages_in_both_directions(api: Client) -> None:
    made = [(await _made(api))["id"] for _ in range(5)]
    seen, path = [], "/v1/webhook-subscriptions?pageSize=2&direction=ASC"
    while path:
        page = (await api.get(path)).json()
        assert (page["totalResults"], page["pageSize"]) == (5, 2)
        seen += [record["id"] for record in page["data"]]
        path = page["_links"]["next"]
    assert seen == made


async def test_w13_rotation_keeps_the_old_secret_for_24_hours(api: Client, service: Service) -> None:
    record = await _made(api)
    path = f"/v1/webhook-subscriptions/{record['id']}"
    rotated = data(await api.post(f"{path}/rotate-secret"))
    assert rotated["secret"] != record["secret"]
    assert rotated["previousSecretExpiresAt"] is not None
    assert data(await api.get(path))["secret"] == rotated["secret"]
    service.clock.advance(hours=23, minutes=59)
    assert data(await api.get(path))["previousSecretExpiresAt"] is not None
    service.clock.advance(minutes=1)
    assert data(await api.get(path))["previousSecretExpiresAt"] is None


async def test_w13_confirming_ends_the_overlap(api: Client) -> None:
    record = await _made(api)
    path = f"/v1/webhook-subscriptions/{record['id']}/rotate-secret"
    rotated = data(await api.post(path))
    confirmed = data(await api.post(path, {"confirm": True}))
    assert (confirmed["secret"], confirmed["previousSecretExpiresAt"]) == (rotated["secret"], None)


async def test_w13_at_most_two_replaced_secrets_are_kept(api: Client, service: Service) -> None:
    record = await _made(api)
    for _ in range(4):
        await api.post(f"/v1/webhook-subscriptions/{record['id']}/rotate-secret")
    async with service.db.read() as tx:
        stored = await tx.fetchval(
            "select cardinality(secrets) from webhook_subscription where id = $1",
            tx.ids.decode("webhooksubscription", record["id"]),
        )
    assert stored == 3


async def test_i1_rotating_twice_with_one_key_rotates_once(api: Client) -> None:
    path = f"/v1/webhook-subscriptions/{(await _made(api))['id']}/rotate-secret"
    first = await api.post(path, idempotency_key="rotate-1")
    again = await api.post(path, idempotency_key="rotate-1")
    assert (again.content, again.headers["idempotent-replayed"]) == (first.content, "true")


async def test_k10_another_partners_subscription_is_not_there(api: Client, other: Client) -> None:
    record = await _made(api)
    path = f"/v1/webhook-subscriptions/{record['id']}"
    for answer in (
        await other.get(path),
        await other.patch(path, {"events": ["*"]}),
        await other.delete(path),
        await other.post(f"{path}/rotate-secret"),
        await other.post(f"{path}/test"),
        await other.post(f"{path}/replay", {"startDate": "2026-03-01"}),
        await other.get(f"{path}/deliveries"),
    ):
        assert answer.status_code == 404
    assert data(await other.get("/v1/webhook-subscriptions")) == []
    assert data(await api.get(path)) == record


async def test_k6_scopes_are_asked_for(service: Service, tenant: Tenant) -> None:
    reader = service.client(await service.key(tenant.partner, "secret", "webhooks:read"))
    assert (await reader.get("/v1/webhook-subscriptions")).status_code == 200
    assert (await reader.post("/v1/webhook-subscriptions", MADE)).status_code == 403
    await reader.close()
