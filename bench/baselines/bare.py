"""(a) A bare ASGI handler: asyncpg, the same SQL in one statement, the same responses; nothing else.

No key check (a dictionary look-up replaces it), no scope, limit, validation, Request-Id, log line or metrics. Run as
``uvicorn bench.baselines.bare:app`` with BENCH_DSN and BENCH_PARTNERS set by the benchmark.
"""

import hashlib
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from almoner.giving.checkout.sessions.store import CREATE  # the same SQL, word for word

DSN = os.environ["BENCH_DSN"]
PARTNERS: dict[bytes, UUID] = {
    key.encode(): UUID(partner) for key, partner in orjson.loads(os.environ["BENCH_PARTNERS"]).items()
}
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
VALUES = {character: value for value, character in enumerate(ALPHABET)}

Answer = tuple[int, bytes]

COLUMNS = (
    "id, user_id, organisation_id, type, session_id, amount_minor, currency, status, first_name, last_name, email, "
    "consented, anonymous, gift_aid_id, donation_request_id, subscription_id, subscription_due_on, giving_link_id, "
    "designation, dedication, metadata, created_at, cancelled_at, settled_at, settled_minor, settled_currency, "
    "disbursed_at, reassigned_at, reassigned_from, refunded_at, refunded_minor, last_disputed_at, dispute_status, "
    "receipt_delivery"
)
GET = f"select {COLUMNS} from donation where partner_id = $1 and id = $2"
LIST = f"""
select {COLUMNS}, (
    select coalesce(sum(records), 0)::bigint from list_counter where partner_id = $1 and list = $2
) as total
from donation where partner_id = $1 order by id desc limit 26
"""
SEARCH = """
select id, name, country_code, registry_number, created_at from organisation
where partner_id is null and name ilike $1 order by name limit 26
"""

pool: "asyncpg.Pool[asyncpg.Record]"


async def keep_session(_connection: object) -> None:
    """No reset query, as in the service."""


async def start() -> None:
    """Open the pool."""
    global pool  # noqa: PLW0603 (as short as a bare handler is)
    pool = await asyncpg.create_pool(
        DSN, min_size=10, max_size=10, reset=keep_session, server_settings={"jit": "off", "timezone": "UTC"}
    )


