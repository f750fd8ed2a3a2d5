"""A month of a provider's payments in one report, with faults: every fault is found, everything else is booked (M7)."""

import random
from time import perf_counter
from uuid import UUID

import pytest

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.settlements.checks import DAYS_TO_ARRIVE, checks
from almoner.kit.money import Money
from almoner.platform.observability import selfcheck
from tests.support import books, factories
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.payouts import uuid_of
from tests.support.reports import imported, report
from tests.support.requests import bundle
from tests.support.service import Service, serving

PROVIDER = "bulk"
FAULTS = {"unknown_payment", "not_paid", "other_amount", "settled_before", "missing"}
HIDING = {"unknown_payment", "not_paid", "missing"}


@pytest.mark.soak
async def test_m7_a_month_with_one_fault_in_a_hundred(empty_database: TestDatabase, figures: Figures) -> None:
    many = figures.count(2000, 100_000)
    chance = random.Random(figures.seed)
    async with serving(empty_database) as service:
        nonprofit = await factories.nonprofit(service)
        await service.tenant()
        await paid(service, nonprofit, many)
        lines, faults = month(many, chance)
        service.clock.advance(days=DAYS_TO_ARRIVE + 1)
        assert await missing(service) == 0, "a provider that never reports is not asked"
        before = await imported(service, report(*[lines[n] for n in faults["settled_before"]]), PROVIDER)
        assert before.unmatched_count == 0
        started = perf_counter()
        arrived = [line for n, line in enumerate(lines) if n not in faults["missing"]]
        done = await imported(service, report(*arrived), PROVIDER)
        seconds = perf_counter() - started
        async with service.db.read() as tx:
            rows = await tx.fetch("select reason, provider_payment from settlement_line where status = 'exception'")
            settled = await tx.fetchval("select count(*) from donation where settled_at is not null")
        found = {(row["reason"], row["provider_payment"]) for row in rows}
        expected = {(reason, lines[n][1]) for reason, places in faults.items() for n in places if reason != "missing"}
        assert found == expected
        assert (done.matched_count, done.unmatched_count) == (len(arrived) - len(expected), len(expected))
        assert settled == done.matched_count + len(faults["settled_before"])
        assert await books.owed(service, nonprofit) == 1000 * many - 25 * settled
        assert await books.balanced(service)
        # Whose line is not in the report, or names another payment, has not arrived.
        assert await missing(service) == sum(len(faults[fault]) for fault in HIDING)
    figures.write(
        "settlements",
        "a month in one report, 1 % faults (M7)",
        f"{many:,} lines: {seconds:.1f} s, {many / seconds:,.0f} lines/s; all {many // 100:,} faults found",
    )


async def missing(service: Service) -> int:
    """How many payments the self-check says have not arrived."""
    outcome = await selfcheck.run_selfcheck(
        service.db, [one for one in checks if one.name.endswith("payments_settled_on_time")]
    )
    return sum(finding.count for finding in outcome.findings)


def month(many: int, chance: random.Random) -> tuple[list[tuple[str, str, float, float]], dict[str, list[int]]]:
    """The lines, and the places of those that are wrong, by reason."""
    lines = [("payment", f"tp_{n}", 10.0, 0.25) for n in range(many)]
    places = chance.sample(range(many - many // 100), many // 100)
    wrong = {reason: places[nth :: len(FAULTS)] for nth, reason in enumerate(sorted(FAULTS))}
    for n in wrong["unknown_payment"]:
        lines[n] = ("payment", f"tp_nobody_{n}", 10.0, 0.25)
    for n in wrong["other_amount"]:
        lines[n] = ("payment", f"tp_{n}", 9.0, 0.25)
    # Of the last of all payments, which are not paid, some are reported.
    for nth, n in enumerate(wrong["not_paid"]):
        lines[n] = ("payment", f"tp_unpaid_{nth}", 10.0, 0.25)
    return lines, wrong


async def paid(service: Service, nonprofit: str, many: int) -> None:
    """Paid gifts of one nonprofit, and some whose payment is open, with the money in the books."""
    organisation = uuid_of(service, "organisation", nonprofit)
    async with service.db.write() as tx:
        partner: UUID = await tx.fetchval("select min(id::text)::uuid from partner")
        await tx.execute(
            """
            insert into donation (id, partner_id, organisation_id, type, status, amount_minor, currency, consented,
                                  anonymous, metadata, created_at, status_changed_at, donation_request_id)
            select md5('d' || n)::uuid, $4, $1, 'direct', 'REQUESTED_PAYMENT',
                   1000, 'USD', true, false, '{}', $2, $2, $5
            from generate_series(0, $3 + $3 / 100) n
            """,
            organisation,
            tx.now,
            many,
            partner,
            await bundle(tx, partner),
        )
        await tx.execute(
            """
            insert into payment (id, donation_id, provider, provider_payment, status, amount_minor, currency,
                                 description, language, pages_url, api_url, attempts, max_attempts, created_at,
                                 status_changed_at)
            select md5('p' || n)::uuid, md5('d' || n)::uuid, $1,
                   case when n < $3 then 'tp_' || n else 'tp_unpaid_' || n - $3 end,
                   case when n < $3 then 'succeeded' else 'open' end, 1000, 'USD', 'A gift', 'en',
                   'http://localhost', 'http://localhost', 1, 5, $2, $2
            from generate_series(0, $3 + $3 / 100) n
            """,
            PROVIDER,
            tx.now,
            many,
        )
        await tx.execute(
            """
            update donation d set status = 'RECEIVED_PAYMENT', payment_id = p.id from payment p
            where p.donation_id = d.id and p.status = 'succeeded'
            """
        )
        received = ledger_domain.build_payment_transfers(tx.new_id(), PROVIDER, organisation, Money(1000 * many, "USD"))
        ledger.post_at_commit(tx, received)
