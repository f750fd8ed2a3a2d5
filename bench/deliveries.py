"""Webhook deliveries a second, every attempt kept, beside a bare aiohttp loop that keeps nothing."""

import asyncio
import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import aiohttp
import msgspec

from almoner import wiring
from almoner.giving.donations import service as donations
from almoner.giving.donations.schemas import DonationOut
from almoner.platform import outbox
from almoner.platform.db import EVERYONE, Partner, Tx
from almoner.webhooks.subscriptions import service as subscriptions
from bench.machine import Spent, resident
from bench.stage import Stage, process, server

ENDPOINTS_EACH = 4
EVENTS_EACH = 100
IN_FLIGHT = 4
REST_SECONDS = 3.0
LONGEST_SECONDS = 300.0


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


def told(port: int) -> dict[str, Any]:
    """What the sink has counted."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def measure(stage: Stage, repeat: int) -> tuple[list[str], int]:
    """A table in Markdown, and the memory of a worker at rest."""
    ours, bare, at_rest = [], [], 0
    for _ in range(repeat):
        delivered, at_rest = _ours(stage)
        ours.append(delivered)
        with sink(stage) as port:
            bare.append(asyncio.run(_bare(stage, port)))
    rate, loop = median(run.rate for run in ours), median(bare)
    number = len(stage.partner_ids) * EVENTS_EACH * ENDPOINTS_EACH
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


def _ours(stage: Stage) -> tuple[Delivered, int]:
    with sink(stage) as port:
        wanted = asyncio.run(_emit(stage, port))
        log = stage.settings.data_dir / "worker.log"
        with process(stage, log, "-m", "almoner", "worker") as worker:
            database = Spent.by(stage.database_pid)
            began = time.monotonic()
            while (found := told(port))["number"] < wanted:
                if worker.poll() is not None or time.monotonic() - began > LONGEST_SECONDS:
                    raise RuntimeError(f"{found['number']} of {wanted} came:\n{log.read_text()[-3000:]}")
                time.sleep(0.05)
            app_us = Spent.by(worker.pid).seconds / wanted * 1e6
            database_us = Spent.by(stage.database_pid).since(database) / wanted * 1e6
            time.sleep(REST_SECONDS)
            at_rest = resident(worker.pid)
        asyncio.run(_check(stage, wanted))
    return Delivered(wanted / (found["last"] - found["first"]), app_us, database_us), at_rest


async def _emit(stage: Stage, port: int) -> int:
    """Subscriptions of every partner to the sink, and events that wait for them; answers how many deliveries follow."""
    house = await wiring.open_house(stage.settings)
    try:
        async with house.db.write() as tx:
            await tx.execute("update webhook_subscription set deleted_at = $1 where deleted_at is null", tx.now)
            for partner in stage.partner_ids:
                for number in range(ENDPOINTS_EACH):
                    url = f"http://127.0.0.1:{port}/{number}"
                    await subscriptions.create(tx, Partner(partner), url, ["*"])
        async with house.db.write() as tx:
            gift = await _gift(tx, stage)
            for _ in range(EVENTS_EACH):
                told_to = [(partner, gift) for partner in stage.partner_ids]
                await outbox.emit_all(tx, "donation.settled", told_to)
        return len(stage.partner_ids) * EVENTS_EACH * ENDPOINTS_EACH
    finally:
        await house.close()


async def _gift(tx: Tx, stage: Stage) -> DonationOut:
    """A gift as partners are told of it: slices react to what they read in it."""
    gift_id = tx.ids.parse("donation", stage.donations[0])
    assert gift_id is not None
    return donations.record(tx, await donations.get(tx, EVERYONE, gift_id))


async def _check(stage: Stage, wanted: int) -> None:
    """Every delivery has its attempt."""
    house = await wiring.open_house(stage.settings)
    try:
        async with house.db.read() as tx:
            kept = await tx.fetchval(
                """
                select count(*) from webhook_attempt a join webhook_delivery d on d.id = a.delivery_id
                join webhook_subscription s on s.id = d.subscription_id where s.deleted_at is null
                """
            )
        if kept != wanted:
            raise RuntimeError(f"{kept} attempts kept of {wanted} deliveries")
    finally:
        await house.close()


async def _body(stage: Stage) -> bytes:
    house = await wiring.open_house(stage.settings)
    try:
        async with house.db.read() as tx:
            return msgspec.json.encode(await _gift(tx, stage))
    finally:
        await house.close()


async def _bare(stage: Stage, port: int) -> float:
    """POST as many bodies of the same size, as many at a time, and forget them."""
    number = EVENTS_EACH * ENDPOINTS_EACH * 10
    body = await _body(stage)
    waiting = iter(range(number))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:

        async def post() -> None:
            for _ in waiting:
                async with client.post(f"http://127.0.0.1:{port}/", data=body) as answer:
                    await answer.read()

        began = time.perf_counter()
        await asyncio.gather(*(post() for _ in range(ENDPOINTS_EACH * 10 * IN_FLIGHT)))
        return number / (time.perf_counter() - began)