def new_id() -> UUID:
    """A UUIDv7."""
    return UUID(int=(time.time_ns() // 1_000_000) << 80 | 7 << 76 | 2 << 62 | secrets.randbits(60))


def text(kind: str, value: UUID | None) -> str | None:
    """The text form of an identifier."""
    if value is None:
        return None
    number = value.int
    return f"sandbox_{kind}_" + "".join(ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def parse(value: str) -> UUID:
    """The UUID of a text form."""
    number = 0
    for character in value.rpartition("_")[2]:
        number = number << 5 | VALUES[character]
    return UUID(int=number)


def iso(moment: datetime | None) -> str | None:
    """The wire form of a moment."""
    return None if moment is None else moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def donation(row: asyncpg.Record) -> dict[str, Any]:
    """A donation as the service returns it."""
    return {
        "id": text("donation", row["id"]),
        "userId": text("user", row["user_id"]),
        "organisationId": text("organisation", row["organisation_id"]),
        "type": row["type"],
        "hosted": {"sessionId": text("donationsession", row["session_id"])},
        "amount": row["amount_minor"],
        "currencyCode": row["currency"],
        "status": row["status"],
        "firstName": row["first_name"],
        "lastName": row["last_name"],
        "email": row["email"],
        "consentedToBeContactedByOrg": "yes" if row["consented"] else "no",
        "anonymous": "yes" if row["anonymous"] else "no",
        "giftAidId": text("giftaid", row["gift_aid_id"]),
        "donationRequestId": text("donationrequest", row["donation_request_id"]),
        "subscription": {
            "initial": row["subscription_due_on"] is None,
            "id": text("donationsubscription", row["subscription_id"]),
        },
        "givingLinkId": text("givinglink", row["giving_link_id"]),
        "designation": row["designation"],
        "dedication": row["dedication"],
        "metadata": orjson.Fragment(row["metadata"]),
        "createdAt": iso(row["created_at"]),
        "cancelledAt": iso(row["cancelled_at"]),
        "settledAt": iso(row["settled_at"]),
        "settledAmount": settled_amount(row) if row["settled_at"] else None,
        "disbursedAt": iso(row["disbursed_at"]),
        "reassignedAt": iso(row["reassigned_at"]),
        "reassignedFromOrganisationId": text("organisation", row["reassigned_from"]),
        "refundedAt": iso(row["refunded_at"]),
        "refundedAmount": row["refunded_minor"],
        "disputedAt": iso(row["last_disputed_at"]),
        "disputeStatus": row["dispute_status"],
        "receiptDelivery": row["receipt_delivery"] or "none",
    }


def settled_amount(row: asyncpg.Record) -> dict[str, Any]:
    """The amount that arrived."""
    return {"amount": row["settled_minor"], "currency": row["settled_currency"]}


async def create_session(partner: UUID, headers: dict[bytes, bytes], raw: bytes) -> Answer:
    """POST /v1/donation-sessions."""
    body = orjson.loads(raw)
    now, made = datetime.now(UTC), new_id()
    expires = now + timedelta(hours=24)
    answer = {
        "id": text("donationsession", made),
        "status": "open",
        "organisationId": body["organisationId"],
        "metadata": body.get("metadata"),
        "url": f"http://localhost:8080/give?token={secrets.token_urlsafe(40)}",
        "createdAt": iso(now),
        "expiresAt": iso(expires),
    }
    sent = orjson.dumps({"data": answer, "object": "donation_session"})
    key = hashlib.sha256(headers[b"idempotency-key"]).digest()
    values: dict[str, object] = {
        "partner_id": partner,
        "key_hash": key,
        "lock": int.from_bytes(key[:8], signed=True),
        "route": "POST /v1/donation-sessions",
        "fingerprint": hashlib.sha256(raw).digest(),
        "answer": sent,
        "now": now,
        "entry_id": new_id(),
        "entry_actor_kind": "key",
        "entry_actor_id": "bare",
        "entry_action": "createDonationSession",
        "entry_subject": answer["id"],
        "entry_address": "127.0.0.1",
        "entry_address_hash": key,
        "entry_request_id": "bare",
        "entry_details": None,
        "entry_mac": key,
        "id": made,
        "organisation_id": parse(body["organisationId"]),
        "user_id": None,
        "language": None,
        "currency": None,
        "success_url": None,
        "metadata": orjson.dumps(body.get("metadata") or {}).decode(),
        "success_host": None,
        "frequencies": ["one_time"],
        "benefits": None,
        "benefits_minor": None,
        "suggested_minor": [],
        "minimum_minor": None,
        "maximum_minor": None,
        "designations": [],
        "offers_dedication": False,
        "world_currency": True,
        "own_countries": [],
    }
    row = await pool.fetchrow(CREATE.sql, *CREATE.ordered_arguments(values))
    assert row is not None
    return 200, row["stored_response"] or sent


async def get_donation(partner: UUID, value: str) -> Answer:
    """GET /v1/donations/{id}."""
    row = await pool.fetchrow(GET, partner, parse(value))
    return (200, orjson.dumps({"data": donation(row), "object": "donation"})) if row else (404, b"{}")


async def list_donations(partner: UUID) -> Answer:
    """GET /v1/donations."""
    rows = await pool.fetch(LIST, partner, "donation")
    body = {
        "data": [donation(row) for row in rows[:25]],
        "object": "donation",
        "totalResults": rows[0]["total"],
        "pageSize": 25,
        "_links": {"next": f"/v1/donations?cursor={text('donation', rows[24]['id'])}"},
    }
    return 200, orjson.dumps(body)


async def search(query: str) -> Answer:
    """GET /v1/organisations?query=: plain substring search, without typo tolerance."""
    rows = await pool.fetch(SEARCH, f"%{query}%")
    found = [
        {"id": text("organisation", row["id"]), "name": row["name"], "countryCode": row["country_code"]} for row in rows
    ]
    return 200, orjson.dumps({"data": found, "object": "organisation"})


async def answer(scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]]) -> Answer:
    """Route the request."""
    headers = dict(scope["headers"])
    partner = PARTNERS[headers[b"authorization"]]
    path: str = scope["path"]
    if scope["method"] == "POST":
        return await create_session(partner, headers, (await receive())["body"])
    if path == "/v1/donations":
        return await list_donations(partner)
    if path == "/v1/organisations":
        return await search(scope["query_string"].decode().partition("=")[2].replace("+", " "))
    return await get_donation(partner, path.rpartition("/")[2])


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The ASGI application."""
    if scope["type"] == "lifespan":
        await receive()
        await start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await pool.close()
        await send({"type": "lifespan.shutdown.complete"})
        return
    status, body = await answer(scope, receive)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
