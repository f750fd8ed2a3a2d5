"""Keys at work (settled 2; K2-K5): overlap, revocation within a second, last use, nothing readable at rest."""

import asyncio
from base64 import b64encode
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import httpx
import pytest

from almoner.access.guard import KeyGuard, RateLimits
from almoner.access.keys import domain as keys_domain
from almoner.access.keys import service as keys
from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.http.service import ApiApplication as EndpointLayer
from almoner.platform.ratelimit import RateLimit, RateLimiter
from tests.support.client import Client
from tests.support.service import Service, Tenant

CATEGORIES = "/v1/categories"


async def key_id(service: Service, tenant: Tenant) -> UUID:
    """The tenant's secret key."""
    async with service.db.read() as tx:
        found = await keys.find_by_secret(tx, tenant.secret)
    assert found is not None
    return found.id


async def status(service: Service, key: str) -> int:
    """Of a call with the key."""
    client = service.client(key)
    answer = await client.get(CATEGORIES)
    await client.close()
    return answer.status_code


async def test_k4_a_rotated_key_works_until_its_overlap_ends(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        new, secret = await keys.rotate(tx, await key_id(service, tenant), timedelta(hours=24))
    assert new.scopes
    assert [await status(service, key) for key in (tenant.secret, secret)] == [200, 200]
    # Keys live on real time: moving the business clock ends none (settled 9).
    service.clock.advance(days=2)
    assert await status(service, tenant.secret) == 200
    service.clock.advance_wall(hours=23, minutes=59)
    assert await status(service, tenant.secret) == 200
    service.clock.advance_wall(minutes=2)
    assert [await status(service, key) for key in (tenant.secret, secret)] == [401, 200]


async def test_k4_a_second_rotation_does_not_prolong_the_first_key(service: Service, tenant: Tenant) -> None:
    first = await key_id(service, tenant)
    async with service.db.write() as tx:
        await keys.rotate(tx, first, timedelta(hours=1))
        await keys.rotate(tx, first, timedelta(days=7))
    service.clock.advance_wall(hours=1, seconds=1)
    assert await status(service, tenant.secret) == 401


async def test_k4_every_successor_of_a_key_has_its_lifetime(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        expires_at = tx.real_now + timedelta(days=30)
        first, _ = await keys.create(tx, tenant.partner, "secret", "short-lived", expires_at=expires_at)
        successors = [(await keys.rotate(tx, first.id, timedelta(hours=1)))[0] for _ in range(2)]
        await keys.rotate(tx, successors[1].id, timedelta(hours=1))
        again, _ = await keys.rotate(tx, first.id, timedelta(hours=1))
        assert [key.expires_at for key in (*successors, again)] == [expires_at] * 3


async def test_k4_a_revoked_key_stops_within_a_second(service: Service, tenant: Tenant) -> None:
    assert await status(service, tenant.secret) == 200
    async with service.db.write() as tx:
        await keys.revoke(tx, await key_id(service, tenant))
    service.clock.advance_wall(seconds=1)
    assert await status(service, tenant.secret) == 401


async def test_a_paused_partners_keys_are_refused_within_a_second_and_work_again(
    service: Service, tenant: Tenant
) -> None:
    assert await status(service, tenant.secret) == 200
    async with service.db.write() as tx:
        await partners.pause(tx, tenant.partner, "Complaints about its pages")
    service.clock.advance_wall(seconds=1)
    api = service.client(tenant.secret)
    answer = await api.get(CATEGORIES)
    await api.close()
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert answer.json()["error"]["message"] == "This account is paused"
    assert '"secret"' in answer.headers["ratelimit"], "counted for the key"
    async with service.db.write() as tx:
        await partners.resume(tx, tenant.partner)
    service.clock.advance_wall(seconds=1)
    assert await status(service, tenant.secret) == 200


async def test_k5_last_use_is_written_at_most_once_a_minute(service: Service, tenant: Tenant) -> None:
    async def last_use() -> list[object]:
        await service.services.key_guard.flush_key_uses()
        async with service.db.read() as tx:
            row = await tx.fetchrow(
                "select last_used_at, last_used_address, last_used_route from api_key where id = $1",
                await key_id(service, tenant),
            )
        assert row is not None
        return list(row)

    assert await last_use() == [None, None, None]
    await status(service, tenant.secret)
    first = await last_use()
    assert first[1:] == ["127.0.0.1", f"GET {CATEGORIES}"]
    await status(service, tenant.secret)
    assert await last_use() == first
    service.clock.advance_wall(seconds=61)
    await status(service, tenant.secret)
    assert await last_use() != first


async def test_k2_no_key_is_readable_in_the_database(service: Service, tenant: Tenant) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select k::text as row, encode(hash, 'escape') as hash from api_key k")
    for row in rows:
        for secret in (tenant.secret, tenant.publishable):
            assert secret not in row["row"]
            assert secret[-20:] not in row["hash"]


async def test_settled_2_a_key_in_any_of_three_forms(service: Service, tenant: Tenant) -> None:
    basic = b64encode(f"{tenant.secret}:".encode()).decode()
    assert [await status(service, form) for form in (tenant.secret, f"Bearer {tenant.secret}", f"Basic {basic}")] == [
        200,
        200,
        200,
    ]


async def test_k3_unknown_malformed_and_foreign_keys_get_one_answer(service: Service, tenant: Tenant) -> None:
    live = tenant.secret.replace("sandbox", "live")
    unknown = service.client("sk_sandbox_" + "0" * 38)
    expected = (await unknown.get(CATEGORIES)).json()
    await unknown.close()
    for key in (live, tenant.secret[:-1], tenant.secret.upper(), "nonsense"):
        client = service.client(key)
        answer = await client.get(CATEGORIES)
        assert (answer.status_code, answer.json()) == (401, expected)
        assert answer.headers["www-authenticate"]
        await client.close()


WRONG_KEYS = RateLimit("wrong_keys", 0.2, 20)


class StandingClock:
    """Real time that stands still: what a limiter lets through does not depend on the machine's speed."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        """The same."""
        return self.at

    def real_now(self) -> datetime:
        """The same."""
        return self.at


class CountedReads:
    """The database, which counts how often it is read."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.reads = 0

    def read(self) -> AbstractAsyncContextManager[Tx]:
        """As the database's."""
        self.reads += 1
        return self._db.read()


async def test_k4_of_many_calls_at_once_one_looks_the_key_up_again_and_all_do_when_it_takes_too_long(
    service: Service, tenant: Tenant
) -> None:
    clock, db, free = (
        StandingClock(service.clock.real_now()),
        CountedReads(service.db),
        RateLimit("free", 100_000, 100_000),
    )
    guard = KeyGuard(cast("Database", db), clock, RateLimiter(), RateLimits(free, free, free, free, free))
    await guard.authenticate(tenant.secret, "192.0.2.7")
    clock.at += timedelta(seconds=0.6)
    await asyncio.gather(*(guard.authenticate(tenant.secret, "192.0.2.7") for _ in range(20)))
    assert db.reads == 2
    clock.at += timedelta(seconds=0.6)
    slow = asyncio.create_task(guard.authenticate(tenant.secret, "192.0.2.7"))
    await asyncio.sleep(0)
    clock.at += timedelta(seconds=0.2)
    await asyncio.gather(*(guard.authenticate(tenant.secret, "192.0.2.7") for _ in range(20)))
    assert db.reads == 23
    await slow


async def test_l1_l3_limits_per_key_and_their_headers(service: Service) -> None:
    clock = StandingClock(service.clock.real_now())
    limits = RateLimits(
        RateLimit("secret", 25, 50),
        RateLimit("publishable", 25, 50),
        RateLimit("address", 5, 20),
        WRONG_KEYS,
        WRONG_KEYS,
    )
    guard = KeyGuard(service.db, clock, RateLimiter(), limits)
    app = EndpointLayer(service.db, guard, service.services.routes)
    tenant = await service.tenant()
    for key, policy, burst in ((tenant.secret, "secret", 50), (tenant.publishable, "address", 20)):
        client = Client(app, "http://testserver", key)
        answers = [await client.get(CATEGORIES) for _ in range(burst + 2)]
        assert [answer.status_code for answer in answers] == [200] * burst + [429] * 2
        assert answers[0].headers["ratelimit-policy"].startswith(f'"{policy}";q={burst};w=')
        refused = answers[-1]
        assert refused.json()["error"]["code"] == "rate_exceeded"
        assert int(refused.headers["retry-after"]) >= 1
        assert ";r=0;" in refused.headers["ratelimit"]
        clock.at += timedelta(seconds=int(refused.headers["retry-after"]))
        assert (await client.get(CATEGORIES)).status_code == 200
        await client.close()


@dataclass(slots=True)
class Door:
    """The endpoint layer with the settled brake on wrong keys and no other limit, while real time stands still."""

    app: EndpointLayer
    clock: StandingClock

    async def ask(self, key: str, address: str = "192.0.2.7") -> httpx.Response:
        """A call with the key."""
        client = Client(self.app, "http://testserver", key, address)
        answer = await client.get(CATEGORIES)
        await client.close()
        return answer


@pytest.fixture
def door(service: Service) -> Door:
    clock = StandingClock(service.clock.real_now())
    free = RateLimit("free", 100_000, 100_000)
    guard = KeyGuard(service.db, clock, RateLimiter(), RateLimits(free, free, free, WRONG_KEYS, free))
    return Door(EndpointLayer(service.db, guard, service.services.routes), clock)


def guess() -> str:
    return keys_domain.generate_key_secret("secret", sandbox=True)


async def test_an_address_that_guesses_is_slowed_and_told_when_to_come_back(door: Door) -> None:
    assert [(await door.ask(guess())).status_code for _ in range(20)] == [401] * 20
    refused = await door.ask(guess())
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_exceeded")
    assert (await door.ask("nonsense")).status_code == 429, "malformed keys are guesses, too"
    assert (await door.ask(guess(), "192.0.2.8")).status_code == 401
    door.clock.at += timedelta(seconds=int(refused.headers["retry-after"]))
    assert [(await door.ask(guess())).status_code for _ in range(2)] == [401, 429]


async def test_a_right_guess_is_not_told_from_a_wrong_one_while_the_brake_holds(door: Door, tenant: Tenant) -> None:
    for _ in range(20):
        await door.ask(guess())
    assert (await door.ask(tenant.secret)).status_code == 429
    assert (await door.ask(tenant.secret, "192.0.2.8")).status_code == 200


async def test_keys_in_use_are_not_slowed_by_a_guessing_neighbour(door: Door, tenant: Tenant) -> None:
    assert (await door.ask(tenant.secret)).status_code == 200
    for _ in range(40):
        await door.ask(guess())
    door.clock.at += timedelta(seconds=1)
    assert [(await door.ask(tenant.secret)).status_code for _ in range(30)] == [200] * 30


async def test_a_key_ends_when_it_expires_though_it_was_known_just_before(
    door: Door, service: Service, tenant: Tenant
) -> None:
    ends = door.clock.at + timedelta(hours=1)
    async with service.db.write() as tx:
        _, secret = await keys.create(
            tx, tenant.partner, "secret", "brief", frozenset({"categories:read"}), expires_at=ends
        )
    door.clock.at = ends - timedelta(seconds=0.3)
    assert (await door.ask(secret)).status_code == 200
    door.clock.at = ends
    assert (await door.ask(secret)).status_code == 401


async def test_one_wrong_key_again_and_again_locks_nobody_out(door: Door, tenant: Tenant) -> None:
    old = guess()
    assert {(await door.ask(old)).status_code for _ in range(60)} == {401}
    assert (await door.ask(tenant.secret)).status_code == 200


async def test_an_ipv6_network_counts_as_one_address(door: Door) -> None:
    answers = [(await door.ask(guess(), f"2001:db8:1:2::{number:x}")).status_code for number in range(1, 25)]
    assert answers == [401] * 20 + [429] * 4
    assert (await door.ask(guess(), "2001:db8:1:3::1")).status_code == 401
