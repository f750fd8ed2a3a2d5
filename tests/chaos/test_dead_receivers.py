"""W4, W5: receivers that hang or refuse cost the others nothing, and are called less and less (settled 11)."""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import quantiles
from time import monotonic

import pytest

from tests.support import webhooks
from tests.support.client import data
from tests.support.database import TestDatabase
from tests.support.eventually import eventually, paced
from tests.support.figures import Figures
from tests.support.receivers import Received, Receiver, receiver, reply
from tests.support.service import Service, Tenant, serving
from tests.support.workers import start_worker

PARTNERS = 10  # each has eight receivers that work, one that hangs and one that refuses connections
EVENTS_A_SECOND = 20


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """The service without background work; that is done by a worker of its own."""
    async with serving(empty_database) as made:
        yield made


async def never(_request: Received, _writer: asyncio.StreamWriter) -> None:
    """Answers nothing."""
    await asyncio.Event().wait()


def note_arrivals(sink: Receiver, number: int, arrived: dict[tuple[int, str], float]) -> None:
    """Have a receiver answer, and write down when each event came first."""

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        arrived.setdefault((number, request.headers["webhook-id"]), monotonic())
        writer.write(reply())
        await writer.drain()

    sink.otherwise = answer


async def subscribe_all(service: Service, stack: AsyncExitStack) -> tuple[list[Tenant], list[Receiver]]:
    """Ten partners with ten receivers each; the receivers that work."""
    tenants, healthy = [], []
    for _ in range(PARTNERS):
        tenant = await service.tenant()
        api = service.client(tenant.secret)
        stack.push_async_callback(api.close)
        sinks = [await stack.enter_async_context(receiver()) for _ in range(8)]
        hanging = await stack.enter_async_context(receiver(never))
        with socket.create_server(("127.0.0.1", 0)) as closed:
            refusing = f"http://127.0.0.1:{closed.getsockname()[1]}/hooks"
        for url in (*(sink.url for sink in sinks), hanging.url, refusing):
            data(await api.post("/v1/webhook-subscriptions", {"url": url, "events": ["*"]}))
        tenants.append(tenant)
        healthy += sinks
    return tenants, healthy


async def calls_to_the_dead(service: Service) -> list[tuple[float, bool]]:
    """Every attempt at a receiver that never answered: seconds since the first, and whether it was a first attempt."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select extract(epoch from a.started_at - min(a.started_at) over ())::float8 as at, a.number = 1 as first
            from webhook_attempt a join webhook_delivery d on d.id = a.delivery_id
            join webhook_health h on h.subscription_id = d.subscription_id
            where h.last_success_at is null order by 1
            """
        )
    return [(row["at"], row["first"]) for row in rows]


@pytest.mark.long
async def test_dead_receivers_cost_the_others_nothing(service: Service, tmp_path: Path, figures: Figures) -> None:
    seconds = figures.count(4, 180)
    service.clock.advance_to(service.clock.real_now())  # the worker lives in real time
    arrived: dict[tuple[int, str], float] = {}
    committed: dict[str, float] = {}
    async with AsyncExitStack() as stack:
        tenants, healthy = await subscribe_all(service, stack)
        for number, sink in enumerate(healthy):
            note_arrivals(sink, number, arrived)
        worker = start_worker(service, tmp_path)
        stack.callback(worker.wait, 30)
        stack.callback(worker.terminate)
        await webhooks.happen(service, tenants[0])
        await eventually(lambda: len(arrived) == 8, within=30)
        began = monotonic()
        for turn in range(seconds * EVENTS_A_SECOND):
            await paced(began, turn, EVENTS_A_SECOND)
            (event,) = await webhooks.happen(service, tenants[turn % PARTNERS])
            committed[event] = monotonic()
        await eventually(lambda: len(arrived) == 8 + 8 * len(committed), within=30)
    delays = [at - committed[event] for (_, event), at in arrived.items() if event in committed]
    p50, p99 = quantiles(delays, n=100)[49], quantiles(delays, n=100)[98]
    dead = await calls_to_the_dead(service)
    per_minute = Counter(int(at // 60) for at, _ in dead)
    assert len(delays) == 8 * seconds * EVENTS_A_SECOND, "every event once at every receiver that works"
    if figures.soak:
        assert p99 < 1.0
        assert per_minute[1] <= 0.1 * EVENTS_A_SECOND * 60 * 2, "each event goes to two dead receivers"
    figures.write(
        "dead-receivers",
        "Dead receivers beside others that work",
        f"100 receivers of {PARTNERS} partners, {EVENTS_A_SECOND} events/s for {seconds} s, of each partner's ten "
        "receivers one hangs and one refuses connections",
        f"from commit to first attempt at the 80 others: p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms (aim 1,000)",
        f"calls to the 20 dead by minute: {', '.join(f'{per_minute[minute]:,}' for minute in range(seconds // 60))}; "
        f"first attempts alone would be {EVENTS_A_SECOND * 60 * 2:,} a minute",
    )
