"""Webhook deliveries a second, every attempt kept, beside a bare aiohttp loop that keeps nothing.

The worker has started and delivered a few before any is counted: its imports are no part of a delivery.
"""

import asyncio
import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import msgspec

from almoner import wiring
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.schemas import DonationOut
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.webhooks.subscriptions import service as subscriptions
from bench.machine import Spent, resident
from bench.scale import Scale
from bench.stage import Stage, process, server

ENDPOINTS_EACH = 4
EVENTS_EACH = 100
WARMING = 5
"""Events of each partner that are delivered before the others are counted."""
IN_FLIGHT = 4
REST_SECONDS = 3.0
LONGEST_SECONDS = 300.0
KEPT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Delivered:
    """One run: rate, and processor microseconds for each delivery."""

    rate: float
    app_us: float
    database_us: float


@contextmanager
def sink(stage: Stage) -> Iterator[int]:
    """A receiver in a process of its own; gives its port."""
    with server(stage, "sink", "-m", "bench.sink", "{port}") as running:
        yield running.port


def counted(port: int, path: str = "/") -> dict[str, Any]:
    """What the sink has counted; it counts anew after ``/restart``."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def measure(stage: Stage, scale: Scale) -> tuple[list[str], int]:
    """A table in Markdown, and the memory of a worker at rest."""
    ours, bare, at_rest = [], [], 0
    events = scale.rows(EVENTS_EACH, WARMING)
    for _ in range(scale.repeat):
        delivered, at_rest = _ours(stage, events, min(REST_SECONDS, scale.seconds))
        ours.append(delivered)
        with sink(stage) as port:
            bare.append(asyncio.run(_bare(stage, port, events)))
    rate, loop = median(run.rate for run in ours), median(bare)
    number = _deliveries(stage, events)
    app, database = median(run.app_us for run in ours), median(run.database_us for run in ours)
    endpoints = len(stage.partner_ids) * ENDPOINTS_EACH
    lines = [
        f"| {number:,} deliveries to {endpoints} local endpoints | per second | x bare | CPU us |",
        "|---|---|---|---|",
    ]
    worker = "one `almoner worker`: numbered, fanned out, signed twice, attempts kept"
    lines.append(f"| {worker} | {rate:,.0f} | {rate / loop:.2f} | {app:.0f} + {database:.0f} |")
    lines.append(f"| a bare aiohttp loop, nothing kept | {loop:,.0f} | 1.00 | |")
    return lines, at_rest


def _deliveries(stage: Stage, events: int) -> int:
    """How many follow from so many events of each partner."""
    return len(stage.partner_ids) * events * ENDPOINTS_EACH


def _ours(stage: Stage, events: int, rest: float) -> tuple[Delivered, int]:
    warming, wanted = _deliveries(stage, WARMING), _deliveries(stage, events)
    with sink(stage) as port:
        asyncio.run(_subscribe(stage, port))
        log = stage.settings.data_dir / "worker.log"
        with process(stage, log, "-m", "almoner", "worker") as worker:
            asyncio.run(_emit(stage, WARMING))
            _await(port, warming, worker, log)
            asyncio.run(_settled(stage, warming))
            counted(port, "/restart")
            app, database = Spent.by(worker.pid), Spent.by(stage.database_pid)
            asyncio.run(_emit(stage, events))
            found = _await(port, wanted, worker, log)
            app_us = Spent.by(worker.pid).since(app) / wanted * 1e6
            database_us = Spent.by(stage.database_pid).since(database) / wanted * 1e6
            time.sleep(rest)
            at_rest = resident(worker.pid)
        asyncio.run(_settled(stage, warming + wanted))
    return Delivered(wanted / (found["last"] - found["first"]), app_us, database_us), at_rest


def _await(port: int, wanted: int, worker: "subprocess.Popen[bytes]", log: Path) -> dict[str, Any]:
    """What the sink has counted when all have come."""
    started = time.monotonic()
    while (found := counted(port))["number"] < wanted:
        if worker.poll() is not None or time.monotonic() - started > LONGEST_SECONDS:
            raise RuntimeError(f"{found['number']} of {wanted} came:\n{log.read_text()[-3000:]}")
        time.sleep(0.05)
    return found


async def _subscribe(stage: Stage, port: int) -> None:
    """Subscriptions of every partner to the sink, and no others."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            await tx.execute("update webhook_subscription set deleted_at = $1 where deleted_at is null", tx.now)
            for partner in stage.partner_ids:
                for number in range(ENDPOINTS_EACH):
                    url = f"http://127.0.0.1:{port}/{number}"
                    await subscriptions.create(tx, Partner(partner), url, ["*"])
    finally:
        await services.close()


async def _emit(stage: Stage, events: int) -> None:
    """So many events of each partner, all at once."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            gift = await _gift(tx, stage)
            for _ in range(events):
                await outbox.emit_events(tx, "donation.settled", [(partner, gift) for partner in stage.partner_ids])
    finally:
        await services.close()


async def _gift(tx: Tx, stage: Stage) -> DonationOut:
    """A gift as partners are told of it: slices react to what they read in it."""
    gift_id = tx.ids.parse("donation", stage.donations[0])
    assert gift_id is not None
    return donations.build_api_record(tx, await donations.get(tx, ALL_PARTNERS, gift_id))


async def _settled(stage: Stage, wanted: int) -> None:
    """Wait until every delivery has its attempt, as it has soon after the answer came. Raises RuntimeError."""
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


async def _bare(stage: Stage, port: int, events: int) -> float:
    """POST as many bodies of the same size, as many at a time, and forget them."""
    number = _deliveries(stage, events)
    body = await _body(stage)
    waiting = iter(range(number))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:

        async def post() -> None:
            for _ in waiting:
                async with client.post(f"http://127.0.0.1:{port}/", data=body) as answer:
                    await answer.read()

        started = time.perf_counter()
        await asyncio.gather(*(post() for _ in range(ENDPOINTS_EACH * len(stage.partner_ids) * IN_FLIGHT)))
        return number / (time.perf_counter() - started)
