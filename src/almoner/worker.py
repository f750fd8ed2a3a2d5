"""The loops of one process besides answering requests: pulse, clock, dispatcher; in a worker also jobs and sweeps."""

import asyncio
from dataclasses import asdict
from itertools import count
from typing import Final

from almoner.giving.bank_statements import service as bank_lines
from almoner.giving.card_testing import service as brakes
from almoner.giving.disputes import service as disputes
from almoner.giving.payee_bank_accounts import service as payees
from almoner.giving.refunds import service as refunds
from almoner.giving.verifications import service as verifications
from almoner.nonprofits.registers import service as registers
from almoner.platform import audit_chain, dispatcher, queue
from almoner.platform.business_clock import ClockWatch
from almoner.platform.failures import TROUBLE, failure
from almoner.platform.processes import Pulse, Role
from almoner.platform.wakeup import wait_for_work
from almoner.screening.watchlists import service as watchlists
from almoner.validation.reviews import service as reviews
from almoner.wiring import Services

_NOTE_SECONDS: Final = 5.0
_TURNS_OF_HISTORY: Final = 12
"""What reads years of decisions is measured every so many times."""


async def run(house: Services, role: Role, stop: asyncio.Event) -> None:
    """Run until ``stop`` is set; then finish or give back what is in hand.

    Every server dispatches events too; only a worker (``role`` says) chains audit entries and runs jobs, sweeps and
    deliveries.
    """
    pulse = Pulse(house.db, role, house.telemetry, house.limiter.set_servers)
    watch = ClockWatch(house.db, house.clock, pulse, house.telemetry)
    await watch.look()
    await pulse.beat()
    async with asyncio.TaskGroup() as group:
        background = house.background
        group.create_task(background.dispatcher.run(stop) if role == "server" else background.run(stop))
        group.create_task(_note(house, stop))
        if house.settings.sandbox:
            group.create_task(watch.run(stop))
        group.create_task(pulse.run(stop))
        group.create_task(house.copy_watch.run(stop))


async def drain(house: Services) -> None:
    """Do everything that is due now, and what follows from it."""
    await house.background.drain()


async def _note(house: Services, stop: asyncio.Event) -> None:
    """Every few seconds: write down which keys were used, and measure what waits."""
    turns = count()
    while not stop.is_set():
        await wait_for_work(stop, _NOTE_SECONDS)
        try:
            await house.guard.write_uses()
            async with house.db.read() as tx:
                house.telemetry.dispatch_lag.set(await dispatcher.lag(tx))
                house.telemetry.audit_waiting.set(await audit_chain.waited(tx))
                figures = await queue.figures(tx)
                house.telemetry.tested_partners.set(len(await brakes.alerts(tx)))
                house.telemetry.disputes_open.set(await disputes.count_open(tx))
                house.telemetry.refunds_refused.set(await refunds.count_unsent(tx))
                await bank_lines.measure(tx, house.telemetry)
                await registers.measure(tx, house.telemetry)
                await watchlists.measure(tx, house.telemetry)
                await reviews.measure(tx, house.telemetry)
                await verifications.measure(tx, house.telemetry)
                await payees.measure(tx, house.telemetry)
                if next(turns) % _TURNS_OF_HISTORY == 0:
                    await reviews.measure_decided(tx, house.telemetry)
            for state, jobs in asdict(figures).items():
                house.telemetry.queue.labels(state).set(jobs)
        except TROUBLE as error:
            house.telemetry.log("notes_wait", house.clock.wall(), **failure(error))
