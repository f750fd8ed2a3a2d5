"""The self-check beside a service at work: what is being changed is no false alarm (M1-M3)."""

import asyncio

from almoner.platform.database.postgres import PostgresServer
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import database, money_world
from tests.support.figures import Figures
from tests.support.money_world import World
from tests.support.service import serving

WRITERS = 8
# What is overdue depends on who works in the background, and here time jumps and processes crash on purpose.
OVERDUE = {
    "audit.chained_on_time",
    "audit.signed",
    "events.numbered_on_time",
    "donations.abandoned_are_cancelled",
    "sessions.expired_are_recorded",
    "suspense.decided_on_time",
    "suspense.refunds_sent_on_time",
    "settlements.exceptions_resolved_on_time",
    "settlements.payments_settled_on_time",
    "disbursements.donation_statuses_match",
    "disbursements.settled_donations_added",
    "disbursements.confirmed_on_time",
    "donation_requests.completed_on_time",
    "gift_aid_claims.adjusted_on_time",
    "disputes.decided_on_time",
    "disputes.refreshed_daily",
    "refunds.sent_on_time",
    "refunds.failures_resolved",
    "verifications.flags_reviewed_on_time",
    "bank_statements.lines_matched_on_time",
    "bank_statements.provider_payouts_arrived",
}
OF_WHAT_IS = [check for check in CHECKS if check.name not in OVERDUE and not check.name.startswith(("jobs.", "deliv"))]


async def test_m1_m3_running_traffic_gives_no_false_alarm(postgres_server: PostgresServer, figures: Figures) -> None:
    async with (
        database.copied(postgres_server) as copy,
        serving(copy) as service,
        money_world.begun(service, figures.seed, crashes=0.03) as world,
    ):
        await world.open()
        working = [asyncio.create_task(work(world)) for _ in range(WRITERS)]
        looked = 0
        while not all(writer.done() for writer in working):
            outcome = await selfcheck.run_selfcheck(service.db, OF_WHAT_IS)
            assert [(found.check.name, found.examples) for found in outcome.findings] == []
            looked += 1
        await asyncio.gather(*working)
        assert looked
        assert (await selfcheck.run_selfcheck(service.db, OF_WHAT_IS)).findings == ()


async def work(world: World) -> None:
    """One writer: things happen, in any order."""
    for number in range(15):
        await world.happen()
        if number % 5 == 0:
            await world.open()
