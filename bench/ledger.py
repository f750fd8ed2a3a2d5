"""Postings per second beside bare SQL: the same two balances and one row, without triggers, keys or checks (M13).

Both post in a transaction, like everything that moves money.
"""

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from almoner import wiring
from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger import store as ledger_store
from almoner.kit.money import Money
from almoner.nonprofits.registers import flows as registers_flows
from almoner.platform.database.transactions import Database
from almoner.settings import Settings
from almoner.sources import REGISTER_SOURCES
from bench.imports import SOURCE
from bench.scale import FULL, Scale
from bench.stage import database, sample

WRITERS = 16
ACCOUNTS = 4_000
PROVIDERS = 200
BARE = """
    create table bare_account (id integer primary key, debits bigint not null, credits bigint not null)
        with (fillfactor = 50);
    create table bare_transfer (id bigint generated always as identity primary key, debit integer not null,
        credit integer not null, amount bigint not null, posted_at timestamptz not null);
    insert into bare_account select n, 0, 0 from generate_series(0, 4199) n;
"""
POST_BARE = """
    with posted as (insert into bare_transfer (debit, credit, amount, posted_at) values ($1, $2, $3, now())),
    debited as (update bare_account set debits = debits + $3 where id = $1)
    update bare_account set credits = credits + $3 where id = $2
"""
Post = Callable[[random.Random], Awaitable[None]]


async def _rate(post: Post, seconds: float) -> float:
    """Postings per second of all writers together."""
    done, ends = 0, time.perf_counter() + seconds

    async def write(writer: int) -> None:
        nonlocal done
        rng = random.Random(writer)
        while time.perf_counter() < ends:
            await post(rng)
            done += 1

    async with asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            group.create_task(write(writer))
    return done / seconds


def _ours(db: Database, organisations: list[UUID], providers: int) -> Post:
    async def post(rng: random.Random) -> None:
        provider = f"provider{rng.randrange(providers)}"
        transfers = ledger_domain.build_payment_transfers(
            uuid4(), provider, rng.choice(organisations), Money(2500, "USD")
        )
        async with db.write() as tx:
            ledger.post_at_commit(tx, transfers)

    return post


def _bare(pool: "asyncpg.Pool[Any]", providers: int) -> Post:
    async def post(rng: random.Random) -> None:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute(POST_BARE, ACCOUNTS + rng.randrange(providers), rng.randrange(ACCOUNTS), 2500)

    return post


async def _balanced(db: Database) -> bool:
    async with db.read() as tx:
        found = await ledger.list_balances(tx)
    return sum(one.debits_minor for one in found) == sum(one.credits_minor for one in found) > 0


async def _rounds(complete: Settings, scale: Scale) -> list[str]:
    services = await wiring.build_services(complete.model_copy(update={"database_pool": WRITERS}))
    owner = await asyncpg.connect(complete.owner_dsn)
    await owner.execute(BARE)
    pool = await asyncpg.create_pool(complete.owner_dsn, min_size=WRITERS, max_size=WRITERS, reset=_keep)
    organisations = [row["id"] for row in await owner.fetch("select id from organisation limit $1", ACCOUNTS)]
    async with services.db.write() as tx:
        clearing = [ledger_domain.clearing_account(f"provider{number}", "USD") for number in range(PROVIDERS)]
        owed = [ledger_domain.nonprofit_liability_account(organisation, "USD") for organisation in organisations]
        await ledger_store.create_missing_accounts(tx, [*clearing, *owed])
    lines = [
        f"| {WRITERS} writers, each posting in a transaction of its own | postings/s | of bare |",
        "|---|---|---|",
    ]
    try:
        for name, providers in ((f"{PROVIDERS} clearing accounts", PROVIDERS), ("one hot clearing account", 1)):
            ours, bare = [], []
            for _ in range(scale.repeat):
                ours.append(await _rate(_ours(services.db, organisations, providers), scale.seconds))
                bare.append(await _rate(_bare(pool, providers), scale.seconds))
            middle, beside = statistics.median(ours), statistics.median(bare)
            lines += [
                f"| {name}: the ledger | {middle:,.0f} ({min(ours):,.0f}-{max(ours):,.0f}) | {middle / beside:.2f} |",
                f"| {name}: bare SQL | {beside:,.0f} ({min(bare):,.0f}-{max(bare):,.0f}) | 1.00 |",
            ]
        assert await _balanced(services.db), "the books must balance after every run"
    finally:
        await pool.close()
        await owner.close()
        await services.close()
    return lines


async def _keep(_connection: object) -> None:
    """No reset query on release, as in the service."""


async def _load(complete: Settings, files: Sequence[Path]) -> None:
    """Import the shipped register sample: money is owed to its nonprofits."""
    services = await wiring.build_services(complete)
    try:
        await registers_flows.import_files(services.db, REGISTER_SOURCES[SOURCE], files)
    finally:
        await services.close()


def measure(scale: Scale) -> list[str]:
    """A Markdown table: runs of each in turn, medians with the range."""
    with database() as complete, sample(scale) as files:
        asyncio.run(_load(complete, files))
        return asyncio.run(_rounds(complete, scale))


if __name__ == "__main__":
    print("\n".join(measure(FULL)))
