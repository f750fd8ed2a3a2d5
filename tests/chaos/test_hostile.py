"""The hostile hour: hostile clients, dead receivers, a full disk, a killed database, and a partner who notices little.

`make soak only=hostile minutes=10` runs ten minutes of it.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from statistics import quantiles
from time import monotonic
from typing import Any

import aiohttp
import psutil
import pytest

from tests.chaos.dead_receivers import dead_receivers
from tests.support.eventually import eventually, paced
from tests.support.figures import Figures
from tests.support.receivers import Receiver, receiver
from tests.support.running import Running, folder, running
from tests.support.small_disk import fill, small_disk

RATE = 20.0  # requests a second of the well-behaved partner
REPEATS = 40.0  # a second at most of what it repeats
AGAIN_SECONDS = 2.0
DISK_MEGABYTES = 1500  # and one for each second: every event waits for each of 30 dead receivers
READS, WRITES = 0.25, 0.5  # seconds: the aims of p99
GROWTH = 1.15


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the partner: when it was meant to begin, how long after that its answer was there."""

    meant: float
    kind: str
    seconds: float
    status: int
    right: bool


@dataclass
class Shopper:
    """A well-behaved partner: asks at a constant rate, whatever comes back, and repeats what failed with its key.

    What is repeated keeps to a rate of its own, so that all of it together stays below the partner's limit.
    """

    here: Running
    http: aiohttp.ClientSession
    organisation: str = ""
    calls: list[Call] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)  # sessions by Idempotency-Key
    given: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=count)
    repeating: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def repeat(self, path: str, body: object, key: str, *, until: set[int]) -> Any:
        """Send a request that failed again and again, each time after the two seconds that a 503 names."""
        status, answer = 0, None
        while status not in until:
            await paced(monotonic(), 1, 1 / AGAIN_SECONDS)
            async with self.repeating:
                status, answer = await self.ask("POST", path, body, key)
                await paced(monotonic(), 1, REPEATS)
        return answer

    async def ask(self, method: str, path: str, body: object = None, key: str | None = None) -> tuple[int, Any]:
        """One request; 0 when no answer came."""
        headers = {"Authorization": self.here.secret_key} | ({"Idempotency-Key": key} if key else {})
        try:
            async with self.http.request(
                method, f"{self.here.base_url}/v1{path}", json=body, headers=headers, timeout=aiohttp.ClientTimeout(30)
            ) as answer:
                return answer.status, await answer.json()
        except (aiohttp.ClientError, TimeoutError, json.JSONDecodeError):
            return 0, None

    async def run(self, seconds: float) -> None:
        """Ask until the time is over."""
        began = monotonic()
        async with asyncio.TaskGroup() as group:
            for turn in range(int(seconds * RATE)):
                await paced(began, turn, RATE)
                group.create_task(self._turn(turn, began + turn / RATE))

    async def _turn(self, turn: int, meant: float) -> None:
        match turn % 10:
            case 0 | 4:
                await self._create(meant)
            case 2 if self.made:
                await self._give(meant)
            case 1 | 5 | 8 if self.made:
                session = list(self.made.values())[turn % len(self.made)]
                status, answer = await self.ask("GET", f"/donation-sessions/{session}")
                self._note(meant, "read", status, right=status != 200 or answer["data"]["id"] == session)
            case 3:
                status, answer = await self.ask("GET", "/organisations?query=martha%20table&pageSize=5")
                self._note(meant, "read", status, right=status != 200 or bool(answer["data"]))
            case _:
                status, answer = await self.ask("GET", "/donations?pageSize=20")
                self._note(meant, "read", status, right=status != 200 or isinstance(answer["data"], list))

    async def _create(self, meant: float) -> None:
        key = f"order-{next(self.numbers)}"
        body = {"organisationId": self.organisation, "metadata": {"order": key}}
        status, answer = await self.ask("POST", "/donation-sessions", body, key)
        right = status != 200 or answer["data"]["metadata"] == {"order": key}
        self._note(meant, "write", status, right=right)
        if status != 200:
            answer = await self.repeat("/donation-sessions", body, key, until={200})
        self.made[key] = answer["data"]["id"]

    async def _give(self, meant: float) -> None:
        open_ = [session for session in self.made.values() if session not in self.given]
        if not open_:
            return
        session = open_[0]
        self.given.add(session)
        body = {"id": session, "action": "donate", "amount": 2500, "currencyCode": "USD", "firstName": "Ada"}
        body |= {"lastName": "Example", "email": "ada@example.org"}
        status, _ = await self.ask("POST", "/sandbox/simulate", body, f"give-{session}")
        self._note(meant, "give", status, right=status != 400)
        if status not in {200, 400}:  # 400: what an outage had cut short was finished, or ended, meanwhile
            await self.repeat("/sandbox/simulate", body, f"give-{session}", until={200, 400})

    def _note(self, meant: float, kind: str, status: int, *, right: bool) -> None:
        self.calls.append(Call(meant, kind, monotonic() - meant, status, right))


