"""Records for tests, created through the service where possible."""

from itertools import count
from typing import Any
from uuid import UUID

from almoner.platform.database.transactions import Partner
from tests.support.client import Client, data
from tests.support.service import Service

IRS = UUID("019b76da-a800-7000-8000-000000000001")
CARD = "4242 4242 4242 4242"
_numbers = count(1)


def unique(text: str = "thing") -> str:
    """A name that no other test of this worker uses."""
    return f"{text} {next(_numbers)}"


async def nonprofit(
    service: Service,
    *,
    name: str | None = None,
    partner: Partner | None = None,
    country: str = "USA",
    registry: UUID = IRS,
    active: bool = True,
    types: tuple[str, ...] = ("nonprofit",),
    website: str | None = "https://example.org",
    city: str | None = "Casper",
    state: str | None = "WY",
) -> str:
    """Create an organisation; returns its ID. ``partner``: the only partner that sees it (settled 5)."""
    number = f"{next(_numbers):09d}"
    name = name or unique("Relief Fund")
    async with service.db.write() as tx:
        made = tx.new_id()
        await tx.execute(
            """
            insert into organisation (
                id, partner_id, registry_id, registry_number, number_key, name, country_code, types, active, websites,
                city, state, search_name, created_at, updated_at
            ) values ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
            """,
            made,
            partner.id if partner else None,
            registry,
            number,
            name,
            country,
            list(types),
            active,
            [website] if website else [],
            city,
            state,
            name.lower(),
            tx.now,
        )
        return tx.ids.encode("organisation", made)


async def listed(service: Service, name: str, code: str, number: str) -> str:
    """Create a published record of a registry."""
    async with service.db.read() as tx:
        registry = await tx.fetchval("select id from registry where code = $1", code)
    made = await nonprofit(service, name=name, registry=registry, country="GBR")
    async with service.db.write() as tx:
        sql = "update organisation set registry_number = $2, number_key = $2 where id = $1"
        await tx.execute(sql, tx.ids.decode("organisation", made), number)
    return made


async def category(api: Client, **body: Any) -> dict[str, Any]:
    """Create a category."""
    record: dict[str, Any] = data(await api.post("/v1/categories", {"name": unique("category"), **body}))
    return record


async def user(api: Client) -> dict[str, Any]:
    """Create a user."""
    record: dict[str, Any] = data(await api.post("/v1/users"))
    return record


async def subscription(api: Client, *events: str, url: str = "http://127.0.0.1:9/hooks") -> dict[str, Any]:
    """Create a webhook subscription, to every event unless some are given."""
    body = {"events": list(events) or ["*"], "url": url}
    record: dict[str, Any] = data(await api.post("/v1/webhook-subscriptions", body))
    return record


async def session(service: Service, api: Client, *, organisation: str | None = None, **body: Any) -> dict[str, Any]:
    """Create a donation session, for a new nonprofit unless given."""
    organisation = organisation or await nonprofit(service)
    record: dict[str, Any] = data(await api.post("/v1/donation-sessions", {"organisationId": organisation, **body}))
    return record


async def giving_link(service: Service, api: Client, **body: Any) -> dict[str, Any]:
    """Create a giving link, for a new nonprofit unless given."""
    if "organisationIds" not in body and "categoryId" not in body:
        body["organisationIds"] = [await nonprofit(service)]
    record: dict[str, Any] = data(await api.post("/v1/giving-links", {"title": "Appeal", **body}))
    return record


async def donation(service: Service, api: Client, *, organisation: str | None = None, **gift: Any) -> dict[str, Any]:
    """Create a donation, paid with a card that works."""
    opened = await session(service, api, organisation=organisation)
    donor = {"firstName": "Ada", "lastName": "Byron", "email": "ada@example.org", "card": CARD}
    simulated = {"id": opened["id"], "action": "donate", "amount": 2500, "currencyCode": "USD", **donor, **gift}
    data(await api.post("/v1/sandbox/simulate", simulated))
    found: list[dict[str, Any]] = data(await api.get("/v1/donations", pageSize=1))
    return found[0]


async def direct(service: Service, api: Client, *, organisation: str | None = None, **body: Any) -> dict[str, Any]:
    """Create a direct donation, for a new nonprofit unless given."""
    organisation = organisation or await nonprofit(service)
    given = {"amount": 2500, "currencyCode": "USD", "organisationId": organisation, **body}
    record: dict[str, Any] = data(await api.post("/v1/donations", given))
    return record


async def verification(
    service: Service, api: Client, *, organisation: str | None = None, test: str = "", **body: Any
) -> dict[str, Any]:
    """Create a monetary donation verification, of a new nonprofit unless given; ``test``: the requested outcome.

    A job produces the outcome of a test value: drain, or wait.
    """
    named = (organisation or await nonprofit(service)) + (f"-monetaryDonation:{test}" if test else "")
    answer = await api.post("/v1/monetary-donation-verifications", {"organisationId": named, **body})
    record: dict[str, Any] = data(answer)
    return record


async def disbursement(service: Service, api: Client) -> dict[str, Any]:
    """Create a disbursement: the open batch of a settled donation."""
    made = await donation(service, api)
    await service.drain()  # its receipt: marking it as sent would lock the donation
    data(await api.post("/v1/sandbox/simulate", {"id": made["id"], "action": "settle"}))
    await service.drain()
    found: list[dict[str, Any]] = data(await api.get("/v1/disbursements", pageSize=1))
    return found[0]


async def event(service: Service, api: Client) -> dict[str, Any]:
    """A numbered event of the partner: the latest one about a donation."""
    await donation(service, api)
    await service.drain()
    found: list[dict[str, Any]] = data(await api.get("/v1/events", pageSize=1))
    return found[0]
