"""A statement that takes too long is ended at the server: who waits is told so, and nothing is half done."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import datetime
from time import monotonic

import asyncpg
import httpx
import msgspec
import pytest

from almoner import app
from almoner.kit.errors import OriginalCallInProgress
from almoner.platform.database import transactions
from almoner.platform.database.deadlines import StatementTimeout
from almoner.platform.database.transactions import Database, Tx, statement_timeout
from almoner.platform.jobs.background_tasks import JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, NewJob, Result, enqueue_jobs
from almoner.platform.jobs.runner import JobRunner
from almoner.platform.jobs.schedules import ScheduleRunner
from almoner.platform.observability.failures import CONNECTION_ERRORS
from almoner.platform.observability.telemetry import Telemetry
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.service import Service, Tenant

TINY = 0.05
ENOUGH = 2.0
"""For statements that wait for nothing, on a busy machine too."""
_PAUSE = "select pg_sleep(3600)"


@pytest.fixture
async def limited(service: Service) -> AsyncIterator[Database]:
    """One connection, whose statements have no time."""
    made = await transactions.open_database(
        service.database.dsn, service.db.deployment, pool_size=1, statement_timeout_seconds=TINY
    )
    yield made
    await made.close()


@asynccontextmanager
async def locked(database: TestDatabase, table: str) -> AsyncIterator[None]:
    """Another connection holds the table, as a migration or an administrator may."""
    owner = await asyncpg.connect(database.owner_dsn)
    try:
        async with owner.transaction():
            await owner.execute(f"lock table {table} in access exclusive mode")
            yield
    finally:
        await owner.close()


async def _backend(database: Database) -> int:
    with statement_timeout(None):
        async with database.read() as tx:
            return int(await tx.fetchval("select pg_backend_pid()"))


async def _runs(database: TestDatabase, backend: int) -> bool:
    """Whether a backend is at a statement."""
    owner = await asyncpg.connect(database.owner_dsn)
    try:
        return bool(await owner.fetchval("select state <> 'idle' from pg_stat_activity where pid = $1", backend))
    finally:
        await owner.close()


async def _by_fetch(tx: Tx) -> None:
    await tx.fetch(_PAUSE)


async def _by_execute(tx: Tx) -> None:
    await tx.execute(_PAUSE)


async def _by_row(tx: Tx) -> None:
    await tx.fetchrow(_PAUSE)


async def _by_value(tx: Tx) -> None:
    await tx.fetchval(_PAUSE)


async def _by_many(tx: Tx) -> None:
    await tx.executemany("select pg_sleep($1)", [(3600.0,)])


Way = Callable[[Tx], Awaitable[None]]


@pytest.mark.parametrize("way", [_by_fetch, _by_execute, _by_row, _by_value, _by_many])
@pytest.mark.parametrize("mode", ["read", "single", "write", "around"])
async def test_a_long_statement_is_ended_at_the_server(
    service: Service, limited: Database, mode: transactions.Mode, way: Way
) -> None:
    backend = await _backend(limited)

    async def wait() -> None:
        async with limited.open_transaction(mode) as tx:
            await way(tx)

    with pytest.raises(StatementTimeout):
        await wait()
    assert not await _runs(service.database, backend)
    assert await _backend(limited) == backend, "the same connection goes on"


@contextmanager
def standing_still(backend: int) -> Iterator[None]:
    """A backend that does nothing, as when its machine or disk hangs."""
    os.kill(backend, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(backend, signal.SIGCONT)


@pytest.mark.parametrize("mode", ["read", "single", "write", "around"])
async def test_nobody_waits_for_a_server_that_stands_still(limited: Database, mode: transactions.Mode) -> None:
    backend = await _backend(limited)

    async def ask() -> None:
        async with limited.open_transaction(mode) as tx:
            await tx.fetch("select 1")

    with standing_still(backend):
        began = monotonic()
        with pytest.raises(StatementTimeout):
            await ask()
        assert monotonic() - began < 30
    assert await _backend(limited) == backend, "the same connection goes on, without what was begun"
    await ask()


async def test_nor_for_its_commit_or_rollback(limited: Database) -> None:
    async def leave(failure: Exception | None) -> None:
        async with limited.write() as tx:
            await tx.fetch("select 1")
            stack.enter_context(standing_still(backend))
            if failure is not None:
                raise failure

    backend = await _backend(limited)
    for failure in (None, RuntimeError("refused")):
        with ExitStack() as stack:
            began = monotonic()
            with pytest.raises(StatementTimeout):
                await leave(failure)
            assert monotonic() - began < 30
        assert await _backend(limited) == backend


@pytest.mark.parametrize("cancelled_by", ["set local statement_timeout = '50ms'", "set local lock_timeout = '50ms'"])
async def test_a_limit_of_the_server_is_told_as_ours_is(service: Service, cancelled_by: str) -> None:
    """An administrator may set one on the role of the service, which a pooler keeps, too."""

    async def read() -> None:
        async with service.db.write() as tx:
            await tx.execute(cancelled_by)
            await tx.fetch("select from category")

    async with locked(service.database, "category"):
        with pytest.raises(CONNECTION_ERRORS):
            await read()


async def test_a_copy_has_its_time_too(service: Service, limited: Database) -> None:
    async def copy() -> None:
        async with limited.write() as tx:
            await tx.copy_records("job", ["kind"], [("a.copy",)])

    async with locked(service.database, "job"):
        with pytest.raises(StatementTimeout):
            await copy()


async def test_rows_of_a_copy_may_come_from_statements_of_their_own(service: Service) -> None:
    async def rows(tx: Tx) -> AsyncIterator[tuple[str]]:
        for name in ("copied.one", "copied.two"):
            yield (await tx.fetchval("select $1::text", name),)

    async def copy() -> None:
        async with service.db.write() as tx, service.db.read() as reading:
            await tx.copy_records("schedule", ["name"], rows(reading))
            assert await tx.fetchval("select count(*) from schedule where name like 'copied.%'") == 2
            raise LookupError

    with statement_timeout(5), pytest.raises(LookupError):
        await copy()


async def test_who_is_stopped_meanwhile_is_not_told_of_time(limited: Database) -> None:
    task = asyncio.create_task(pause(limited))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_was_written_before_is_undone(service: Service, limited: Database) -> None:
    async def write() -> None:
        async with limited.write() as tx:
            await tx.execute("insert into schedule (name) values ('never')")
            await tx.fetch(_PAUSE)

    with pytest.raises(StatementTimeout):
        await write()
    async with service.db.read() as tx:
        assert not await tx.fetchval("select exists (select from schedule where name = 'never')")


async def pause(database: Database) -> None:
    async with database.read() as tx:
        await tx.fetch(_PAUSE)


async def test_a_limit_holds_inside_its_block_and_commands_have_none(service: Service, limited: Database) -> None:
    with statement_timeout(None):
        async with limited.read() as tx:
            await tx.fetch("select pg_sleep(0.1)")  # longer than the connection's own limit
    unlimited = await transactions.open_database(service.database.dsn, service.db.deployment, pool_size=1)
    try:
        with statement_timeout(TINY), pytest.raises(StatementTimeout):
            await pause(unlimited)
        async with unlimited.read() as tx:
            await tx.fetch("select pg_sleep(0.1)")
    finally:
        await unlimited.close()


def _counted(telemetry: Telemetry, work: str) -> float:
    return telemetry.registry.get_sample_value("almoner_statement_timeouts_total", {"work": work}) or 0.0


async def test_a_request_is_told_to_come_again_and_nothing_is_half_done(service: Service, tenant: Tenant) -> None:
    services, route = service.services, "POST /v1/categories"
    hurried = Client(
        app.create_app(services, b"{}", statement_timeout=ENOUGH),
        services.db.deployment.base_urls.api,
        tenant.secret,
    )
    before = _counted(services.telemetry, route)
    headers = {"Idempotency-Key": "a-category-that-waits"}
    async with locked(service.database, "category"):
        answer = await hurried.post("/v1/categories", {"name": "Slow"}, headers=headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["error"]["code"] == "service_unavailable"
    (line,) = [
        one for one in map(msgspec.json.decode, service.lines) if one.get("requestId") == answer.headers["request-id"]
    ]
    assert (line["route"], line["status"], line["failure"]) == (route, 503, "StatementTimeout")
    assert _counted(services.telemetry, route) == before + 1
    patient = service.client(tenant.secret)
    assert (await patient.get("/v1/categories")).json()["data"] == []

    async def retry() -> httpx.Response:
        answer = await patient.post("/v1/categories", {"name": "Slow"}, headers=headers)
        assert OriginalCallInProgress.code not in answer.text, "the server is still ending the cancelled statement"
        return answer

    again = await eventually(retry)
    assert (again.status_code, again.headers.get("idempotent-replayed")) == (200, None)
    await hurried.close()
    await patient.close()


async def test_a_page_is_told_to_come_again(service: Service, tenant: Tenant) -> None:
    services = service.services
    hurried = Client(
        app.create_app(services, b"{}", statement_timeout=ENOUGH), services.db.deployment.base_urls.api, None
    )
    async with locked(service.database, "partner"):
        answer = await hurried.get(
            f"/account/{services.db.deployment.ids.encode('partner', tenant.partner.id)}/sign-in"
        )
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert "text/html" in answer.headers["content-type"]
    await hurried.close()


async def test_a_sweep_that_takes_too_long_lets_the_others_have_their_turn(service: Service) -> None:
    telemetry = Telemetry(lambda _line: None)
    turns: list[datetime] = []

    async def due(tx: Tx) -> datetime | None:
        return tx.now

    async def slow(tx: Tx) -> int:
        await tx.execute("set local statement_timeout = '50ms'")
        await tx.fetch(_PAUSE)
        return 1

    async def quick(tx: Tx) -> int:
        turns.append(tx.now)
        return 2 - len(turns)  # one, and then nothing is left

    schedules = [Schedule("tests.slow", due, slow), Schedule("tests.quick", due, quick)]
    assert await ScheduleRunner(service.db, schedules, telemetry).run_due_jobs() == 1
    assert _counted(telemetry, "tests.slow") == 1


async def test_a_job_is_failed_and_counted(alone: Service) -> None:
    """And tried again later, as any that fails: here by what the server itself ends."""
    telemetry = Telemetry(lambda _line: None)

    async def slow(context: JobContext, _job: Job) -> Result:
        async with context.db.write() as tx:
            await tx.execute("set local statement_timeout = '50ms'")
            await tx.fetch(_PAUSE)
        return JobDone()

    runner = JobRunner(JobContext(alone.db), {"tests.slow": slow}, telemetry)
    async with alone.db.write() as tx:
        await enqueue_jobs(tx, [NewJob("tests.slow", {})])
    await runner.record_results_and_start_jobs()
    await runner.wait_until_idle()
    assert _counted(telemetry, "tests.slow") == 1
    async with alone.db.read() as tx:
        assert await tx.fetchval("select attempt from job where kind = 'tests.slow'") == 1
