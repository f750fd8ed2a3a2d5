"""/healthz, /readyz, /metrics, /openapi.json."""

import asyncpg

from almoner.migrations import REVISIONS
from tests.support.client import Client
from tests.support.service import Service


async def test_a_live_process_says_so(anonymous: Client) -> None:
    assert (await anonymous.get("/healthz")).json() == {"status": "ok"}


async def test_readiness_names_what_is_wrong(service: Service, anonymous: Client) -> None:
    await service.drain()
    assert (await anonymous.get("/readyz")).json() == {"status": "ok", "checks": {}}
    owner = await asyncpg.connect(service.database.owner_dsn)
    try:
        await owner.execute("update alembic_version set version_num = '9999'")
        answer = await anonymous.get("/readyz")
        assert answer.status_code == 503
        assert "revision 9999" in answer.json()["checks"]["migrations"]
    finally:
        await owner.execute("update alembic_version set version_num = $1", REVISIONS[-1])
        await owner.close()


async def test_metrics_count_answers_by_route(api: Client, anonymous: Client) -> None:
    await api.get("/v1/categories")
    await api.get("/v1/categories/sandbox_category_00000000000000000000000000")
    text = (await anonymous.get("/metrics")).text
    assert 'almoner_requests_total{route="GET /v1/categories",status="200"}' in text
    assert 'almoner_requests_total{route="GET /v1/categories/{id}",status="404"}' in text
    assert "almoner_request_seconds_bucket" in text


async def test_one_line_per_request_without_personal_data(service: Service, api: Client) -> None:
    answer = await api.post("/v1/categories", {"name": "Canary-in-the-body"}, idempotency_key="canary-key")
    mine = [line for line in service.lines if answer.headers["request-id"].encode() in line]
    assert len(mine) == 1
    for secret in (b"Canary-in-the-body", b"canary-key", api.key.encode()):
        assert secret not in mine[0]
