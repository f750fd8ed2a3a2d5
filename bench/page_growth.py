"""The hosted page with few donations and with many: the cost of a view must not grow with them.

``python -m bench.page_growth``; with ``--write`` the figures go to docs/evidence/page-growth.md. The database itself
creates the donations, in a database of its own that is deleted afterwards.
"""

import argparse
import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

import asyncpg

from bench import machine
from bench.load import Plan, attack
from bench.page import CONNECTIONS, LANGUAGES, form
from bench.scale import FULL, Scale
from bench.stage import LIST_ROWS, Stage, server, staged

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "page-growth.md"
FEW: Final = 10_000
MANY: Final = 1_000_000
BLOCK: Final = 100_000
AIM: Final = 1.2

# Each donation has its own session, as the stage creates them.
SESSIONS: Final = """
insert into donation_session (id, partner_id, organisation_id, status, metadata, created_at, expires_at,
                              status_changed_at)
select md5('session ' || n)::uuid, s.partner_id, s.organisation_id, s.status, s.metadata, s.created_at, s.expires_at,
       s.status_changed_at
from generate_series($1::bigint, $2) n, (select * from donation_session limit 1) s
"""
DONATIONS: Final = """
insert into donation (id, partner_id, organisation_id, type, session_id, status, amount_minor, currency, first_name,
                      last_name, email, consented, anonymous, metadata, created_at, status_changed_at)
select md5('donation ' || n)::uuid, d.partner_id, d.organisation_id, d.type, md5('session ' || n)::uuid, d.status,
       d.amount_minor, d.currency, d.first_name, d.last_name, d.email, d.consented, d.anonymous, d.metadata,
       d.created_at, d.status_changed_at
from generate_series($1::bigint, $2) n, (select * from donation where session_id is not null limit 1) d
"""


async def fill(stage: Stage, first: int, last: int) -> None:
    """Create donations from the ``first`` to the one before the ``last``."""
    connection = await asyncpg.connect(stage.settings.owner_dsn)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last) - 1
        for sql in (SESSIONS, DONATIONS):
            await connection.execute(sql, begin, end, timeout=600)
    await connection.execute("vacuum analyze donation, donation_session", timeout=600)
    await connection.close()


async def measure(stage: Stage, scale: Scale) -> float:
    """Pages per second."""
    with server(stage, "page", "-m", "almoner", "serve") as running:
        forms = [form(stage, running.port, language) for language in LANGUAGES]
        loads = [await attack(Plan(running.port, forms, scale.seconds, CONNECTIONS)) for _ in range(scale.repeat)]
    if refused := [load.sample for load in loads if load.refused]:
        raise RuntimeError(f"the page was refused: {refused[0]}")
    return median(load.rate for load in loads)


def main() -> None:
    """Measure, fill, measure again; write if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=FEW)
    parser.add_argument("--many", type=int, default=MANY)
    parser.add_argument("--seconds", type=float, default=FULL.seconds, help="of each run")
    parser.add_argument("--repeat", type=int, default=FULL.repeat, help="runs of each")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    given = parser.parse_args()
    scale = replace(FULL, seconds=given.seconds, repeat=given.repeat, share=given.few / LIST_ROWS)
    with staged(scale) as stage:
        few = asyncio.run(measure(stage, scale))
        started = time.perf_counter()
        asyncio.run(fill(stage, given.few, given.many))
        filled = time.perf_counter() - started
        many = asyncio.run(measure(stage, scale))
        facts = machine.facts(stage.database_version)
    report = [
        "# The hosted page as donations grow",
        "",
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. Repeat with `python -m bench.page_growth --write`.",
        "",
        *(f"- {fact}" for fact in facts),
        f"- {given.many - given.few:,} donations more in {filled:.0f} s, each of a session of its own",
        f"- {few / many:.2f} times the cost, at most {AIM} asked for: {'met' if few <= AIM * many else '**missed**'}",
        "",
        "| donations | pages/s |",
        "|---|---|",
        f"| {given.few:,} | {few:,.0f} |",
        f"| {given.many:,} | {many:,.0f} |",
        "",
    ]
    print("\n".join(report))
    if given.write:
        REPORT.write_text("\n".join(report))


if __name__ == "__main__":
    main()
