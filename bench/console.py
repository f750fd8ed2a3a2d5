"""The operator's console over 100,000 open reviews and a million donations: milliseconds of each page, one at a time.

``python -m bench.console``; with ``--write`` the figures go to docs/evidence/console.md. The donations are filled by
``bench.large_partner`` and the reviews are of its validation requests, in a database that is deleted afterwards.
"""

import argparse
import asyncio
from pathlib import Path
from typing import Final
from uuid import UUID

import asyncpg
import pyotp

from almoner import wiring
from almoner.access.accounts.domain import OPERATORS_HOME
from almoner.access.credentials.service import audit_context_of_person, authenticators
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATOR_ROLES, OPERATORS, build_profile
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser
from almoner.console import links
from almoner.kit.ids import Ids
from almoner.platform.database.transactions import Partner
from almoner.validation.applications.configurations import service as configurations
from bench import machine
from bench.dashboard import AIM_MS, CALLS, Ask, Signed, measure, render
from bench.large_partner import DONATIONS, SUBMISSIONS, LargePartner, fill
from bench.scale import Scale
from bench.stage import Stage, staged

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "console.md"
EVENTS: Final = 100_000
_LOOKED_AT: Final = 200
_REDIRECTS: Final = frozenset({"/audit-chains"})
_REVIEWS: Final = """
insert into review (id, kind, subject_id, partner_id, country_code, script, reasons, asked_at, due_at, status,
                    status_changed_at)
select gen_random_uuid(), 'validation_request', id, partner_id, country_code,
       (array['LATIN', 'CYRILLIC', 'ARABIC'])[1 + n % 3], array[(array['name_differs', 'not_in_registry'])[1 + n % 2]],
       now() - n * interval '10 seconds', now() - n * interval '10 seconds' + interval '2 days', 'open', now()
from (select id, partner_id, country_code, row_number() over (order by id) as n from validation_request) of
"""


async def sign_in(stage: Stage, partner: Partner) -> Signed:
    """An operator with all roles, signed in."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            await configurations.create_default(tx, partner)
            profile = build_profile("ada@example.org", email="ada@example.org", name="Ada")
            person = await people.create(tx, OPERATORS, profile, list(OPERATOR_ROLES))
            set_up = await authenticators.begin_setup(tx, person, "Almoner")
            code = pyotp.TOTP(set_up.secret.replace(" ", "")).at(tx.real_now)
            await authenticators.confirm_setup(tx, person, code, audit_context_of_person(tx, person, None))
            begun = await sign_ins.begin_sign_in(tx, person, "password_totp", Browser("127.0.0.1"))
        return Signed(OPERATORS_HOME, f"__Host-operator={begun.secret}")
    finally:
        await services.close()


async def open_reviews(stage: Stage) -> list[UUID]:
    """Open a review of every validation request; the subjects of some."""
    connection = await asyncpg.connect(stage.settings.owner_dsn)
    try:
        await connection.execute(_REVIEWS, timeout=1200)
        await connection.execute("vacuum analyze review", timeout=600)
        rows = await connection.fetch("select subject_id from review order by asked_at limit $1", _LOOKED_AT)
    finally:
        await connection.close()
    return [row["subject_id"] for row in rows]


def pages(cases: list[str], organisations: list[str], partner: str) -> dict[str, Ask]:
    """Every page of the navigation, and those that have much to read."""
    navigation = [link.path for link in (*links.LINKS, *links.LAST_LINKS) if link.path not in _REDIRECTS]
    made: dict[str, Ask] = {path: _fixed(path) for path in navigation}
    for path in (
        "/reviews?kind=validation_request",
        "/reviews?due=overdue",
        "/reviews?script=ARABIC&country=USA",
        "/reviews?reason=not_in_registry",
        f"/reviews?partner={partner}",
        "/organisations?query=relief",
        f"/partners/{partner}",
    ):
        made[path.replace(partner, "…")] = _fixed(path)
    made["/reviews/{id}"] = lambda pick: f"/reviews/{pick.choice(cases)}"
    made["/organisations/{id}"] = lambda pick: f"/organisations/{pick.choice(organisations)}"
    return made


def _fixed(path: str) -> Ask:
    return lambda _pick: path


def main() -> None:
    """Fill, measure, print; write where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--donations", type=int, default=DONATIONS)
    parser.add_argument("--reviews", type=int, default=SUBMISSIONS)
    parser.add_argument("--calls", type=int, default=CALLS, help="of each page")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    given = parser.parse_args()
    with staged(Scale(share=0.01)) as stage:
        partner = Partner(stage.partner_ids[1])
        signed = asyncio.run(sign_in(stage, partner))
        ids = Ids(sandbox=stage.settings.sandbox)
        organisations = [found for name in stage.organisations if (found := ids.parse("organisation", name))]
        large = LargePartner(partner.id, organisations, ids, given.donations, given.reviews, EVENTS)
        asyncio.run(fill(stage.settings.owner_dsn, large))
        cases = [ids.text("validationrequest", one) for one in asyncio.run(open_reviews(stage))]
        asked = pages(cases, stage.organisations, ids.text("partner", partner.id))
        aims = {name: (ask, AIM_MS) for name, ask in asked.items()}
        figures = asyncio.run(measure(stage, signed, aims, given.calls))
        facts = machine.facts(stage.database_version)
    notes = [
        f"{given.reviews:,} open reviews, {given.donations:,} donations of one partner",
        f"{given.calls} calls of each page by an operator with all roles, over HTTP, one at a time",
    ]
    machine.publish(render(facts, notes, figures), REPORT, write=given.write)


if __name__ == "__main__":
    main()
