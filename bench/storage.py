"""What a donation session and a donation store in the database: rows, index entries and bytes, by table.

``python -m bench.storage``; with ``--write`` the figures go to docs/evidence/storage.md.
"""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import asyncpg

from almoner.platform.database import postgres
from bench import machine
from tests.support import cluster, database, factories
from tests.support.client import Client, data
from tests.support.service import Service, serving

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "storage.md"
COUNT: Final = 200
DIRECT: Final = {
    "firstName": "Ada",
    "lastName": "Byron",
    "email": "ada@example.org",
    "metadata": {"campaign": "winter"},
}
SHOWN: Final = 0.05
# Tables and their indexes after a vacuum, which counts their rows.
SIZES: Final = """
select coalesce(t.relname, c.relname) as name, c.relkind in ('i') as is_index, c.reltuples::bigint as entries,
       pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0) as bytes
from pg_class c left join pg_index i on i.indexrelid = c.oid left join pg_class t on t.oid = i.indrelid
where c.relkind in ('r', 'i') and c.relnamespace = 'public'::regnamespace
"""


@dataclass(slots=True)
class Held:
    """The contents of a table."""

    rows: float = 0
    entries: float = 0
    bytes: float = 0


async def held(dsn: str) -> dict[str, Held]:
    """Every table, without dead rows."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("vacuum (analyze, index_cleanup on)", timeout=300)
    found: dict[str, Held] = defaultdict(Held)
    for name, is_index, entries, size in await connection.fetch(SIZES):
        if is_index:
            found[name].entries += max(entries, 0)
        else:
            found[name].rows += max(entries, 0)
        found[name].bytes += size
    await connection.close()
    return found


async def grown(dsn: str, make: Callable[[], Awaitable[None]]) -> dict[str, Held]:
    """What each of ``COUNT`` records adds, by table."""
    await make()  # empty tables get their first pages
    before = await held(dsn)
    for _ in range(COUNT):
        await make()
    after = await held(dsn)
    return {
        name: Held(
            *((getattr(now, field) - getattr(before[name], field)) / COUNT for field in ("rows", "entries", "bytes"))
        )
        for name, now in after.items()
    }


def table(title: str, found: dict[str, Held]) -> list[str]:
    """One table of the report."""
    shown = sorted(
        (item for item in found.items() if item[1].entries >= SHOWN or item[1].bytes >= 1),
        key=lambda item: -item[1].bytes,
    )
    rows = [f"| {name} | {one.rows:.2f} | {one.entries:.2f} | {one.bytes:,.0f} |" for name, one in shown]
    total = [sum(getattr(one, field) for one in found.values()) for field in ("rows", "entries", "bytes")]
    return [
        f"\n{title}\n",
        "| table | rows | index entries | bytes |",
        "|---|---|---|---|",
        *rows,
        f"| **all** | {total[0]:.2f} | {total[1]:.2f} | {total[2]:,.0f} |",
    ]


async def measure(service: Service, api: Client, dsn: str) -> list[str]:
    """Sessions alone, then donations made with them, until all follow-up work is done."""
    organisation = await factories.nonprofit(service)
    asked = {"organisationId": organisation, "metadata": {"campaign": "winter"}}

    async def session() -> None:
        data(await api.post("/v1/donation-sessions", asked, idempotency_key=factories.unique("key").replace(" ", "-")))
        await service.drain()

    async def donation() -> None:
        await factories.donation(service, api, organisation=organisation)
        await service.drain()

    async def direct() -> None:
        await factories.direct(service, api, organisation=organisation, **DIRECT)
        await service.drain()

    lines = table("A donation session, created by a call with an idempotency key:", await grown(dsn, session))
    lines += table(
        "A direct donation of a donor with a name, an email address and one value of metadata, with its event:",
        await grown(dsn, direct),
    )
    return lines + table(
        "A donation with its session, payment, events and receipt, without receivers of events:",
        await grown(dsn, donation),
    )


async def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with postgres.run_embedded_server(cluster.folder()) as server:
        async with database.copied(server) as made, serving(made) as service:
            connection = await asyncpg.connect(made.owner_dsn)
            version = await connection.fetchval("show server_version")
            await connection.close()
            api = service.client((await service.tenant()).secret)
            lines = await measure(service, api, made.owner_dsn)
            await api.close()
    facts = "\n".join(f"- {fact}" for fact in machine.facts(version))
    head = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. Repeat with `python -m bench.storage --write`.\n\n{facts}"
    report = "\n".join(["# What a donation leaves in the database", "", head, f"- {COUNT} of each", *lines])
    print(report)
    if given.write:
        REPORT.write_text(f"{report}\n")


if __name__ == "__main__":
    asyncio.run(main())