@contextmanager
def log_pipe() -> Iterator[tuple[int, Callable[[], None]]]:
    """A pipe that is read like a log, and what ends its reader."""
    reading, writing = os.pipe()
    reader = subprocess.Popen(["cat"], stdin=reading, stdout=subprocess.DEVNULL)
    os.close(reading)
    try:
        yield writing, reader.kill
    finally:
        reader.kill()
        reader.wait()
        os.close(writing)


def resident(here: Running) -> int:
    """Bytes of the service's own process."""
    return int(psutil.Process(here.process.pid).memory_info().rss)


def kill_database(here: Running) -> None:
    """End PostgreSQL's processes at once."""
    for process in psutil.Process(here.process.pid).children(recursive=True):
        if "postgres" in process.name():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)


async def settled(shopper: Shopper) -> None:
    """Wait until writes are answered again."""

    async def answered() -> bool:
        body = {"organisationId": shopper.organisation}
        return (await shopper.ask("POST", "/donation-sessions", body, f"probe-{next(shopper.numbers)}"))[0] == 200

    await eventually(answered, within=60)


@asynccontextmanager
async def attacked(here: Running, seconds: float, seed: int) -> AsyncIterator[list[dict[str, Any]]]:
    """Hostile clients in a process of their own; what they were answered is there at the end."""
    port = here.base_url.rpartition(":")[2]
    keys = (here.sandbox["publishableKey"], here.sandbox["secondSecretKey"])
    command = ("-m", "tests.chaos.hostile_clients", port, *keys, str(seconds), str(seed))
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE)
    seen: list[dict[str, Any]] = []
    yield seen
    printed, _ = await process.communicate()
    assert process.returncode == 0
    seen.append(json.loads(printed))


async def prepare(shopper: Shopper, sink: Receiver, dead: list[str]) -> None:
    """Subscriptions of one receiver that works and of all that do not."""
    _, found = await shopper.ask("GET", "/organisations?query=martha%20table&countryCode=USA&pageSize=1")
    shopper.organisation = found["data"][0]["id"]
    for url in (sink.url, *dead):
        status, _ = await shopper.ask("POST", "/webhook-subscriptions", {"url": url, "events": ["*"]})
        assert status == 200


async def all_events(shopper: Shopper) -> set[str]:
    """The ids of all events that there are."""
    found: set[str] = set()
    path = "/events?direction=ASC&pageSize=100"
    while path:
        status, page = await shopper.ask("GET", path)
        if status == 429:
            await paced(monotonic(), 1, 1)
            continue
        assert status == 200
        found |= {event["id"] for event in page["data"]}
        path = (page["_links"].get("next") or "").partition("/v1")[2]
    return found


def outside(calls: list[Call], outages: list[tuple[float, float]]) -> list[Call]:
    """Those whose whole time lies outside of the outages."""
    return [
        call for call in calls if all(call.meant + call.seconds < start or call.meant > end for start, end in outages)
    ]


async def outage(shopper: Shopper, begin: Any, seconds: float, end: Any) -> tuple[float, float]:
    """Something breaks for a while; from when until when it was to be noticed."""
    start = monotonic()
    begin()
    await paced(start, 1, 1 / max(seconds, 0.1))
    end()
    await settled(shopper)
    return start - 1, monotonic() + 2


