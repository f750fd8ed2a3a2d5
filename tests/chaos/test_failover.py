"""Two PostgreSQL servers that stand by for each other, and the lost one replaced again and again while partners write.

The service has both addresses and ``target_session_attrs=read-write``. A write is repeated with its ``Idempotency-Key``
until it is acknowledged, as partners do. Where replication is synchronous, each acknowledged one is there once.
"""

import asyncio
import itertools
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from almoner.platform.database.programs import OsAccount
from tests.support import running
from tests.support.debian_postgres import PROGRAMS, DebianServer, missing, run, until
from tests.support.deployed import Deployed
from tests.support.eventually import eventually
from tests.support.figures import Figures

ABSENT = missing()
pytestmark = [pytest.mark.soak, pytest.mark.skipif(ABSENT is not None, reason=ABSENT or "")]
PER_SECOND = 100
FAILOVERS = (1, 20)
ASYNCHRONOUS = (1, 5)
BEHIND_SECONDS = 15
SENDERS = 25
NAMES = ("one", "two")


class Pair:
    """A primary and its stand-by."""

    def __init__(self, folder: Path, *, synchronous: bool) -> None:
        self.synchronous = synchronous
        self.servers = {name: DebianServer(folder / name / "data") for name in NAMES}
        for server in self.servers.values():
            server.data.parent.mkdir(parents=True)
            OsAccount.current().chown(server.data.parent)
        self.primary, self.standby = (self.servers[name] for name in NAMES)

    @property
    def url(self) -> str:
        """Both addresses, the one that takes writes wanted."""
        places = ",".join(f"127.0.0.1:{server.port}" for server in self.servers.values())
        first = self.primary.url("almoner_app")
        return f"{first.partition('@')[0]}@{places}/almoner?target_session_attrs=read-write"

    def begin(self) -> None:
        """Both run, the second follows."""
        self.primary.create()
        self.primary.start()
        self.primary.prepare()
        self.follow()

    def follow(self) -> None:
        """The other one stands by, with all that was committed; commits wait for it where that is asked."""
        name = next(name for name, server in self.servers.items() if server is self.standby)
        self.primary.sql("alter system reset synchronous_standby_names; select pg_reload_conf()")
        self.standby.follow(self.primary, name)
        with (self.standby.data / "postgresql.auto.conf").open("a") as conf:
            conf.write("synchronous_standby_names = ''\n")
        self.standby.start()
        until(lambda: self.primary.sql("select count(*) from pg_stat_replication where state = 'streaming'") == "1")
        if self.synchronous:
            self.primary.sql(f"alter system set synchronous_standby_names = '{name}'; select pg_reload_conf()")
            until(lambda: self.primary.sql("select sync_state from pg_stat_replication") == "sync")

    def fail_over(self) -> None:
        """The primary is lost at once; its stand-by takes its place."""
        self.primary.stop(signal.SIGKILL)
        run(PROGRAMS / "pg_ctl", "promote", "-D", self.standby.data, "--silent")
        self.primary, self.standby = self.standby, self.primary

    def stop(self) -> None:
        """Both."""
        for server in self.servers.values():
            server.stop(signal.SIGKILL)


@dataclass
class Load:
    """``acknowledged``: names that were answered 200. ``waits``: how long each took, repeats and all."""

    acknowledged: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)

    def has(self, count: int) -> bool:
        """Whether so many were acknowledged."""
        return len(self.acknowledged) >= count


