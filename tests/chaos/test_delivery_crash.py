"""W1, W7: real workers are killed with -9 while receivers answer them; every event arrives, always with equal bytes."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.support import webhooks
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.figures import Figures
from tests.support.receivers import Received, receiver, reply
from tests.support.service import Service, serving
from tests.support.workers import start_worker

EVENTS = 120
PATIENCE = 60.0


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """The service without background work; that is done by the processes that die."""
    async with serving(empty_database) as made:
        yield made


async def _let_the_leases_run_out(database: TestDatabase) -> None:
    owner = await asyncpg.connect(database.owner_dsn)
    await owner.execute("update job set leased_until = now() - interval '1 second' where leased_until is not null")
    await owner.close()


@pytest.mark.soak
async def test_w7_workers_killed_while_receivers_answer_lose_nothing(
    service: Service, tmp_path: Path, figures: Figures
) -> None:
    kills = figures.count(2, 40)
    service.clock.advance_to(service.clock.real_now())  # the workers live in real time, and forget what is 90 days old
    tenant = await service.tenant()
    api = service.client(tenant.secret)
    running: subprocess.Popen[bytes] | None = None
    killed = asyncio.Event()
    answered = 0

    async def answer_and_kill(_request: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        writer.write(reply())
        await writer.drain()
        answered += 1
        if answered % 20 == 0 and running is not None and not killed.is_set():
            os.kill(running.pid, signal.SIGKILL)
            killed.set()

    async with receiver(answer_and_kill) as sink:
        subscription = await webhooks.subscribe(api, sink)
        emitted = set(await webhooks.happen(service, tenant, times=EVENTS))
        for _ in range(kills):
            killed.clear()
            running = start_worker(service, tmp_path)
            async with asyncio.timeout(PATIENCE):
                await killed.wait()
            running.wait()
            await _let_the_leases_run_out(service.database)
            emitted |= set(await webhooks.happen(service, tenant, times=30))
        killed.set()
        running = start_worker(service, tmp_path)
        try:
            await eventually(lambda: _all_recorded(service, len(emitted)), within=PATIENCE)
        finally:
            running.terminate()
            running.wait(30)

    bodies: dict[str, set[bytes]] = {}
    for got in sink.received:
        webhooks.verify(got, subscription["secret"])
        bodies.setdefault(got.headers["webhook-id"], set()).add(got.body)
    assert set(bodies) == emitted, "none lost, none phantom"
    assert len(sink.received) > len(emitted), "what was answered and not yet recorded came again"
    assert {len(versions) for versions in bodies.values()} == {1}, "the same bytes on every attempt"
    assert {int(got.headers["service-sequence"]) for got in sink.received} == set(range(1, len(emitted) + 1))
    figures.write(
        "delivery-crashes",
        "Workers killed while receivers answer",
        f"{kills} workers killed with -9, {len(emitted)} events, {len(sink.received)} deliveries; 0 lost, 0 phantom",
    )
    await api.close()


async def _all_recorded(service: Service, events: int) -> bool:
    async with service.db.read() as tx:
        done = await tx.fetchval(
            """
            select count(*) from webhook_delivery d join event e on e.id = d.event_id and e.sequence = d.sequence
            where d.status = 'succeeded' and d.attempts = 1
            """
        )
    return bool(done == events)
