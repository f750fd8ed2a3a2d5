"""Fills one partner's account: a million donations, 100,000 submissions and five million events, by COPY.

``python -m bench.large_partner --owner-dsn postgresql://... --partner partner_...`` fills a database that has been
migrated and has nonprofits; ``bench.desks`` fills one of its own. Donations come with their sessions, payments,
donation requests and transfers in the ledger, submissions with their validation requests. No receipts and no emails.
Never use it on a database with real data: rules between rows are not checked while it runs.
"""

import argparse
import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import asyncpg

from almoner.dashboard.search_terms import SearchableRecord, hash_terms_of_record
from almoner.giving.checkout.donations.store_lists import REFRESH_TOTALS
from almoner.kit.ids import RecordIdCodec, new_id
from almoner.platform.events.event_blocks import BUILD_BLOCK, SIZE

DONATIONS: Final = 1_000_000
SUBMISSIONS: Final = 100_000
EVENTS_OF_DONATION: Final = 5
DAYS: Final = 730
RECENT_DAYS: Final = 80
"""Events are kept for 90 days."""
DONORS: Final = 200_000
REQUESTS: Final = 24
_BATCH: Final = 20_000
_FIRST: Final = "Ada Nia Zoé Teo Mia Ben Ravi Lin Omar Ines Jan Eva Noor Ivo Kofi Aiko Luz Finn Maya Igor".split()
_LAST: Final = (
    "Byron Okafor Müller Rossi Novak Silva Haddad Tanaka Cohen Kowalska Smith Dubois Jansen Shevchenko".split()
)
_CAMPAIGNS: Final = 40
_EVENT_TYPES: Final = (
    "donation.created",
    "donation.hosted.payment_received",
    "donation.payment_successful",
    "donation.settled",
    "donation.disbursed",
)

Row = tuple[Any, ...]
Table = tuple[str, str]
"""(table, columns to fill)."""

_PERIOD: Final = "created_at status_changed_at"
SESSION: Final = (
    "donation_session",
    f"id partner_id organisation_id status currency metadata donation_id expires_at {_PERIOD}",
)
_DONOR: Final = "first_name last_name email consented anonymous metadata"
_SETTLED: Final = "settled_at settled_minor settled_currency"
DONATION: Final = (
    "donation",
    (
        f"id partner_id organisation_id type session_id payment_id status amount_minor currency {_DONOR} {_PERIOD} "
        f"cancelled_at {_SETTLED} donation_request_id"
    ),
)
_PAGES: Final = "description language pages_url api_url"
PAYMENT: Final = (
    "payment",
    f"id donation_id provider provider_payment status amount_minor currency {_PAGES} attempts max_attempts {_PERIOD}",
)
TRANSFER: Final = (
    "ledger_transfer",
    "kind owner_id debit_account_id credit_account_id currency amount_minor posted_at",
)
SEARCH: Final = ("search_record", "partner_id record_type record_id terms")
EVENT: Final = ("event", "id partner_id type payload created_at sequence")
_REGISTERED: Final = "registry_id registry_name registry_number number_key"
REQUEST: Final = (
    "validation_request",
    f"id partner_id status name {_REGISTERED} website country_code organisation_id search_name accepted_at {_PERIOD}",
)
_NAMED: Final = "organisation_name country_code search_name language first_name last_name email metadata"
SUBMISSION: Final = (
    "validation_submission",
    (
        f"id partner_id configuration_id status checks organisation_id validation_request_id {_NAMED} processed_at "
        f"{_PERIOD}"
    ),
)
_NO_TRIGGERS: Final = """
alter table donation alter constraint donation_payment deferrable initially deferred;
alter table donation_session alter constraint donation_session_donation deferrable initially deferred;
alter table ledger_transfer disable trigger ledger_transfer_balances;
"""
_TRIGGERS: Final = """
alter table donation alter constraint donation_payment not deferrable;
alter table donation_session alter constraint donation_session_donation not deferrable;
alter table ledger_transfer enable trigger ledger_transfer_balances;
"""
_BALANCES: Final = """
update ledger_account a set debits_minor = t.debits, credits_minor = t.credits
from (
    select account, sum(debit)::bigint as debits, sum(credit)::bigint as credits from (
        select debit_account_id as account, amount_minor as debit, 0 as credit from ledger_transfer
        union all select credit_account_id, 0, amount_minor from ledger_transfer
    ) moved group by account
) t where t.account = a.id
"""


