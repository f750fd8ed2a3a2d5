"""Filtered donation lists of a partner with a million donations: milliseconds over HTTP, one request at a time.

``python -m bench.donation_lists``; with ``--write`` the figures go to docs/evidence/donation-lists.md. The donations
are written directly into the table, in a database of its own that is deleted afterwards.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import aiohttp
import asyncpg

from almoner.giving.checkout.donations.store_lists import REFRESH_TOTALS
from almoner.kit.ids import RecordIdCodec
from bench import machine
from bench.stage import Stage, server, staged

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "donation-lists.md"
ROWS: Final = 1_000_000
USERS: Final = 50_000
BUSY: Final = 10
"""One in so many donations is from the last day, and one in so many from one user."""
LATEST: Final = 50
"""One in so many donations is newer than the last vacuum."""
REQUESTS: Final = 24
DAYS: Final = 730
AIM_MS: Final = 100
CALLS: Final = 300
LAST: Final = datetime(2026, 11, 1, tzinfo=UTC)
FIRST: Final = LAST - timedelta(days=DAYS)

# An ID starts with the milliseconds of its donation, as in the service.
FILL: Final = f"""
insert into donation (id, partner_id, organisation_id, user_id, type, status, amount_minor, currency, consented,
                      anonymous, metadata, created_at, cancelled_at, cover_minor, status_changed_at,
                      donation_request_id)
select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(g.n::text), 1, 3)
        || '8' || substr(md5(g.n::text), 4, 15))::uuid,
       $1, o.id, u.id, 'direct', status, 100 + g.n % 9900, 'GBP', true, false, '{{"campaign": "winter"}}', at,
       case status when 'CANCELLED' then at end, 0, at,
       case when status in ('REQUESTED_PAYMENT', 'RECEIVED_PAYMENT') then r.id end
from (
    select n, $2::timestamptz + case
                  when n < $4::bigint - $4::bigint / {BUSY}
                      then n * ($3::interval / ($4::bigint - $4::bigint / {BUSY}))
                  else $3::interval
                      + (n - $4::bigint + $4::bigint / {BUSY}) * (interval '1 day' / ($4::bigint / {BUSY}))
              end as at, mod(n * 7919, 100) as dice
    from generate_series($5::bigint, $6) n
) g
cross join lateral (select case when dice < 84 then 'RECEIVED_PAYMENT' when dice < 94 then 'REQUESTED_PAYMENT'
                                when dice < 99 then 'CANCELLED' else 'ACTIVE' end as status) s
