"""The request log of the dashboard: what it says of each request with an API key, and what it never holds."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import asyncpg
import pytest

from almoner.access.keys import service as keys
from almoner.access.keys import store_requests
from almoner.access.keys.domain import SEARCHED_REQUESTS, ApiRequest
from almoner.kit.ids import Uuid7Generator, lowest_id_at
from almoner.platform.database.transactions import Tx
from almoner.platform.http.edge import format_request_id
from almoner.platform.observability.telemetry import RequestLogLine
from tests.support import factories
from tests.support.client import Client
from tests.support.members import Desk, desk
from tests.support.plans import Explaining
from tests.support.service import Service, Tenant

NOBODY = "nia.never.logged@example.org"


@pytest.fixture
async def developer(service: Service, tenant: Tenant) -> AsyncIterator[Desk]:
    """A developer of the partner at a browser."""
    made = await desk(service, tenant, "developer")
    yield made
    await made.close()


@pytest.fixture
async def api(service: Service, tenant: Tenant) -> AsyncIterator[Client]:
    """The partner's own server."""
    made = service.client(tenant.secret, address="203.0.113.77")
    yield made
    await made.close()


async def shown(service: Service, developer: Desk, query: str = "") -> str:
    """The list, once what waits is written."""
    await service.services.api_requests.flush()
    answer = await developer.get(f"{developer.home}/request-log{query}")
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_a_request_is_found_by_its_id_with_what_became_of_it(
    service: Service, developer: Desk, api: Client
) -> None:
    failed = await api.post("/v1/donation-sessions", {"organisationId": "nothing"})
    assert failed.status_code == 400
    name = failed.headers["request-id"]
    assert f"/request-log/{name}" in await shown(service, developer, f"?requestId={name}")
    await developer.get(f"{developer.home}/request-log/{name}")
    text = developer.text()
    for part in ("POST /v1/donation-sessions", "400", failed.json()["error"]["code"], "tests ...", "203.0.113.0/24"):
        assert part in text
    assert "203.0.113.77" not in text


async def test_what_callers_type_is_never_written_down(service: Service, tenant: Tenant, api: Client) -> None:
    gift = await factories.donation(service, api, email=NOBODY, firstName="Niamh")
    queries: tuple[dict[str, Any], ...] = (
        {"email": NOBODY, "status": "RECEIVED_PAYMENT"},
        {NOBODY: "1"},
        {"status": NOBODY},
        {"cursor": NOBODY},
    )
    for query in queries:
        await api.get("/v1/donations", **query)
    await api.get(f"/v1/donations/{NOBODY}")
    await api.get(f"/v1/organisations/GBR/{NOBODY}/{NOBODY}")
    await api.get("/v1/organisations", query="Niamh")
    await api.get(f"/v1/donations/{gift['id']}")
    await service.services.api_requests.flush()
    async with service.db.read() as tx:
        rows = await tx.fetch("select * from api_request where partner_id = $1", tenant.partner.id)
    held = repr([dict(row) for row in rows])
    assert len(rows) > 8
    assert (NOBODY in held, "nia" in held.lower(), "203.0.113.77" in held) == (False, False, False)
    kept = {row["parameters"] for row in rows}
    assert {"email=…&status=RECEIVED_PAYMENT", "query=…", None} <= kept
    assert f"/v1/donations/{gift['id']}" in {row["path"] for row in rows}


async def test_a_request_during_a_write_is_left_for_the_next_one(service: Service, tenant: Tenant) -> None:
    recorder, key = service.services.api_requests, uuid4()

    def record() -> None:
        now, request_id = service.clock.now(), uuid4()
        line = RequestLogLine(now, "request", "GET /v1/categories", 200, 1.0, format_request_id(request_id), "GET")
        line.partner, line.key = tenant.partner.id, key
        recorder.record_request({}, request_id, line)

    async def written() -> int:
        async with service.db.read() as tx:
            return int(await tx.fetchval("select count(*) from api_request where key_id = $1", key))

    record()
    writing = asyncio.create_task(recorder.flush())
    await asyncio.sleep(0)
    record()
    await writing
    assert await written() == 1
    await recorder.flush()
    assert await written() == 2


async def test_filters_narrow_and_a_wrong_one_says_what_it_must_be(
    service: Service, developer: Desk, api: Client
) -> None:
    right = (await api.get("/v1/categories")).headers["request-id"]
    wrong = (await api.get("/v1/donations", status="none")).headers["request-id"]
    for query, found in (
        ("outcome=succeeded", (True, False)),
        ("outcome=failed", (False, True)),
        ("statusCode=400", (False, True)),
        ("route=%2Fv1%2Fcategories", (True, False)),
        ("method=POST", (False, False)),
        ("startDate=2001-01-01&endDate=2001-02-01", (False, False)),
        (f"startDate={service.clock.now():%Y-%m-%d}", (True, True)),
    ):
        text = await shown(service, developer, f"?{query}")
        assert (right in text, wrong in text) == found, query
    for query in ("statusCode=many", "requestId=req_1", "apiKeyId=none", "startDate=soon", "outcome=maybe", "cursor=x"):
        answer = await developer.get(f"{developer.home}/request-log?{query}")
        assert answer.status_code == 422, query


