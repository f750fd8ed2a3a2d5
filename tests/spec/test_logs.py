"""Log lines: one for every answer, joined by Request-Id, and never a key, a token or a person (K9, V7, E2)."""

import json
from typing import Any

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

EMAIL = "canary.person@example.org"
NAME = "Canarina"


def since(service: Service, start: int) -> list[dict[str, Any]]:
    """Lines written from ``start`` on, decoded; each is one JSON object on one line."""
    lines = service.lines[start:]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    return [json.loads(line) for line in lines]


async def test_e2_every_answer_has_one_line_with_its_request_id(service: Service, api: Client, tenant: Tenant) -> None:
    start = len(service.lines)
    answers = [
        await api.get("/v1/categories"),
        await api.get("/v1/nothing"),
        await api.request("PUT", "/v1/categories"),
        await api.post("/v1/categories", {"name": 7}),
        await service.client(None).get("/v1/categories"),
    ]
    lines = [line for line in since(service, start) if line["event"] == "request"]
    assert [line["requestId"] for line in lines] == [answer.headers["request-id"] for answer in answers]
    assert [line["status"] for line in lines] == [200, 404, 405, 400, 401]
    assert [line["route"] for line in lines] == [
        "GET /v1/categories",
        "unrouted",
        "unrouted",
        "POST /v1/categories",
        "GET /v1/categories",
    ]
    assert all(line["ms"] >= 0 and line["at"] for line in lines)
    assert {line.get("partner") for line in lines[:4:3]} == {str(tenant.partner.id)}
    assert "partner" not in lines[4]


async def test_k9_v7_no_line_holds_a_key_a_token_or_a_person(service: Service, api: Client, tenant: Tenant) -> None:
    start = len(service.lines)
    hook = await factories.subscription(api)
    session = await factories.session(service, api)
    await factories.donation(service, api, firstName=NAME, email=EMAIL)
    await service.drain()
    for header in (tenant.secret, f"Bearer {tenant.secret}", tenant.secret[:-1] + "_", tenant.publishable):
        await service.client(None).get("/v1/donations", headers={"Authorization": header})
    await api.get(f"/v1/categories?key={tenant.secret}")
    await api.get("/v1/organisations", query=f"{NAME} {EMAIL}")
    await api.post("/v1/categories", {"name": 1, "note": EMAIL}, idempotency_key="canary-idempotency-key")
    token = session["url"].rpartition("=")[2]
    await service.client(None).get(session["url"])
    written = b"".join(service.lines[start:])
    assert written
    secrets = [tenant.secret, tenant.publishable, tenant.secret[11:-8], hook["secret"], token, "canary-idempotency-key"]
    for canary in (*secrets, EMAIL, NAME, factories.CARD, factories.CARD.replace(" ", "")):
        assert canary.encode() not in written, canary


async def test_k2_no_usable_key_is_in_the_database(service: Service, tenant: Tenant) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select k::text as row from api_key k where partner_id = $1", tenant.partner.id)
    stored = " ".join(row["row"] for row in rows)
    for secret in (tenant.secret, tenant.publishable):
        assert secret[-4:] in stored, "the hint tells keys apart"
        assert secret not in stored
        assert secret[11:-8] not in stored


async def test_w13_webhook_secrets_are_sealed_in_the_database(service: Service, api: Client) -> None:
    secret = data(await api.post("/v1/webhook-subscriptions", {"events": ["*"], "url": "http://127.0.0.1:9/"}))[
        "secret"
    ]
    async with service.db.read() as tx:
        rows = await tx.fetch("select w::text as row, w.secrets::text as secrets from webhook_subscription w")
    stored = " ".join(f"{row['row']} {row['secrets']}" for row in rows)
    assert secret not in stored
    assert secret.removeprefix("whsec_") not in stored