@asynccontextmanager
async def under_load(address: str, key: str, first: int = 0) -> AsyncIterator[Load]:
    """A hundred writes a second, each repeated until it is acknowledged. ``first``: their first number."""
    load, over, numbers = Load(), asyncio.Event(), itertools.count(first)
    timeout = aiohttp.ClientTimeout(total=15)

    async def write(client: aiohttp.ClientSession, number: int) -> None:
        name, began = f"Write {number}", time.monotonic()
        headers = {"Authorization": key, "Idempotency-Key": f"failover-{number}"}
        while True:
            try:
                async with client.post("/v1/categories", json={"name": name}, headers=headers) as answer:
                    load.answers[str(answer.status)] += 1
                    if answer.status == 200:
                        load.acknowledged.append(name)
                        load.waits.append(time.monotonic() - began)
                        return
                    assert answer.status in (409, 500, 503), await answer.text()
            except (aiohttp.ClientError, TimeoutError) as error:
                load.answers[type(error).__name__] += 1
            await pause(0.2)

    async def pause(seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await over.wait()

    async def send(client: aiohttp.ClientSession) -> None:
        while not over.is_set():
            began = time.monotonic()
            await write(client, next(numbers))
            await pause(max(0.0, SENDERS / PER_SECOND - (time.monotonic() - began)))

    async with aiohttp.ClientSession(address, timeout=timeout) as client, asyncio.TaskGroup() as group:
        for _ in range(SENDERS):
            group.create_task(send(client))
        try:
            yield load
        finally:
            over.set()


@contextmanager
def deployment(*, synchronous: bool) -> Iterator[tuple[Pair, Deployed]]:
    """Almoner over the pair."""
    with running.folder("failover") as folder:
        pair = Pair(folder, synchronous=synchronous)
        try:
            pair.begin()
            settings = {"database_url": pair.url, "rate_limit_secret": "10000/10000"}
            settings["owner_database_url"] = pair.url.replace("almoner_app", "almoner_owner")
            deployed = Deployed(folder, settings)
            deployed.command("migrate")
            try:
                yield pair, deployed
            finally:
                deployed.stop()
        finally:
            pair.stop()


async def fail_over_often(pair: Pair, deployed: Deployed, failovers: int) -> Load:
    """All fail-overs under load; what was acknowledged."""
    address = await asyncio.to_thread(deployed.start, "serve")
    await asyncio.to_thread(deployed.start, "worker")
    async with under_load(address, await asyncio.to_thread(deployed.partner_key)) as load:
        for _ in range(failovers):
            await eventually(partial(load.has, len(load.acknowledged) + 2 * PER_SECOND), within=60)
            await asyncio.to_thread(pair.fail_over)
            before = len(load.acknowledged)
            await eventually(partial(load.has, before + PER_SECOND), within=60)
            await asyncio.to_thread(pair.follow)
        await eventually(partial(load.has, len(load.acknowledged) + 2 * PER_SECOND), within=60)
    return load


def stored(pair: Pair) -> Counter[str]:
    """How often each name is there."""
    return Counter(pair.primary.sql("select name from category where name like 'Write %'", "almoner").splitlines())


async def test_fail_overs_lose_nothing_that_was_acknowledged(figures: Figures) -> None:
    failovers = figures.count(*FAILOVERS)
    with deployment(synchronous=True) as (pair, deployed):
        load = await fail_over_often(pair, deployed, failovers)
        found = await asyncio.to_thread(stored, pair)
        lost = set(load.acknowledged) - set(found)
        doubled = [name for name, count in found.items() if count > 1]
        findings = await asyncio.to_thread(deployed.command, "selfcheck")
        waits = sorted(load.waits)
        figures.write(
            "failover",
            "Fail-over between two PostgreSQL servers",
            f"PostgreSQL {pair.primary.sql('show server_version')}, synchronous replication; {failovers} times the "
            "primary was killed with all its processes, the stand-by promoted, and another stand-by built",
            f"{len(load.acknowledged):,} writes acknowledged, about {PER_SECOND} a second: {len(lost)} lost, "
            f"{len(doubled)} doubled",
            f"answers: {dict(load.answers.most_common())}; each refused one was repeated with its Idempotency-Key",
            f"time until a write was acknowledged, with repeats: p50 {waits[len(waits) // 2] * 1000:.0f} ms, "
            f"p99 {waits[len(waits) * 99 // 100]:.1f} s, longest {waits[-1]:.1f} s",
            f"selfcheck afterwards: {findings.strip().splitlines()[-1]}",
        )
        failed = [line for line in (deployed.folder / "serve.log").read_text().splitlines() if '"failure"' in line]
        assert lost == set()
        assert doubled == []
        assert load.answers["500"] == 0, failed


async def fail_over_from_behind(pair: Pair, deployed: Deployed) -> Load:
    """The stand-by gets nothing any more for longer than it may be behind, and takes the primary's place."""
    address = f"http://127.0.0.1:{deployed.ports['serve']}"
    async with under_load(address, await asyncio.to_thread(deployed.partner_key), first=1_000_000) as load:
        await asyncio.to_thread(pair.standby.sql, "alter system set primary_conninfo = ''; select pg_reload_conf()")
        await eventually(partial(load.has, BEHIND_SECONDS * PER_SECOND), within=120)
        await asyncio.to_thread(pair.fail_over)
        await eventually(partial(load.has, len(load.acknowledged) + PER_SECOND), within=60)
    return load


@pytest.mark.long  # tests/chaos/test_copies.py: what is behind when it goes on is quiet, and a finding
async def test_asynchronous_fail_overs_say_what_they_lose(figures: Figures) -> None:
    failovers = figures.count(*ASYNCHRONOUS)
    with deployment(synchronous=False) as (pair, deployed):
        load = await fail_over_often(pair, deployed, failovers)
        found = await asyncio.to_thread(stored, pair)
        lost = set(load.acknowledged) - set(found)
        said = (await asyncio.to_thread(deployed.command, "selfcheck")).strip().splitlines()[-1]
        behind = await fail_over_from_behind(pair, deployed)
        later = await asyncio.to_thread(stored, pair)
        lost_behind = set(behind.acknowledged) - set(later)
        finding = await asyncio.to_thread(deployed.command, "selfcheck", fails=True)
        figures.write(
            "failover-asynchronous",
            "Fail-over without synchronous replication",
            f"PostgreSQL {pair.primary.sql('show server_version')}; {failovers} times the primary was killed with "
            f"all its processes under {PER_SECOND} writes a second, the stand-by promoted, and another one built",
            f"{len(load.acknowledged):,} writes acknowledged: {len(lost)} lost, "
            f"{sum(count > 1 for count in found.values())} doubled; selfcheck: {said}",
            f"then the stand-by got nothing for {BEHIND_SECONDS} s before it was promoted: {len(lost_behind):,} of "
            f"{len(behind.acknowledged):,} lost, and selfcheck fails with deployment.released: the database is an "
            "inactive copy until somebody decides",
        )
        assert max(found.values()) == max(later.values()) == 1
        assert len(lost) <= PER_SECOND * failovers
        assert lost_behind
        assert "deployment.released" in finding
