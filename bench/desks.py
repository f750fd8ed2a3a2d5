"""The dashboard and the console over the same large account: milliseconds and bytes of each page, one at a time.

``python -m bench.desks``; with ``--write`` the figures go to docs/evidence/dashboard.md and docs/evidence/console.md.
``bench.large_partner``, ``bench.large_records`` and ``bench.large_desks`` fill a database of its own, which is deleted
afterwards.
"""

import argparse
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from almoner.kit.ids import RecordIdCodec
from almoner.platform.database.transactions import Partner
from bench import confirmed_pages, console, dashboard, large_desks, large_records, machine
from bench.dashboard import AIM_MS, CALLS, SEARCH_MS, Ask, Signed
from bench.large_partner import DONATIONS, EVENTS_OF_DONATION, SUBMISSIONS, LargePartner, fill
from bench.scale import Scale
from bench.stage import Stage, staged


@dataclass(frozen=True, slots=True)
class Filled:
    """A database with a large account: what is in it, and the member who looks at it."""

    stage: Stage
    large: LargePartner
    owner: Signed
    notes: list[str]


@contextmanager
def filled(donations: int, submissions: int, events: int) -> Iterator[Filled]:
    """Fill a database for as long as the block runs."""
    with staged(Scale(share=0.01)) as stage:
        ids, partner = RecordIdCodec(sandbox=stage.settings.sandbox), Partner(stage.partner_ids[1])
        organisations = [found for name in stage.organisations if (found := ids.decode("organisation", name))]
        large = LargePartner(partner.id, organisations, ids, donations, submissions, events)
        owner = asyncio.run(dashboard.sign_in(stage, partner))
        seconds = asyncio.run(fill(stage.settings.owner_dsn, large))
        asyncio.run(large_records.fill_more(stage.settings.owner_dsn, partner.id, organisations))
        asyncio.run(large_desks.fill_desks(stage.settings.owner_dsn, partner.id, organisations))
        asyncio.run(dashboard.report(stage, partner))
        asyncio.run(console.open_reviews(stage))
        asyncio.run(console.number_accounts(stage))
        counts = f"{donations:,} donations, {submissions:,} submissions, {events:,} events"
        notes = [
            f"one partner: {counts}, written in {seconds:,.0f} s; {submissions:,} open reviews of its requests",
            large_records.NOTE,
            large_desks.NOTE,
        ]
        yield Filled(stage, large, owner, notes)


def dashboard_report(given: Filled, calls: int) -> str:
    """Measure the dashboard."""
    stage, donations = given.stage, given.large.donations
    records = asyncio.run(dashboard.looked_at(stage, Partner(given.large.partner)))
    asked = _with_aim(dashboard.pages(records, stage.organisations, donations), AIM_MS)
    asked |= _with_aim(dashboard.searches(donations), SEARCH_MS)
    return _report(given, given.owner, asked, calls, "an owner")


def console_report(given: Filled, calls: int) -> str:
    """Measure the console."""
    stage, partner = given.stage, given.large.ids.encode("partner", given.large.partner)
    records = asyncio.run(dashboard.looked_at(stage, Partner(given.large.partner)))
    operator = asyncio.run(console.sign_in(stage))  # signed out after 30 minutes without a request
    records |= asyncio.run(console.looked_at(stage))
    asyncio.run(console.claim(stage, operator.name, records))
    records["upload"] = [asyncio.run(console.upload_statement(stage, operator.name))]
    asked = console.pages(records, stage.organisations, partner) | confirmed_pages.pages(records, partner)
    return _report(given, operator.signed, _with_aim(asked, AIM_MS), calls, "an operator with all roles")


def _with_aim(asked: dict[str, Ask], aim: int) -> dict[str, tuple[Ask, int]]:
    return {name: (ask, aim) for name, ask in asked.items()}


def _report(given: Filled, who: Signed, asked: dict[str, tuple[Ask, int]], calls: int, person: str) -> str:
    facts = machine.facts(given.stage.database_version)
    figures = asyncio.run(dashboard.measure(given.stage, who, asked, calls))
    how = f"{calls} calls of each page by {person} over HTTP, one at a time; bytes of the largest, uncompressed"
    return dashboard.render(facts, [*given.notes, how], figures)


def main() -> None:
    """Fill, measure and print; write if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--donations", type=int, default=DONATIONS)
    parser.add_argument("--submissions", type=int, default=SUBMISSIONS, help="and as many open reviews")
    parser.add_argument("--events", type=int, default=DONATIONS * EVENTS_OF_DONATION)
    parser.add_argument("--calls", type=int, default=CALLS, help="of each page")
    parser.add_argument("--write", action="store_true", help="write the pages of docs/evidence")
    asked = parser.parse_args()
    with filled(asked.donations, asked.submissions, asked.events) as given:
        machine.publish(dashboard_report(given, asked.calls), dashboard.REPORT, write=asked.write)
        machine.publish(console_report(given, asked.calls), console.REPORT, write=asked.write)


if __name__ == "__main__":
    main()
