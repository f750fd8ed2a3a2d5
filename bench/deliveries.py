"""Webhook deliveries per second, every attempt stored, beside a bare aiohttp loop that stores nothing.

The worker has started and delivered some before counting starts: its imports are not counted.
"""

import asyncio
import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import msgspec

from almoner import wiring
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.schemas import DonationResponse
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.webhooks.subscriptions import service as subscriptions
from bench.machine import Spent, resident
from bench.scale import BRIEF, Scale
from bench.stage import Stage, process, server

WARMING = 5
"""The events of each partner that are delivered before counting starts."""
IN_FLIGHT = 4
REST_SECONDS = 3.0
LONGEST_SECONDS = 300.0
KEPT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Workload:
    """``events`` of each of ``partners``, delivered to ``endpoints`` of each, which respond after ``answer_ms``."""

    partners: int
    endpoints: int
    events: int
    workers: int = 1
    answer_ms: int = 0

    def deliveries(self, events: int) -> int:
        """The number of deliveries for so many events of each partner."""
        return self.partners * self.endpoints * events


USUAL = Workload(10, 4, 100)
ALONE = Workload(1, 1, 3_000, answer_ms=10)
MANY = Workload(10, 8, 100)
TWO_WORKERS = "80 endpoints, two workers"
OTHERS = {
    "one endpoint of a partner alone, which answers after 10 ms": ALONE,
    "80 endpoints, one worker": MANY,
    TWO_WORKERS: replace(MANY, workers=2),
}


@dataclass(frozen=True, slots=True)
class Delivered:
    """One run: rate, and processor microseconds per delivery."""

    rate: float
    app_us: float
    database_us: float


@contextmanager
def sink(stage: Stage, answer_ms: int = 0) -> Iterator[int]:
    """A receiver in a process of its own; yields its port."""
    with server(stage, "sink", "-m", "bench.sink", "{port}", str(answer_ms)) as running:
        yield running.port


def counted(port: int, path: str = "/") -> dict[str, Any]:
    """The sink's counts; they restart after ``/restart``."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def measure(stage: Stage, scale: Scale) -> tuple[list[str], int]:
    """A Markdown table, and the idle memory of a worker."""
    ours, bare, at_rest = [], [], 0
    usual = replace(USUAL, events=scale.rows(USUAL.events, WARMING))
    for _ in range(scale.repeat):
        delivered, at_rest = deliver(stage, usual, min(REST_SECONDS, scale.seconds))
        ours.append(delivered)
        with sink(stage) as port:
            bare.append(asyncio.run(_bare(stage, port, usual)))
    rate, loop = median(run.rate for run in ours), median(bare)
    number, endpoints = usual.deliveries(usual.events), usual.deliveries(1)
    app, database = median(run.app_us for run in ours), median(run.database_us for run in ours)
    lines = [
        f"| {number:,} deliveries to {endpoints} local endpoints | per second | x bare | CPU us |",
        "|---|---|---|---|",
    ]
    worker = "one `almoner worker`: numbered, fanned out, signed twice, attempts kept"
    lines.append(f"| {worker} | {rate:,.0f} | {rate / loop:.2f} | {app:.0f} + {database:.0f} |")
    lines.append(f"| a bare aiohttp loop, nothing kept | {loop:,.0f} | 1.00 | |")
    others = {TWO_WORKERS: OTHERS[TWO_WORKERS]} if scale is BRIEF else OTHERS
    for name, workload in others.items():
        lines.append(_line(stage, name, replace(workload, events=scale.rows(workload.events, WARMING)), scale.repeat))
    return lines, at_rest


def _line(stage: Stage, name: str, workload: Workload, repeat: int) -> str:
    runs = [deliver(stage, workload)[0] for _ in range(repeat)]
    rate, app, database = (median(getattr(run, field) for run in runs) for field in ("rate", "app_us", "database_us"))
    return f"| {name} | {rate:,.0f} | | {app:.0f} + {database:.0f} |"


def deliver(stage: Stage, workload: Workload, rest: float = 0.0) -> tuple[Delivered, int]:
    """Deliver the workload; also measures a worker's memory after ``rest`` idle seconds."""
    warming, wanted = workload.deliveries(WARMING), workload.deliveries(workload.events)
    with ExitStack() as stack:
        port = stack.enter_context(sink(stage, workload.answer_ms))
        asyncio.run(_subscribe(stage, port, workload))
        logs = [stage.settings.data_dir / f"worker{number}.log" for number in range(workload.workers)]
        workers = [stack.enter_context(process(stage, log, "-m", "almoner", "worker")) for log in logs]
        asyncio.run(_emit(stage, workload.partners, WARMING))
        _await(port, warming, workers, logs)
        asyncio.run(_settled(stage, warming))
        _started(workers)
        counted(port, "/restart")
        app, database = [Spent.by(worker.pid) for worker in workers], Spent.by(stage.database_pid)
        asyncio.run(_emit(stage, workload.partners, workload.events))
        found = _await(port, wanted, workers, logs)
        app_us = sum(Spent.by(one.pid).since(spent) for one, spent in zip(workers, app, strict=True)) / wanted * 1e6
        database_us = Spent.by(stage.database_pid).since(database) / wanted * 1e6
        asyncio.run(_settled(stage, warming + wanted))
        time.sleep(rest)
        at_rest = resident(workers[0].pid)
    return Delivered(wanted / (found["last"] - found["first"]), app_us, database_us), at_rest


