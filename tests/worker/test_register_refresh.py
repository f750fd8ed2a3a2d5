"""Registers that refresh themselves: fetched when due, loaded when changed; what goes wrong is told and tried again."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import asyncpg
import msgspec
from asyncpg import Record

from almoner.access.operators import service as operators
from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.nonprofits.registers import checks as registers_checks
from almoner.nonprofits.registers import jobs as registers_jobs
from almoner.nonprofits.registers import service as registers
from almoner.nonprofits.registers import store_refresh as registers_store_refresh
from almoner.nonprofits.registers.ports import RegisterSource, SourceFile, SourceRow
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.refresh_schedule import ScheduledRefresh
from almoner.platform.jobs.runner import JobRunner
from almoner.platform.observability import selfcheck
from almoner.platform.outbound import fetching
from tests.support.bmf import bodies, write
from tests.support.database import TestDatabase
from tests.support.publisher import Publisher
from tests.support.receivers import Receiver, receiver, reply
from tests.support.service import Service, serving
from tests.support.terminal import BY

DAY = timedelta(hours=24)


def published(folder: Path, rows: int, etag: str) -> Publisher:
    return Publisher(write(folder / "file.csv", bodies(rows)).read_bytes(), f'"{etag}"')


@asynccontextmanager
async def refreshing(database: TestDatabase, folder: Path, server: Receiver | None) -> AsyncIterator[Service]:
    """The service with a schedule that asks the server every day; without a schedule when there is no server."""
    schedule = folder / "registers.toml"
    if server is not None:
        schedule.write_text(f'[irs-bmf]\nevery_hours = 24\nurls = ["http://127.0.0.1:{server.port}/eo_wy.csv"]\n')
    named = schedule if server is not None else None
    async with serving(database, data_dir=folder / "var", register_schedule=named) as service:
        yield service


async def look(service: Service, sql: str) -> Record | None:
    async with service.db.read() as tx:
        return await tx.fetchrow(sql)


async def stand(service: Service) -> tuple[object, ...]:
    """(status, failures, loads so far)"""
    row = await look(
        service,
        "select status, failures, (select count(*) from register_load) as loads from register_refresh",
    )
    return tuple(row) if row else ()


async def found(service: Service) -> set[str]:
    """What the self-check finds."""
    outcome = await selfcheck.run_selfcheck(service.db, registers_checks.checks)
    return {finding.check.name for finding in outcome.findings}


async def test_administrators_are_mailed_that_a_register_was_not_replaced(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with (
        receiver(published(tmp_path, 200, "v1")) as server,
        refreshing(empty_database, tmp_path, server) as services,
    ):
        async with services.db.write() as tx:
            await operators.add_operator(tx, BY, "olive@example.org", "Olive", ["administrator"])
            await operators.add_operator(tx, BY, "rita@example.org", "Rita", ["reviewer"])
        await services.drain()
        server.otherwise = published(tmp_path, 20, "v2")
        for _ in range(2):  # the second time nothing has changed, and nothing is said
            services.clock.advance(DAY)
            await services.drain()
        async with services.db.read() as tx:
            mails = await tx.fetch(
                "select recipient, text from sandbox_mail where subject like 'Register update failed%'"
            )
        assert [mail["recipient"] for mail in mails] == ["olive@example.org"]
        assert "Files from irs-bmf appear to be corrupted" in mails[0]["text"]
        assert "Why: " in mails[0]["text"]


async def test_a_register_follows_its_publisher(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with (
        receiver(published(tmp_path, 200, "v1")) as server,
        refreshing(empty_database, tmp_path, server) as services,
    ):
        await services.drain()
        assert await stand(services) == ("loaded", 0, 1)
        reported = await look(
            services, "select url, name, etag, last_modified::date::text as day, size_bytes from register_fetch"
        )
        assert reported is not None
        assert tuple(reported)[1:4] == ("eo_wy.csv", '"v1"', "2026-04-13")
        day = await look(services, "select data_as_of::date::text from register_load")
        assert day is not None
        assert day[0] == "2026-04-13", "the publisher's date is the day of the data"

        await services.drain()
        assert len(server.received) == 1, "it is not due"

        services.clock.advance(DAY)
        await services.drain()
        assert await stand(services) == ("unchanged", 0, 1)

        server.otherwise = published(tmp_path, 210, "v2")
        services.clock.advance(DAY)
        await services.drain()
        assert await stand(services) == ("loaded", 0, 2)
        assert await found(services) == set()

        server.otherwise = published(tmp_path, 20, "v3")
        for _ in range(2):  # the second time nothing has changed: it stays aside
            services.clock.advance(DAY)
            await services.drain()
            assert await stand(services) == ("quarantined", 0, 3)
        assert await found(services) == {"registers.no_quarantined_imports"}
        bodies_left = await look(services, "select count(*) from organisation where active")
        assert bodies_left is not None
        assert bodies_left[0] == 210

        async with services.db.read() as tx:
            trail = await tx.fetch(
                "select action from audit_entry where actor_id = 'registers.refresh' order by position"
            )
        assert [row["action"] for row in trail] == ["register.imported"] * 2 + ["register.quarantined"]

        async with services.db.read() as tx:
            await registers.collect_metrics(tx, services.services.telemetry)
        metrics = services.services.telemetry.render_metrics().decode()
        assert 'almoner_register_loads_total{source="irs-bmf",status="quarantined"} 1.0' in metrics
        assert 'almoner_register_data_age_seconds{source="irs-bmf"}' in metrics
        lines = [line for line in map(msgspec.json.decode, services.lines) if line["event"] == "register_refresh"]
        assert [line["status"] for line in lines] == ["loaded", "unchanged", "loaded", "quarantined", "quarantined"]
        assert lines[-1]["level"] == "error"


async def test_a_publisher_in_trouble_is_asked_again_ever_later(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with receiver(reply(503)) as server, refreshing(empty_database, tmp_path, server) as services:
        await services.drain()
        assert await stand(services) == ("failed", 1, 0)
        services.clock.advance(timedelta(minutes=4))
        await services.drain()
        assert await stand(services) == ("failed", 1, 0)
        for failures, minutes in ((2, 1), (3, 10)):
            services.clock.advance(timedelta(minutes=minutes))
            await services.drain()
            assert await stand(services) == ("failed", failures, 0)
        assert await found(services) == {"registers.refreshed"}
        reason = await look(services, "select reason from register_refresh")
        assert reason is not None
        assert "status 503" in reason[0]

        server.otherwise = reply(200, b"<html>Down for maintenance</html>")
        services.clock.advance(timedelta(minutes=20))
        await services.drain()
        assert await stand(services) == ("failed", 4, 0)

        server.otherwise = published(tmp_path, 200, "v1")
        services.clock.advance(timedelta(minutes=40))
        await services.drain()
        assert await stand(services) == ("loaded", 0, 1)
        assert await found(services) == set()


async def test_nothing_is_fetched_unless_a_schedule_says_so(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with receiver(published(tmp_path, 200, "v1")) as server:
        async with refreshing(empty_database, tmp_path, server) as services:
            await services.drain()
            assert await stand(services) == ("loaded", 0, 1)
        async with refreshing(empty_database, tmp_path, None) as services:
            services.clock.advance(DAY)
            await services.drain()
            assert await stand(services) == ()
        assert len(server.received) == 1


async def test_files_that_came_and_were_not_loaded_are_loaded(empty_database: TestDatabase, tmp_path: Path) -> None:
    """A worker was killed after it had fetched: for the publisher nothing is new, for the register it is."""
    async with (
        receiver(published(tmp_path, 200, "v1")) as server,
        refreshing(empty_database, tmp_path, server) as services,
    ):
        await services.drain()
        server.otherwise = published(tmp_path, 210, "v2")
        url = f"http://127.0.0.1:{server.port}/eo_wy.csv"
        folder = services.services.settings.registers_folder / "irs-bmf"
        got = await fetching.fetch_file(services.services.outbound, folder, url, services.db.deployment.clock.real_now)
        assert got.changed
        services.clock.advance(DAY)
        await services.drain()
        assert await stand(services) == ("loaded", 0, 2)


async def test_a_job_that_takes_too_long_goes_on_where_it_was(empty_database: TestDatabase, tmp_path: Path) -> None:
    """Its limit is its own; what was read before it was ended, by that or with its worker, is not read again."""
    read: list[str] = []

    class Watched(IrsBmfReader):
        def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
            read.extend(file.name for file in files)
            return super().read(files)

    async with receiver(published(tmp_path, 200, "v1")) as server, serving(empty_database) as services:
        watched: RegisterSource = Watched()
        plan = (ScheduledRefresh(watched, DAY, (f"http://127.0.0.1:{server.port}/eo_wy.csv",)),)
        parts = registers_jobs.RegisterRefreshContext(
            plan, services.services.outbound, tmp_path / "kept", services.services.telemetry
        )
        async with services.db.write() as tx:
            await registers_store_refresh.store_refresh_schedule(tx, plan)
            await registers_jobs.REFRESH.enqueue(tx, registers_jobs.RefreshSourceJob("irs-bmf"), lane="registers")

        def worker(limit: timedelta) -> JobRunner:
            return JobRunner(
                JobContext(services.db),
                registers_jobs.refresh_tasks.bind(parts).handlers,
                services.services.telemetry,
                limits={registers_jobs.REFRESH.name: limit},
            )

        other_merge = await asyncpg.connect(empty_database.owner_dsn)
        async with other_merge.transaction():
            await other_merge.execute("select from registry where code = 'IRS' for no key update")
            slow = worker(timedelta(seconds=10))
            await slow.record_results_and_start_jobs()
            await slow.wait_until_idle()
        await other_merge.close()
        assert await stand(services) == (None, 0, 0)
        assert read == ["eo_wy.csv"]
        services.clock.advance(timedelta(minutes=1))
        other = worker(registers_jobs.LIMIT)
        await other.record_results_and_start_jobs()
        await other.wait_until_idle()
        assert await stand(services) == ("loaded", 0, 1)
        assert read == ["eo_wy.csv"]


async def test_old_data_is_found(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with receiver(published(tmp_path, 200, "v1")) as server:
        schedule = tmp_path / "registers.toml"
        schedule.write_text(f'[irs-bmf]\nevery_hours = 24\nurls = ["http://127.0.0.1:{server.port}/eo_wy.csv"]\n')
        async with serving(
            empty_database, data_dir=tmp_path / "var", register_schedule=schedule, register_max_age=3000
        ) as services:
            await services.drain()
            await services.drain()
            assert await found(services) == set()
            services.clock.advance(timedelta(days=3650))
            assert await found(services) == {"registers.current"}


def test_fetching_ends_before_its_job_is_given_up() -> None:
    assert registers_jobs.LIMIT.total_seconds() / 2 > registers_jobs._FETCHING_SECONDS