join bench_organisation o on o.n = case when mod(g.n, 3) = 0 then 0 else mod(g.n * 104729, $7) end
join bench_user u on u.n = case when mod(g.n, {BUSY}) = 1 then 0 else mod(g.n * 15485863, $8) end
join bench_request r on r.n = g.n * $9::bigint / $4::bigint
"""

Chosen = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class World:
    """The values to filter by."""

    organisations: list[str]
    users: list[str]
    requests: list[str]


async def fill(stage: Stage, rows: int) -> World:
    """Create a partner's donations of two years: a third of them for one nonprofit, the others for all."""
    connection = await asyncpg.connect(stage.settings.owner_dsn)
    ids, partner = RecordIdCodec(sandbox=stage.settings.sandbox), stage.partner_ids[1]
    chosen = [ids.decode("organisation", name) for name in stage.organisations]
    await connection.execute("create table bench_organisation (n int primary key, id uuid)")
    await connection.copy_records_to_table("bench_organisation", records=list(enumerate(chosen)))
    await connection.execute(
        f"""
        create table bench_user as select n, gen_random_uuid() as id from generate_series(0, {USERS - 1}) n;
        create table bench_request as select n, gen_random_uuid() as id from generate_series(0, {REQUESTS}) n;
        """
    )
    await connection.execute(
        "insert into giving_user (id, partner_id, created_at) select id, $1, $2 from bench_user", partner, FIRST
    )
    await connection.execute(
        """
        insert into donation_request (id, partner_id, currency, amount_minor, donations, paid_minor, allocated_minor,
                                      status, reference, cutoff_at, collecting, allocating, created_at, due_at,
                                      status_changed_at)
        select id, $1, 'GBP', 1000000, 1, 0, 0, 'OPEN', 'ALM-BENCH-' || lpad(n::text, 5, '0'), $2, false, false, $2, $2,
               $2
        from bench_request
        """,
        partner,
        LAST,
    )
    span = timedelta(days=DAYS - 1)
    seen = rows - rows // LATEST
    for first, last in [*((n, min(n + 100_000, seen)) for n in range(0, seen, 100_000)), (seen, rows)]:
        if first == seen:
            await connection.execute("vacuum analyze donation", timeout=1200)
        await connection.execute(
            FILL, partner, FIRST, span, rows, first, last - 1, len(chosen), USERS, REQUESTS, timeout=1200
        )
    await connection.execute(
        "insert into list_counter (partner_id, list, slot, records) values ($1, 'donation', 0, $2) "
        "on conflict (partner_id, list, slot) do update set records = excluded.records",
        partner,
        rows,
    )
    while await connection.fetchval(REFRESH_TOTALS, 50_000, timeout=1200):
        pass  # as a worker does every minute
    for table in ("donation_tally", "donation_tally_change"):
        await connection.execute(f"vacuum analyze {table}", timeout=1200)
    users = [
        ids.encode("user", row["id"])
        for row in await connection.fetch("select id from bench_user order by n limit 500")
    ]
    requests = [
        ids.encode("donationrequest", row["id"]) for row in await connection.fetch("select id from bench_request")
    ]
    await connection.close()
    return World(stage.organisations, users, requests)


def _day(pick: random.Random) -> datetime:
    return FIRST + timedelta(days=pick.randrange(DAYS - 1))