def _started(workers: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Wait until all workers have started."""
    spent, idle = 0.0, False
    while not idle:
        time.sleep(0.5)
        before, spent = spent, sum(Spent.by(worker.pid).seconds for worker in workers)
        idle = spent - before < 0.1 * len(workers)


def _await(
    port: int, wanted: int, workers: Sequence["subprocess.Popen[bytes]"], logs: Sequence[Path]
) -> dict[str, Any]:
    """The sink's counts once all deliveries have arrived."""
    started = time.monotonic()
    while (found := counted(port))["number"] < wanted:
        if any(worker.poll() is not None for worker in workers) or time.monotonic() - started > LONGEST_SECONDS:
            said = "\n".join(log.read_text()[-3000:] for log in logs)
            raise RuntimeError(f"{found['number']} of {wanted} came:\n{said}")
        time.sleep(0.05)
    return found


async def _subscribe(stage: Stage, port: int, workload: Workload) -> None:
    """Subscriptions of the workload's partners to the sink, and no others."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            await tx.execute("update webhook_subscription set deleted_at = $1 where deleted_at is null", tx.now)
            for partner in stage.partner_ids[: workload.partners]:
                for number in range(workload.endpoints):
                    url = f"http://127.0.0.1:{port}/{number}"
                    await subscriptions.create(tx, Partner(partner), url, ["*"])
    finally:
        await services.close()


async def _emit(stage: Stage, partners: int, events: int) -> None:
    """Emit the events of each partner, all at once."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            gift = await _gift(tx, stage)
            for _ in range(events):
                await outbox.emit_events(
                    tx, "donation.settled", [(partner, gift) for partner in stage.partner_ids[:partners]]
                )
    finally:
        await services.close()


async def _gift(tx: Tx, stage: Stage) -> DonationResponse:
    """A donation as in its event: reactions read parts of it."""
    gift_id = tx.ids.decode("donation", stage.donations[0])
    assert gift_id is not None
    return donations.serialise_for_api(tx, await donations.get(tx, ALL_PARTNERS, gift_id))


async def _settled(stage: Stage, wanted: int) -> None:
    """Wait until every delivery has its attempt stored, soon after the response. Raises RuntimeError."""
    services = await wiring.build_services(stage.settings)
    try:
        ends = time.monotonic() + KEPT_SECONDS
        while True:
            async with services.db.read() as tx:
                stored = await tx.fetchval(
                    """
                    select count(*) from webhook_attempt a join webhook_delivery d on d.id = a.delivery_id
                    join webhook_subscription s on s.id = d.subscription_id where s.deleted_at is null
                    """
                )
            if stored == wanted:
                return
            if time.monotonic() > ends:
                raise RuntimeError(f"{stored} attempts kept of {wanted} deliveries")
            await asyncio.sleep(0.05)
    finally:
        await services.close()


async def _body(stage: Stage) -> bytes:
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.read() as tx:
            return msgspec.json.encode(await _gift(tx, stage))
    finally:
        await services.close()


async def _bare(stage: Stage, port: int, workload: Workload) -> float:
    """POST as many bodies of the same size, as many at a time, without storing anything."""
    number = workload.deliveries(workload.events)
    body = await _body(stage)
    waiting = iter(range(number))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:

        async def post() -> None:
            for _ in waiting:
                async with client.post(f"http://127.0.0.1:{port}/", data=body) as answer:
                    await answer.read()

        started = time.perf_counter()
        await asyncio.gather(*(post() for _ in range(workload.deliveries(IN_FLIGHT))))
        return number / (time.perf_counter() - started)
