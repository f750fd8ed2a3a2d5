"""The pages of the operator's console over many open reviews and donations. ``bench.desks`` measures them."""

from collections.abc import Mapping
from datetime import timedelta
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
from bench.dashboard import Ask, Signed, last_month
from bench.stage import Stage

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "console.md"
_LOOKED_AT: Final = 200
_LONG_AGO: Final = timedelta(days=600)
_REDIRECTS: Final = frozenset({"/audit-chains"})
_REVIEWS: Final = """
insert into review (id, kind, subject_id, partner_id, country_code, script, reasons, asked_at, due_at, status,
                    status_changed_at)
select gen_random_uuid(), 'validation_request', id, partner_id, country_code,
       (array['LATIN', 'CYRILLIC', 'ARABIC'])[1 + n % 3], array[(array['name_differs', 'not_in_registry'])[1 + n % 2]],
       now() - n * interval '10 seconds', now() - n * interval '10 seconds' + interval '2 days', 'open', now()
from (select id, partner_id, country_code, row_number() over (order by id) as n from validation_request) of
"""


async def sign_in(stage: Stage) -> Signed:
    """An operator with all roles, signed in."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
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


def pages(records: Mapping[str, list[str]], organisations: list[str], partner: str) -> dict[str, Ask]:
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
        "/disbursements?status=PENDING",
        "/disbursements?status=PENDING&waiting=on_hold",
        "/disbursements?status=PAID",
        "/bank-statement-lines?status=open",
        "/settlements/unmatched",
        "/settlements/provider-payouts",
        "/bank-statements/gaps",
        "/refunds/failed",
        "/disbursements/holds",
        "/ledger/account?key=bank:USD",
        f"/ledger/account?key=bank:USD&month={last_month():%Y-%m}",
        f"/ledger/account?key=bank:USD&month={last_month() - _LONG_AGO:%Y-%m}",
        "/audit-log?action=review.viewed",
        f"/partners/{partner}",
    ):
        made[path.replace(partner, "…")] = _fixed(path)
    for path, table in (
        ("/reviews/{id}", "review"),
        ("/disbursements/{id}", "disbursement"),
        ("/ledger/transfers?q={id}", "donation"),
    ):
        made[path] = _of_record(path, records[table])
    made["/organisations/{id}"] = lambda pick: f"/organisations/{pick.choice(organisations)}"
    return made


def _fixed(path: str) -> Ask:
    return lambda _pick: path


def _of_record(path: str, ids: list[str]) -> Ask:
    return lambda pick: path.replace("{id}", pick.choice(ids))
