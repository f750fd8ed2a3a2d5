"""The limits of the interface, at their edges (spec 8; settled 1, 8)."""

import pytest

from almoner import settings as configuration
from almoner.platform import idempotency
from tests.support import factories
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.production import PRODUCTION
from tests.support.service import Service, serving

LISTS = (
    "/v1/categories",
    "/v1/donations",
    "/v1/donation-sessions",
    "/v1/events",
    "/v1/webhook-subscriptions",
    "/v1/organisations",
)


@pytest.mark.parametrize("path", LISTS)
async def test_p6_page_size_is_25_at_most_100_and_a_positive_integer(path: str, api: Client) -> None:
    assert (await api.get(path)).json()["pageSize"] == 25
    for asked, given in ((1, 1), (100, 100), (101, 100), (10**8, 100)):
        answer = await api.get(path, pageSize=asked)
        assert answer.json()["pageSize"] == given, asked
    for wrong in ("0", "-1", "1.5", "x", "", "٣"):
        refused = await api.get(path, pageSize=wrong)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_request"), wrong
        assert refused.json()["error"]["reasons"] == ["query.pageSize must be a positive integer"]


METADATA = [
    ({f"k{number}": "v" for number in range(20)}, True),
    ({f"k{number}": "v" for number in range(21)}, False),
    ({"k" * 40: "v"}, True),
    ({"k" * 41: "v"}, False),
    ({"k": "v" * 250}, True),
    ({"k": "v" * 251}, False),
    ({"k": "\U0001f600" * 250}, True),
    ({"k": ""}, True),
]


@pytest.mark.parametrize(("metadata", "taken"), METADATA)
async def test_metadata_has_20_keys_of_40_and_values_of_250_characters(
    metadata: dict[str, str], taken: bool, service: Service, api: Client
) -> None:
    organisation = await factories.nonprofit(service)
    answer = await api.post("/v1/donation-sessions", {"organisationId": organisation, "metadata": metadata})
    if taken:
        assert data(answer)["metadata"] == metadata
    else:
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "donation_session/invalid_metadata")
        assert answer.json()["error"]["reasons"]


async def test_a_session_lives_24_hours_to_the_millisecond(service: Service, api: Client) -> None:
    opened = await factories.session(service, api)
    path = f"/v1/donation-sessions/{opened['id']}"
    service.clock.advance(hours=24, milliseconds=-1)
    assert data(await api.get(path))["status"] == "open"
    service.clock.advance(milliseconds=1)
    assert data(await api.get(path))["status"] == "expired"


def test_idempotency_keys_live_21_days() -> None:
    assert idempotency.LIFETIME.total_seconds() == 21 * 24 * 3600


@pytest.mark.parametrize(("environment", "expected"), [("sandbox", (25, 50)), ("production", (100, 200))])
def test_rate_limits_are_the_settled_ones(environment: str, expected: tuple[int, int]) -> None:
    values = PRODUCTION | {
        "environment": environment,
        "database_url": "postgresql://almoner_app@localhost/almoner",
        "master_key": "A" * 43 + "=",
    }
    settings = configuration.read_settings(**values)
    assert tuple(settings.secret_key_rate_limit) == expected
    assert tuple(settings.rate_limit_publishable) == (25, 50)
    assert tuple(settings.rate_limit_address) == (5, 20)


async def test_l1_l3_a_burst_is_allowed_then_429_says_when_and_is_right(empty_database: TestDatabase) -> None:
    limit = configuration.RequestRate(1, 20)
    async with serving(empty_database, rate_limit_secret=limit) as service:
        service.clock.stop_wall()
        tenant = await service.tenant()
        client = service.client(tenant.secret)
        answers = [await client.get("/v1/countries") for _ in range(40)]
        allowed = sum(answer.status_code == 200 for answer in answers)
        refused = answers[-1]
        assert 20 <= allowed < 40
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_exceeded")
        assert all({"ratelimit", "ratelimit-policy"} <= answer.headers.keys() for answer in answers)
        assert refused.headers["ratelimit-policy"].startswith('"')
        wait = int(refused.headers["retry-after"])
        assert wait >= 1
        service.clock.advance_wall(seconds=wait)
        assert (await client.get("/v1/countries")).status_code == 200
        neighbour = service.client((await service.tenant()).secret)
        assert (await neighbour.get("/v1/countries")).status_code == 200


async def test_h10_a_customer_with_a_whole_64_of_ipv6_has_one_limit(empty_database: TestDatabase) -> None:
    async with serving(empty_database, rate_limit_address=configuration.RequestRate(1, 5)) as service:
        service.clock.stop_wall()
        key = (await service.tenant()).publishable
        statuses = [
            (await service.client(key, address=f"2001:db8:0:1::{number:x}").get("/v1/countries")).status_code
            for number in range(1, 12)
        ]
        assert statuses.count(200) in {5, 6}
        assert statuses[-1] == 429
        neighbour = service.client(key, address="2001:db8:0:2::1")
        assert (await neighbour.get("/v1/countries")).status_code == 200