@dataclass(frozen=True, slots=True)
class LargePartner:
    """The partner whose account is filled, and the amounts of data."""

    partner: UUID
    organisations: Sequence[UUID]
    ids: RecordIdCodec
    donations: int = DONATIONS
    submissions: int = SUBMISSIONS
    events: int = DONATIONS * EVENTS_OF_DONATION


@dataclass(slots=True)
class _Places:
    """What donations refer to: requests in order, ledger accounts by nonprofit, and the provider's."""

    requests: list[UUID]
    liabilities: dict[UUID, int]
    clearing: int
    bank: int


class _Progress:
    """Reports the progress: rows per second, and the time left."""

    def __init__(self, what: str, total: int, say: Callable[[str], None]) -> None:
        self._what, self._total, self._say = what, total, say
        self._began = time.perf_counter()

    def at(self, done: int) -> None:
        """Report more rows."""
        spent = time.perf_counter() - self._began
        rate = done / max(spent, 1e-9)
        left = (self._total - done) / max(rate, 1e-9)
        self._say(f"{self._what}: {done:,} of {self._total:,}, {rate:,.0f} rows/s, {left:,.0f} s left")


async def fill(dsn: str, large: LargePartner, say: Callable[[str], None] = print) -> float:
    """Fill the account; returns the seconds. ``dsn``: of the owner of the tables."""
    began = time.perf_counter()
    connection = await asyncpg.connect(dsn)
    try:
        async with _without_triggers(connection):
            await _fill_donations(connection, large, say)
        await connection.execute(_BALANCES, timeout=1200)
        await _fill_submissions(connection, large, say)
        await _fill_events(connection, large, say)
        await _count(connection, large)
        say("vacuum and analyze")
        await connection.execute("vacuum analyze", timeout=3600)
    finally:
        await connection.close()
    return time.perf_counter() - began


@asynccontextmanager
async def _without_triggers(connection: "asyncpg.Connection[asyncpg.Record]") -> AsyncIterator[None]:
    """Allow a session, its donation and its payment in any order, and compute balances once."""
    await connection.execute(_NO_TRIGGERS)
    try:
        yield
    finally:
        await connection.execute(_TRIGGERS)


async def _copy(connection: "asyncpg.Connection[asyncpg.Record]", table: Table, rows: Sequence[Row]) -> None:
    name, columns = table
    await connection.copy_records_to_table(name, records=rows, columns=columns.split(), timeout=600)


async def _fill_donations(
    connection: "asyncpg.Connection[asyncpg.Record]", large: LargePartner, say: Callable[[str], None]
) -> None:
    places = await _places(connection, large)
    progress = _Progress("donations", large.donations, say)
    for first in range(0, large.donations, _BATCH):
        made: dict[Table, list[Row]] = {SESSION: [], DONATION: [], PAYMENT: [], TRANSFER: [], SEARCH: []}
        for number in range(first, min(first + _BATCH, large.donations)):
            for table, row in _donation(large, places, number):
                made[table].append(row)
        async with connection.transaction():
            for table, rows in made.items():
                await _copy(connection, table, rows)
            await connection.execute("delete from search_change")  # they are in the search already
        progress.at(min(first + _BATCH, large.donations))


