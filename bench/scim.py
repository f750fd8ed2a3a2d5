"""SCIM for a partner with 10,000 users, beside the package's own in-memory storage, in one process, one caller."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import asyncpg
from scim2_models import ScimProvider
from scim2_server.applications.asgi import ASGIApplication
from scim2_server.memory import AsyncInMemoryStorage, InMemoryStorage
from scim2_server.service import ScimService

from almoner import app as application
from almoner import wiring
from almoner.access.keys import service as keys
from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.observability.telemetry import Telemetry
from almoner.scim.provider import build_scim_provider
from almoner.settings import RequestRate, Settings
from bench.scale import FULL, Scale
from bench.stage import database

USERS = 10_000
OTHERS = 4
BULK = 1_000
ASKED = 100
FAMILY = ("Lovelace", "Hopper", "Johnson", "Hamilton", "Noether", "Curie", "Germain", "Kovalevskaya", "Mirzakhani")
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

Query = Callable[[int], str]
QUERIES: dict[str, Query] = {
    "list of 100": lambda n: f"startIndex={n * 40 % USERS + 1}&count=100",
    "userName eq": lambda n: f'filter=userName+eq+"person{n * 37 % USERS}@example.org"',
    "externalId eq": lambda n: f'filter=externalId+eq+"external-{n * 37 % USERS}"',
    "sort by userName, 100": lambda n: f"sortBy=userName&count=100&startIndex={n * 40 % USERS + 1}",
    "sort by name.familyName, 100": lambda n: f"sortBy=name.familyName&count=100&startIndex={n * 40 % USERS + 1}",
    "an e-mail that contains a word, 100": lambda n: f'filter=emails.value+co+"{n % 10}@work"&count=100',
}


def person(number: int) -> dict[str, Any]:
    """A user as directories send them."""
    family = FAMILY[number % len(FAMILY)] + str(number % 997)
    return {
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "userName": f"person{number}@example.org",
        "externalId": f"external-{number}",
        "name": {"givenName": f"Ada {number}", "familyName": family},
        "displayName": f"Ada {number} {family}",
        "title": "Engineer",
        "active": number % 50 != 0,
        "emails": [{"value": f"person{number}@work.example", "type": "work", "primary": True}],
        ENTERPRISE: {"employeeNumber": str(number), "department": f"Department {number % 40}"},
    }


class Caller:
    """Requests to an ASGI application without a network."""

    def __init__(self, app: Callable[..., Awaitable[None]], prefix: str, key: str) -> None:
        self._app = app
        self._prefix = prefix
        self._key = key

    async def __call__(self, method: str, path: str, query: str = "", body: object = None) -> Any:
        """The JSON of the response."""
        sent: list[Any] = []
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"host": "127.0.0.1:8000", "authorization": f"Bearer {self._key}"}
        headers |= {"content-type": "application/scim+json", "content-length": str(len(content))} if content else {}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": self._prefix + path,
            "raw_path": (self._prefix + path).encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 8000),
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        answer = b"".join(message.get("body", b"") for message in sent)
        assert sent[0]["status"] < 300, answer
        return json.loads(answer)


def _operations(numbers: range) -> dict[str, Any]:
    operations = [
        {"method": "POST", "path": "/Users", "bulkId": f"b{number}", "data": person(number)} for number in numbers
    ]
    return {"schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"], "Operations": operations}


async def _fill(db: Database, partner: Partner, users: int) -> None:
    """Create rows as the service stores them."""
    async with db.write() as tx:
        profiles = [{name: one for name, one in person(number).items() if name != "schemas"} for number in range(users)]
        rows = [(tx.new_id(), partner.id, profile, tx.now) for profile in profiles]
        await tx.executemany(
            "insert into person (id, realm, profile, created_at, updated_at) values ($1, $2, $3, $4, $4)", rows
        )


def _memory(provider: ScimProvider, users: int) -> AsyncInMemoryStorage:
    storage = InMemoryStorage()
    model: Any = provider.model_for("User")
    type_ = next(one for one in provider.resource_types if one.name == "User")
    for number in range(users):
        storage.create(type_, model.model_validate(person(number)))
    return AsyncInMemoryStorage(storage)


async def _bulk(call: Caller, bulk: int) -> float:
    """The seconds of a bulk request for new users."""
    started = time.perf_counter()
    answer = await call("POST", "/Bulk", body=_operations(range(USERS, USERS + bulk)))
    assert all(one["status"] == "201" for one in answer["Operations"])
    return time.perf_counter() - started


async def _ask(call: Caller, query: Query, asked: int) -> list[float]:
    took = []
    for number in range(asked):
        started = time.perf_counter()
        await call("GET", "/Users", query(number))
        took.append((time.perf_counter() - started) * 1000)
    return sorted(took)


async def _partner(db: Database, name: str, users: int) -> str:
    """Create a partner with users; returns the secret of its key."""
    async with db.write() as tx:
        partner = Partner((await partners.create(tx, name)).id)
        await partners.set_scim_allowed(tx, partner, allowed=True)
        _, secret = await keys.create(tx, partner, "scim", "bench", frozenset({"scim_api"}))
    await _fill(db, partner, users)
    return secret


async def _rounds(complete: Settings, scale: Scale) -> list[str]:
    users, asked, bulk = scale.rows(USERS), scale.rows(ASKED, 3), scale.rows(BULK)
    unlimited = complete.model_copy(update={"rate_limit_secret": RequestRate(900_000, 900_000)})
    services = await wiring.build_services(unlimited, telemetry=Telemetry(lambda _: None))
    try:
        for number in range(OTHERS):
            await _partner(services.db, f"Other {number}", users // OTHERS)
        ours = Caller(application.create_app(services), "/scim/v2", await _partner(services.db, "Large", users))
        provider = build_scim_provider()
        plain = ASGIApplication(_memory(provider, users), provider, ScimService(provider, secret=b"bench"))
        memory = Caller(plain, "/v2", "")
        owner = await asyncpg.connect(complete.owner_dsn)
        await owner.execute("vacuum analyze person")
        await owner.close()
        found = {
            name: (await _ask(ours, query, asked), await _ask(memory, query, asked)) for name, query in QUERIES.items()
        }
        bulks = await _bulk(ours, bulk), await _bulk(memory, bulk)
    finally:
        await services.close()
    head = f"a partner with {users:,} users among {OTHERS + 1}, one caller, {asked} times each"

    return list(_table(head, found, f"a bulk request for {bulk:,} new users", *bulks))


def _table(
    head: str, found: dict[str, tuple[list[float], list[float]]], last: str, bulk: float, memory_bulk: float
) -> Iterator[str]:
    yield f"| {head} | p50 ms | p99 ms | in memory p50 | p99 |"
    yield "|---|---|---|---|---|"
    for name, (ours, memory) in found.items():
        yield f"| {name} | {_of(ours, 50)} | {_of(ours, 99)} | {_of(memory, 50)} | {_of(memory, 99)} |"
    yield f"| {last} | {bulk * 1000:,.0f} | | {memory_bulk * 1000:,.0f} | |"


def _of(times: list[float], part: int) -> str:
    return f"{times[len(times) * part // 100]:.1f}"


def measure(scale: Scale) -> list[str]:
    """A Markdown table."""
    with database() as complete:
        return asyncio.run(_rounds(complete, scale))


if __name__ == "__main__":
    print("\n".join(measure(FULL)))
