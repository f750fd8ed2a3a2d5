"""/healthz, /readyz, /metrics, /openapi.json."""

import json

import asyncpg
import pytest
from starlette.types import Message, Scope

from almoner.migrations import REVISIONS
from almoner.platform.audit import chain as audit_chain
from almoner.platform.audit import log as audit
from almoner.platform.pages.headers import REPORT_PATH
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.hostile_files import HONEST, PDF
from tests.support.service import Service, serving
from tests.support.validation import requested


async def test_a_live_process_says_so(anonymous: Client) -> None:
    assert (await anonymous.get("/healthz")).json() == {"status": "ok"}


async def test_readiness_names_what_is_wrong(service: Service, anonymous: Client) -> None:
    await service.drain()
    assert (await anonymous.get("/readyz")).json() == {"status": "ok", "checks": {}}
    owner = await asyncpg.connect(service.database.owner_dsn)
    try:
        await owner.execute("delete from compatible_revision")
        for revision, wrong in {
            "r9999": "at revision r9999, newer than this version",
            "0001": "at revision 0001, from before Almoner 0.1.0, and cannot be carried over: start with an empty one",
            "0105": "from before Almoner 0.1.0",
        }.items():
            await owner.execute("update alembic_version set version_num = $1", revision)
            answer = await anonymous.get("/readyz")
            assert answer.status_code == 503
            assert wrong in answer.json()["checks"]["migrations"]
    finally:
        await owner.execute("update alembic_version set version_num = $1", REVISIONS[-1])
        await owner.execute("insert into compatible_revision values ($1)", REVISIONS[-1])
        await owner.close()


async def test_readiness_tells_of_audit_entries_that_no_worker_chains(empty_database: TestDatabase) -> None:
    """What has no place in the chain can be deleted unseen (V8)."""
    async with serving(empty_database) as service:
        async with service.db.write() as tx:
            await audit.record_entry(tx, audit.DEPLOYMENT, audit.Actor("system", "tests"), "thing.done", "thing_1")
        anonymous = service.client(None)
        service.clock.advance(minutes=10)
        assert (await anonymous.get("/readyz")).status_code == 200
        service.clock.advance(minutes=1)
        answer = await anonymous.get("/readyz")
        assert (answer.status_code, list(answer.json()["checks"])) == (503, ["audit"])
        assert "audit entries have waited 660 s" in answer.json()["checks"]["audit"]
        async with service.db.read() as tx:
            assert await audit_chain.measure_chain_lag_seconds(tx) == 660
        await service.drain()
        assert (await anonymous.get("/readyz")).json() == {"status": "ok", "checks": {}}
        async with service.db.read() as tx:
            assert await audit_chain.measure_chain_lag_seconds(tx) == 0


async def test_a_copy_answers_and_says_what_it_does_not_do(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        api, anonymous = service.client((await service.tenant()).secret), service.client(None)
        made = await requested(api)
        path = f"/v1/validation-requests/{made['id']}"
        async with service.db.write() as tx:
            await tx.execute(
                "update deployment set copy_reason = 'x', copy_detected_at = $1, written_by = "
                "pg_current_xact_id()::text::bigint",
                tx.real_now,
            )
        await service.services.database_copy_monitor.check_whether_database_was_copied()
        assert (await api.get(path)).status_code == 200
        for refused in (
            await api.upload(f"{path}/document", "file", "x", HONEST[PDF], PDF),
            await api.post("/v1/sandbox/clock", {"advanceSeconds": 3600}),
        ):
            assert (refused.status_code, refused.json()["error"]["code"]) == (
                503,
                "service_unavailable/unreleased_copy",
            )
            assert "almoner release-copy" in refused.text
        answer = await anonymous.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (200, "ok")
        assert "copy: x" in answer.json()["unreleasedCopy"]["why"]
        assert "almoner_unreleased_copy 1.0" in (await anonymous.get("/metrics")).text
        await api.close()
        await anonymous.close()


async def test_metrics_count_answers_by_route(api: Client, anonymous: Client) -> None:
    await api.get("/v1/categories")
    await api.get("/v1/categories/sandbox_category_00000000000000000000000000")
    text = (await anonymous.get("/metrics")).text
    assert 'almoner_requests_total{route="GET /v1/categories",status="200"}' in text
    assert 'almoner_requests_total{route="GET /v1/categories/{id}",status="404"}' in text
    assert "almoner_request_seconds_bucket" in text


async def test_metrics_are_for_this_machine_alone(service: Service, anonymous: Client) -> None:
    for address, status in (("127.0.0.1", 200), ("::1", 200), ("203.0.113.9", 403), ("10.0.0.4", 403)):
        assert (await service.client(None, address=address).get("/metrics")).status_code == status, address
    behind = await anonymous.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"})
    assert (behind.status_code, behind.json()["error"]["code"]) == (403, "forbidden")
    assert "ALMONER_METRICS_TOKEN" in behind.json()["error"]["reasons"][0]


async def test_metrics_are_for_who_has_the_token(empty_database: TestDatabase) -> None:
    token = "a-token-of-the-scraper"
    async with serving(empty_database, metrics_token=token) as service:
        for address in ("127.0.0.1", "203.0.113.9"):
            client = service.client(None, address=address)
            for given, status in ((None, 403), ("Bearer x", 403), (token, 403), (f"Bearer {token}", 200)):
                headers = {"Authorization": given} if given else {}
                assert (await client.get("/metrics", headers=headers)).status_code == status, given


async def test_one_line_per_request_without_personal_data(service: Service, api: Client) -> None:
    answer = await api.post("/v1/categories", {"name": "Canary-in-the-body"}, idempotency_key="canary-key")
    mine = [line for line in service.lines if answer.headers["request-id"].encode() in line]
    assert len(mine) == 1
    for secret in (b"Canary-in-the-body", b"canary-key", api.key.encode()):
        assert secret not in mine[0]


async def test_who_leaves_in_the_middle_of_a_body_is_no_failure_of_ours(service: Service) -> None:
    async def left() -> Message:
        return {"type": "http.disconnect"}

    async def unheard(_message: Message) -> None:
        pytest.fail("there is nobody to answer")

    already = len(service.lines)
    scope: Scope = {"type": "http", "method": "POST", "path": REPORT_PATH, "scheme": "https", "client": None}
    scope.update({"headers": [(b"content-length", b"9")], "query_string": b"", "root_path": "", "http_version": "1.1"})
    await service.app(scope, left, unheard)
    (line,) = map(json.loads, service.lines[already:])
    assert (line["status"], line.get("failure")) == (499, None)