def questions(world: World) -> Mapping[str, Callable[[random.Random], Chosen]]:
    """The requests, by name."""
    big, busy = world.organisations[0], world.users[0]
    statuses = ("ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "CANCELLED", "DISBURSED")

    def days(pick: random.Random) -> Chosen:
        start = _day(pick)
        return {
            "startDate": f"{start:%Y-%m-%d}",
            "endDate": f"{start + timedelta(days=pick.randrange(1, 400)):%Y-%m-%d}",
        }

    def moments(pick: random.Random) -> Chosen:
        start = _day(pick) + timedelta(seconds=pick.randrange(86_400))
        end = start + timedelta(seconds=pick.randrange(1, 400 * 86_400))
        return {"startDate": f"{start:%Y-%m-%dT%H:%M:%SZ}", "endDate": f"{end:%Y-%m-%dT%H:%M:%SZ}"}

    def part(pick: random.Random) -> Chosen:
        start, end = sorted(LAST - timedelta(milliseconds=pick.randrange(86_400_000)) for _ in "12")
        return {"startDate": f"{start:%Y-%m-%dT%H:%M:%S.%fZ}", "endDate": f"{end:%Y-%m-%dT%H:%M:%S.%fZ}"}

    return {
        "no filter": lambda _: {},
        "status": lambda pick: {"status": pick.choice(statuses)},
        "organisation": lambda pick: {"organisationId": pick.choice(world.organisations)},
        "organisation of a third of them": lambda _: {"organisationId": big},
        "the same and status": lambda pick: {"organisationId": big, "status": pick.choice(statuses)},
        "user": lambda pick: {"userId": pick.choice(world.users)},
        "user and status": lambda pick: {"userId": pick.choice(world.users), "status": pick.choice(statuses)},
        "donation request": lambda pick: {"donationRequestId": pick.choice(world.requests)},
        "days": days,
        "moments": moments,
        "days and status": lambda pick: {**days(pick), "status": pick.choice(statuses)},
        "moments, organisation and status": lambda pick: {
            **moments(pick), "organisationId": big, "status": pick.choice(statuses)
        },
        "moments of a busy day": part,
        "up to a moment of a busy day": lambda pick: {"endDate": part(pick)["endDate"]},
        "moments of a busy day and status": lambda pick: {**part(pick), "status": pick.choice(statuses)},
        "the same and organisation": lambda pick: {
            **part(pick), "organisationId": big, "status": pick.choice(statuses)
        },
        "busy user": lambda _: {"userId": busy},
        "busy user and status": lambda pick: {"userId": busy, "status": pick.choice(statuses)},
        "busy user and organisation": lambda pick: {
            "userId": busy, "organisationId": pick.choice([big, pick.choice(world.organisations)])
        },
        "busy user and moments": lambda pick: {**moments(pick), "userId": busy},
        "donation request and organisation": lambda pick: {
            "donationRequestId": pick.choice(world.requests), "organisationId": pick.choice(world.organisations)
        },
        "donation request and busy user": lambda pick: {
            "donationRequestId": pick.choice(world.requests), "userId": busy
        },
        "the last page, upwards": lambda pick: {"status": pick.choice(statuses), "direction": "ASC"},
    }  # fmt: skip


async def measure(stage: Stage, world: World, calls: int) -> tuple[list[str], float, float]:
    """(Markdown table, p99 of all requests, p99 of the slowest kind in milliseconds)."""
    pick, lines, everything, worst = random.Random(20261122), [], [], 0.0
    with server(stage, "lists", "-m", "almoner", "serve") as running:
        headers = {"Authorization": f"Bearer {stage.keys[1]}"}
        async with aiohttp.ClientSession(f"http://127.0.0.1:{running.port}", headers=headers) as client:
            for name, ask in questions(world).items():
                taken, most = [], 0
                for number in range(calls + 10):
                    started = time.perf_counter()
                    async with client.get("/v1/donations", params=ask(pick)) as answer:
                        answer.raise_for_status()
                        most = max(most, (await answer.json())["totalResults"])
                    if number >= 10:  # the first ones plan the statement
                        taken.append((time.perf_counter() - started) * 1000)
                everything += taken
                p50, p99 = statistics.median(taken), statistics.quantiles(taken, n=100)[98]
                worst = max(worst, p99)
                lines.append(f"| {name} | {most:,} | {p50:.1f} | {p99:.1f} | {max(taken):.1f} |")
    head = ["| filters | most in one | p50 ms | p99 ms | slowest ms |", "|---|---|---|---|---|"]
    return [*head, *lines], statistics.quantiles(everything, n=100)[98], worst


def main() -> None:
    """Fill, measure and print; write if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--calls", type=int, default=CALLS, help="of each kind")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    given = parser.parse_args()
    with staged() as stage:
        started = time.perf_counter()
        world = asyncio.run(fill(stage, given.rows))
        filled = time.perf_counter() - started
        table, p99, worst = asyncio.run(measure(stage, world, given.calls))
        facts = machine.facts(stage.database_version)
    verdict = "reached" if worst < AIM_MS else "**missed**"
    report = [
        "# Lists of donations by filters",
        "",
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. Repeat with `python -m bench.donation_lists --write`.",
        "",
        *(f"- {fact}" for fact in facts),
        f"- {given.rows:,} donations of one partner, written in {filled:.0f} s",
        f"- one in {BUSY} of one day, one in {BUSY} of one user; the newest, one in {LATEST}, no vacuum has seen",
        f"- {given.calls} calls of each kind over HTTP, one at a time: pages of 25 with their exact total",
        f"- p99 of all calls {p99:.1f} ms, of the slowest kind {worst:.1f} ms; aim under {AIM_MS} ms each: {verdict}",
        "",
        *table,
        "",
    ]
    print("\n".join(report))
    if given.write:
        REPORT.write_text("\n".join(report))


if __name__ == "__main__":
    main()