@pytest.mark.long
async def test_a_partner_notices_little_of_a_hostile_hour(figures: Figures, minutes: float | None) -> None:
    seconds = 60 * (minutes or 10) - 120
    with (
        folder("hostile") as place,
        small_disk(place / "disk", DISK_MEGABYTES + int(seconds)) as data,
        log_pipe() as (output, end_log),
        running(data, "run", output, rate_limit_secret="100/200") as here,
    ):
        async with (
            asyncio.timeout(seconds + 300),
            aiohttp.ClientSession() as http,
            receiver() as sink,
            dead_receivers(30) as dead,
        ):
            shopper = Shopper(here, http)
            await prepare(shopper, sink, dead)
            await shopper.run(20)
            shopper.calls.clear()
            before = resident(here)
            async with attacked(here, seconds, figures.seed % 10**6) as seen:
                asking = asyncio.create_task(shopper.run(seconds))
                began = monotonic()
                await paced(began, 1, 1 / (0.2 * seconds))
                outages = [await outage(shopper, lambda: kill_database(here), 0, lambda: None)]
                await paced(began, 1, 1 / (0.45 * seconds))
                filler = data.parent / "filler"
                held = min(120.0, 0.2 * seconds)
                outages.append(await outage(shopper, lambda: fill(filler), held, filler.unlink))
                end_log()
                await asking
            await shopper.run(20)
            await eventually(lambda: _arrived(shopper, sink), within=60)
            after, events = resident(here), await all_events(shopper)
            _, sessions = await shopper.ask("GET", "/donations?pageSize=1")
    judge(figures, shopper, outages, seen[0], (before, after), len(events), sessions["totalResults"])


async def _arrived(shopper: Shopper, sink: Receiver) -> bool:
    return await all_events(shopper) <= {got.headers["webhook-id"] for got in sink.received}


def judge(
    figures: Figures, shopper: Shopper, outages: list[tuple[float, float]], seen: dict[str, Any],
    memory: tuple[int, int], events: int, donations: int,
) -> None:  # fmt: skip
    """Hold what was seen against the aims, and write it down."""
    calls = outside(shopper.calls, outages)
    counted = set(calls)
    by_kind = {kind: [call.seconds for call in calls if call.kind == kind] for kind in ("read", "write", "give")}
    p99 = {kind: quantiles(times, n=100)[98] for kind, times in by_kind.items()}
    p50 = {kind: quantiles(times, n=100)[49] for kind, times in by_kind.items()}
    wrong = [call for call in calls if call.status != 200 or not call.right]
    inside = Counter(call.status for call in shopper.calls if call not in counted)
    figures.write(
        "hostile",
        "The hostile hour",
        f"200 hostile clients, 30 dead receivers; a partner with {RATE:g} requests/s (open loop, from the intended "
        f"moment), {len(shopper.calls):,} requests of which {len(calls):,} outside of the two outages",
        f"outside: reads p50 {p50['read'] * 1000:.0f} ms, p99 {p99['read'] * 1000:.0f} ms (aim 250); writes "
        f"{p50['write'] * 1000:.0f} and {p99['write'] * 1000:.0f} ms (aim 500); simulated donations, which pay at the "
        f"test provider too, {p50['give'] * 1000:.0f} and {p99['give'] * 1000:.0f} ms",
        f"wrong answers outside: {len(wrong)}; answers in the outages by status: {dict(inside)} (0: none came)",
        "outages: database killed, writes again after "
        f"{outages[0][1] - outages[0][0] - 3:.1f} s; disk full for {outages[1][1] - outages[1][0] - 3:.0f} s",
        f"{events:,} events, all delivered to the receiver that works; {len(shopper.given):,} donations asked for, "
        f"{donations:,} made",
        f"memory of the service {memory[0] / 2**20:.0f} to {memory[1] / 2**20:.0f} MB (aim: {GROWTH:.2f} times)",
        f"what the hostile were answered: {json.dumps(seen)}",
    )
    assert not wrong, wrong[:5]
    assert donations == len(shopper.given)
    assert p99["read"] < READS
    assert p99["write"] < WRITES
    assert memory[1] < memory[0] * GROWTH