async def test_pages_follow_each_other_and_a_rare_request_is_searched_for_in_steps(
    service: Service, tenant: Tenant, developer: Desk
) -> None:
    now, partner, new_id = service.clock.now(), tenant.partner.id, Uuid7Generator()
    many = [
        ApiRequest(
            partner,
            new_id(now - timedelta(seconds=age)),
            uuid4(),
            "GET",
            "/v1/users",
            None,
            None,
            200,
            1.5,
            None,
            None,
        )
        for age in reversed(range(SEARCHED_REQUESTS + 60))
    ]
    rare = many[0]._replace(route="/v1/rare", request_id=lowest_id_at(now - timedelta(days=2)))
    async with service.db.write() as tx:
        await keys.insert_requests(tx, [*many, rare])
    first = await shown(service, developer)
    assert first.count("/request-log/req_") == 50
    onward = next_page(first)
    second = (await developer.get(onward)).text
    assert many[-51].request_id.hex in second
    assert many[-50].request_id.hex not in second
    assert "20,000 or more" in (await developer.get(f"{developer.home}/limits")).text
    nothing = await shown(service, developer, "?route=/v1/rare")
    assert rare.request_id.hex not in nothing
    assert "Search older records" in nothing
    assert rare.request_id.hex in (await developer.get(next_page(nothing))).text


async def test_the_limits_page_counts_requests_by_key_and_records_by_kind(
    service: Service, tenant: Tenant, developer: Desk
) -> None:
    now, partner, new_id = service.clock.now(), tenant.partner, Uuid7Generator()
    async with service.db.write() as tx:
        key = next(one for one in await keys.list_by_partner(tx, partner) if one.kind == "secret")
        made = [
            ApiRequest(partner.id, new_id(now - age), key_id, "GET", "/v1/users", None, None, status, 1.5, None, None)
            for age, key_id, status in (
                (timedelta(days=13), key.id, 429),
                (timedelta(hours=20), key.id, 429),
                (timedelta(hours=3), uuid4(), 200),
                (timedelta(minutes=30), key.id, 404),
                (timedelta(minutes=20), key.id, 200),
                (timedelta(seconds=5), key.id, 200),
            )
        ]
        await keys.insert_requests(tx, made)
        await tx.execute("set local enable_seqscan = off")
        asked = Explaining(tx)
        await store_requests.count_requests(cast("Tx", asked), partner, (now, now, now))
        await store_requests.count_rate_limited(cast("Tx", asked), partner, now)
        assert asked.indexes() == {"api_request_newest", "api_request_failed"}
        assert not asked.scans()

    async def rows() -> list[str]:
        page = (await developer.get(f"{developer.home}/limits")).text
        found = re.findall("<tr>(.*?)</tr>", page, re.DOTALL)
        return [" ".join(re.sub("<[^>]+>", " ", row).split()) for row in found]

    shown_rows = await rows()
    policy = service.services.settings.secret_key_rate_limit
    allowed = f"{policy.per_second:,.0f} per second, with bursts of up to {policy.burst:,}"
    assert f"{key.name} ...{key.hint} {allowed} 1 3 4 2" in shown_rows
    assert "All keys, including revoked ones 1 3 5 2" in shown_rows
    assert {"Giving links 0 1,000", "CSV files 0 20", "Your saved views 0 100"} <= set(shown_rows)


def next_page(page: str) -> str:
    """Where the older records are."""
    end = page.index("cursor=")
    return page[page.rindex('href="', 0, end) + 6 : page.index('"', end)].replace("&amp;", "&")


async def test_a_call_of_the_dashboard_and_a_wrong_key_are_no_requests_of_the_partner(
    service: Service, tenant: Tenant, developer: Desk
) -> None:
    stranger = service.client("sk_sandbox_wrong")
    await stranger.get("/v1/users")
    await stranger.close()
    await developer.get(f"{developer.home}/donations")
    assert "No entries yet." in await shown(service, developer)


async def test_nothing_is_lost_while_the_database_is_away(service: Service, developer: Desk, api: Client) -> None:
    name = (await api.get("/v1/categories")).headers["request-id"]
    owner = await asyncpg.connect(service.database.owner_dsn)
    await owner.execute("alter table api_request rename to api_request_away")
    try:
        with pytest.raises(asyncpg.UndefinedTableError):
            await service.services.api_requests.flush()
    finally:
        await owner.execute("alter table api_request_away rename to api_request")
        await owner.close()
    assert name in await shown(service, developer)