def donor(number: int) -> tuple[str, str, str]:
    """(first name, last name, email) of a donation's donor."""
    one = number * 7919 % DONORS
    first, last = _FIRST[one % len(_FIRST)], _LAST[one // 7 % len(_LAST)]
    return first, last, f"donor{one:06d}@example.org"


def created_at(large: LargePartner, number: int) -> datetime:
    """When a donation was created: spread over two years up to today."""
    whole = timedelta(days=DAYS)
    return (
        datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        - whole
        + number * (whole / large.donations)
    )


def metadata(number: int) -> dict[str, str]:
    """Its metadata: one of some campaigns, and its own order number."""
    return {"campaign": f"appeal-{number % _CAMPAIGNS}", "order": f"ORD-{number:07d}"}


def _donation(large: LargePartner, places: _Places, number: int) -> Iterator[tuple[Table, Row]]:
    at, dice = created_at(large, number), number * 7919 % 100
    organisation = large.organisations[number * 104729 % len(large.organisations)]
    identifier, hosted, amount = new_id(at), number % 5 < 3, 100 + number % 9900
    status = _status(hosted, dice)
    paid, about, who = status == "RECEIVED_PAYMENT", json.dumps(metadata(number)), donor(number)
    session, payment = (new_id(at), new_id(at) if paid else None) if hosted else (None, None)
    if hosted:
        ended = ("completed", identifier) if paid else ("expired", None)
        yield SESSION, (session, large.partner, organisation, ended[0], "USD", about, ended[1], at + _DAY, at, at)
    settled = (at + 3 * _DAY, amount - amount // 25, "USD") if paid else (None, None, None)
    request = places.requests[number * len(places.requests) // large.donations]
    yield (
        DONATION,
        (
            *(identifier, large.partner, organisation, "hosted" if hosted else "direct", session, payment, status),
            *(amount, "USD", *who, True, False, about, at, at, at if status == "CANCELLED" else None, *settled),
            request if not hosted and status in ("REQUESTED_PAYMENT", "RECEIVED_PAYMENT") else None,
        ),
    )
    if payment:
        yield (
            PAYMENT,
            (
                *(payment, identifier, "bench", str(payment), "succeeded", amount, "USD", "Donation", "en"),
                *("https://pages.example", "https://api.example", 1, 5, at, at),
            ),
        )
    if paid:
        liability = places.liabilities[organisation]
        received = ("payment_received", payment) if payment else ("request_allocated", identifier)
        yield TRANSFER, (*received, places.clearing, liability, "USD", amount, at)
        yield TRANSFER, ("settled", identifier, places.bank, places.clearing, "USD", settled[1], settled[0])
    found = _donation_terms(large.partner, who, tuple(metadata(number).values()))
    yield SEARCH, (large.partner, "donation", identifier, found)


_DAY: Final = timedelta(days=1)


def _status(hosted: bool, dice: int) -> str:
    if dice < 84:
        return "RECEIVED_PAYMENT"
    if dice < 94:
        return "CANCELLED" if hosted else "REQUESTED_PAYMENT"
    return "CANCELLED" if hosted or dice < 99 else "ACTIVE"


def _donation_terms(partner: UUID, who: tuple[str, ...], about: tuple[str, ...]) -> list[int]:
    parts = [_terms(partner, who, ()), *(_terms(partner, (), (one,)) for one in about)]
    return sorted({term for part in parts for term in part})


@lru_cache(maxsize=300_000)
def _terms(partner: UUID, personal: tuple[str, ...], texts: tuple[str, ...]) -> list[int]:
    return hash_terms_of_record(SearchableRecord(partner, "donation", partner, personal, texts))


async def _places(connection: "asyncpg.Connection[asyncpg.Record]", large: LargePartner) -> _Places:
    rows = await connection.fetch(
        """
        insert into donation_request (id, partner_id, currency, amount_minor, donations, paid_minor, allocated_minor,
                                      status, reference, cutoff_at, collecting, allocating, created_at, due_at,
                                      status_changed_at)
        select gen_random_uuid(), $1, 'USD', 1000000, 1, 0, 0, 'OPEN', 'ALM-BENCH-' || lpad(n::text, 5, '0'), now(),
               false, false, now(), now() + interval '30 days', now()
        from generate_series(1, $2) n returning id
        """,
        large.partner,
        REQUESTS,
    )
    accounts = await connection.fetch(
        """
        insert into ledger_account (kind, currency, provider, organisation_id)
        select 'donation_liability', 'USD', null, o from unnest($1::uuid[]) o
        union all select 'provider_clearing', 'USD', 'bench', null union all select 'bank', 'USD', null, null
        on conflict (key) do update set provider = excluded.provider
        returning id, kind, organisation_id
        """,
        list(large.organisations),
    )
    one = {row["kind"]: row["id"] for row in accounts}
    liabilities = {row["organisation_id"]: row["id"] for row in accounts if row["organisation_id"]}
    return _Places([row["id"] for row in rows], liabilities, one["provider_clearing"], one["bank"])


async def _fill_submissions(
    connection: "asyncpg.Connection[asyncpg.Record]", large: LargePartner, say: Callable[[str], None]
) -> None:
    configuration = await connection.fetchval(
        "select id from hosted_configuration where partner_id = $1 and is_default", large.partner
    )
    registry = await connection.fetchval("select registry_id from organisation where id = $1", large.organisations[0])
    progress = _Progress("submissions", large.submissions, say)
    for first in range(0, large.submissions, _BATCH):
        made: dict[Table, list[Row]] = {REQUEST: [], SUBMISSION: [], SEARCH: []}
        for number in range(first, min(first + _BATCH, large.submissions)):
            for table, row in _submission(large, configuration, registry, number):
                made[table].append(row)
        async with connection.transaction():
            for table, rows in made.items():
                await _copy(connection, table, rows)
            await connection.execute("delete from search_change")
        progress.at(min(first + _BATCH, large.submissions))


def _submission(large: LargePartner, configuration: UUID, registry: UUID, number: int) -> Iterator[tuple[Table, Row]]:
    at = datetime.now(UTC) - timedelta(days=DAYS) + number * (timedelta(days=DAYS) / large.submissions)
    organisation = large.organisations[number * 104729 % len(large.organisations)]
    name, registered = f"Relief Society {number:06d}", f"{number:09d}"
    request, submission = new_id(at), new_id(at)
    first, last, _ = donor(number)
    email, pending = f"applicant{number:06d}@charity.example", number % 50 == 0
    accepted, accepted_at = (None, None) if pending else (organisation, at)
    yield (
        REQUEST,
        (
            *(
                request,
                large.partner,
                "pending" if pending else "accepted",
                name,
                registry,
                "IRS",
                registered,
                registered,
                "https://charity.example",
            ),
            *("USA", accepted, f" {name.lower()} ", accepted_at, at, at),
        ),
    )
    yield (
        SUBMISSION,
        (
            *(submission, large.partner, configuration, "pending" if pending else "succeeded", ["validation_request"]),
            *(accepted, request, name, "USA", f" {name.lower()} ", "en", first, last, email),
            *(json.dumps({"crm": f"K-{number:06d}"}), accepted_at, at, at),
        ),
    )
    texts = (name, registered)
    for kind, record, more in (
        ("validationrequest", request, ()),
        ("validationsubmission", submission, (first, last, email, f"K-{number:06d}")),
    ):
        found = hash_terms_of_record(SearchableRecord(large.partner, kind, record, (), (*texts, *more)))
        yield SEARCH, (large.partner, kind, record, found)


async def _fill_events(
    connection: "asyncpg.Connection[asyncpg.Record]", large: LargePartner, say: Callable[[str], None]
) -> None:
    last = await connection.fetchval("select last_sequence from event_counter where partner_id = $1", large.partner)
    start, pick = last or 0, random.Random(7)
    progress = _Progress("events", large.events, say)
    for first in range(0, large.events, _BATCH):
        rows = [
            _event(large, number, start + number + 1, pick)
            for number in range(first, min(first + _BATCH, large.events))
        ]
        await _copy(connection, EVENT, rows)
        progress.at(min(first + _BATCH, large.events))
    await connection.execute(
        """
        insert into event_counter (partner_id, last_sequence) values ($1, $2)
        on conflict (partner_id) do update set last_sequence = excluded.last_sequence
        """,
        large.partner,
        start + large.events,
    )


def _event(large: LargePartner, number: int, sequence: int, pick: random.Random) -> Row:
    span = timedelta(days=RECENT_DAYS)
    at = datetime.now(UTC) - span + number * (span / large.events)
    identifier, type_ = new_id(at), _EVENT_TYPES[number % len(_EVENT_TYPES)]
    gift = number // EVENTS_OF_DONATION
    first, last, email = donor(gift)
    record = (
        f'{{"id":"{large.ids.encode("donation", identifier)}","userId":null,"organisationId":null,"type":"direct",'
        f'"hosted":null,"amount":{pick.randrange(100, 10_000)},"currencyCode":"USD","status":"RECEIVED_PAYMENT",'
        f'"firstName":"{first}","lastName":"{last}","email":"{email}","metadata":{json.dumps(metadata(gift))},'
        f'"createdAt":"{at:%Y-%m-%dT%H:%M:%S.000Z}","cancelledAt":null,"settledAt":null,"disbursedAt":null}}'
    )
    payload = (
        f'{{"object":"event","data":{{"id":"{large.ids.encode("event", identifier)}",'
        f'"createdAt":"{at:%Y-%m-%dT%H:%M:%S.000Z}","eventType":"{type_}","eventData":{record}}}}}'
    )
    return (identifier, large.partner, type_, payload.encode(), at, sequence)


async def _count(connection: "asyncpg.Connection[asyncpg.Record]", large: LargePartner) -> None:
    """Update the list totals, as the service and workers do."""
    for name in ("donation", "donation_session", "donation_request", "validation_request", "validation_submission"):
        await connection.execute(
            f"""
            insert into list_counter (partner_id, list, slot, records)
            select $1, $2, 63, (select count(*) from {name} where partner_id = $1)
                - coalesce((
                    select sum(records) from list_counter where partner_id = $1 and list = $2 and slot <> 63
                ), 0)
            on conflict (partner_id, list, slot) do update set records = excluded.records
            """,
            large.partner,
            name,
            timeout=600,
        )
    while await connection.fetchval(REFRESH_TOTALS, 50_000, timeout=1200):
        pass
    last = await connection.fetchval("select last_sequence from event_counter where partner_id = $1", large.partner)
    for summarised in range(0, last - SIZE + 1, SIZE):
        await connection.execute(BUILD_BLOCK, large.partner, summarised)


def main() -> None:
    """Fill an account of a given database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owner-dsn", required=True, help="of the owner of the tables")
    parser.add_argument("--partner", required=True, help="the partner's identifier")
    parser.add_argument("--donations", type=int, default=DONATIONS)
    parser.add_argument("--submissions", type=int, default=SUBMISSIONS)
    parser.add_argument("--events", type=int, default=DONATIONS * EVENTS_OF_DONATION)
    given = parser.parse_args()
    ids = RecordIdCodec(sandbox=given.partner.startswith("sandbox_"))
    partner = ids.decode("partner", given.partner)
    if partner is None:
        parser.error("--partner must be the identifier of a partner")
    asyncio.run(_fill_given(given, ids, partner))


async def _fill_given(given: argparse.Namespace, ids: RecordIdCodec, partner: UUID) -> None:
    connection = await asyncpg.connect(given.owner_dsn)
    rows = await connection.fetch(
        "select id from organisation where partner_id is null and active order by id limit 2000"
    )
    await connection.close()
    organisations = [row["id"] for row in rows]
    large = LargePartner(partner, organisations, ids, given.donations, given.submissions, given.events)
    print(f"filled in {await fill(given.owner_dsn, large):,.0f} s")


if __name__ == "__main__":
    main()
