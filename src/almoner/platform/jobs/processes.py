"""Heartbeats of the deployment's processes, with the business clock version they use."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID, uuid4

from almoner import __version__
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.deployment_checks import CheckResult
from almoner.platform.observability.failures import DATABASE_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import Telemetry

Role = Literal["server", "worker", "server and worker"]

_DEAD_AFTER: Final = timedelta(seconds=3)
"""How long after its last heartbeat a process counts as dead (real time)."""

_BEAT_SECONDS: Final = 1.0
_FORGET: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RegisteredProcess:
    """A process with a recent heartbeat. ``checks``: its external checks at ``checked_at``."""

    role: Role
    version: str
    started_at: datetime
    last_seen_at: datetime
    checks: Sequence[CheckResult]
    checked_at: datetime | None

    def is_alive(self, real_now: datetime) -> bool:
        """Whether its last heartbeat is recent."""
        return self.last_seen_at > real_now - _DEAD_AFTER


class Heartbeat:
    """This process's heartbeat.

    ``on_live`` receives the number of live servers each second. ``checks``: this process's last results of external
    checks; a new list is stored.
    """

    def __init__(
        self,
        db: Database,
        role: Role,
        telemetry: Telemetry,
        on_live: Callable[[int], None],
        checks: Callable[[], Sequence[CheckResult]] = list,
    ) -> None:
        self.id: UUID = uuid4()
        self.clock_version = 0
        self._db = db
        self._role = role
        self._telemetry = telemetry
        self._on_live = on_live
        self._checks = checks
        self._recorded: Sequence[CheckResult] = ()
        self._forgot: datetime | None = None

    async def record_heartbeat(self) -> None:
        """Record that this process is alive; delete dead processes once a minute."""
        async with self._db.single_statement() as tx:
            servers = await _beat(tx, self.id, self._role, self.clock_version)
        self._on_live(servers)
        if (checks := self._checks()) and checks is not self._recorded:
            async with self._db.single_statement() as tx:
                await _record_checks(tx, self.id, checks)
            self._recorded = checks
        real_now = self._db.deployment.clock.real_now()
        if self._forgot is None or real_now - self._forgot >= _FORGET:
            async with self._db.single_statement() as tx:
                await _delete_silent(tx)
            self._forgot = real_now

    async def run(self, stop: asyncio.Event) -> None:
        """Beat until ``stop`` is set, then deregister."""
        while not stop.is_set():
            try:
                await self.record_heartbeat()
            except DATABASE_ERRORS as error:
                self._telemetry.log(
                    "heartbeat_waits", self._db.deployment.clock.real_now(), **failure_log_fields(error)
                )
            await wait_until_set(stop, _BEAT_SECONDS)
        try:
            await self.deregister()
        except DATABASE_ERRORS as error:
            self._telemetry.log("heartbeat_waits", self._db.deployment.clock.real_now(), **failure_log_fields(error))

    async def deregister(self) -> None:
        """Record that this process has ended."""
        async with self._db.write() as tx:
            await tx.execute("delete from process where id = $1", self.id)


async def _beat(tx: Tx, process: UUID, role: Role, clock_version: int) -> int:
    """Write a heartbeat; returns the number of live processes that answer requests, this one included."""
    servers = await tx.fetchval(
        """
        with mine as (
            insert into process (id, role, version, started_at, last_seen_at, clock_version)
            values ($1, $2, $6, $3, $3, $4)
            on conflict (id) do update set last_seen_at = excluded.last_seen_at, clock_version = excluded.clock_version
            returning role
        )
        select (select count(*) from mine where role <> 'worker')
             + (select count(*) from process where id <> $1 and last_seen_at > $5 and role <> 'worker')
        """,
        process,
        role,
        tx.real_now,
        clock_version,
        tx.real_now - _DEAD_AFTER,
        __version__,
    )
    return int(servers)


async def _record_checks(tx: Tx, process: UUID, checks: Sequence[CheckResult]) -> None:
    """Store the process's last check results."""
    await tx.execute(
        "update process set checks = $2, checked_at = $3 where id = $1",
        process,
        [asdict(one) for one in checks],
        tx.real_now,
    )


async def list_processes(tx: Tx) -> list[RegisteredProcess]:
    """Processes with a heartbeat within the last minute, longest running first."""
    rows = await tx.fetch(
        """
        select role, version, started_at, last_seen_at, coalesce(checks, '[]') as checks, checked_at from process
        where last_seen_at > $1 order by started_at, id
        """,
        tx.real_now - _FORGET,
    )
    return [
        RegisteredProcess(
            row["role"],
            row["version"],
            row["started_at"],
            row["last_seen_at"],
            [_check_result(one) for one in row["checks"]],
            row["checked_at"],
        )
        for row in rows
    ]


def _check_result(stored: Mapping[str, Any]) -> CheckResult:
    """A stored result, without fields that only a newer version knows."""
    return CheckResult(**{field.name: stored[field.name] for field in fields(CheckResult) if field.name in stored})


async def _delete_silent(tx: Tx) -> None:
    """Delete processes without a heartbeat for a minute, except rows that a late heartbeat is updating."""
    await tx.execute(
        """
        delete from process
        where id in (select id from process where last_seen_at < $1 order by id for update skip locked)
        """,
        tx.real_now - _FORGET,
    )


async def count_processes_behind_clock_version(tx: Tx, clock_version: int) -> int:
    """How many live processes have not applied this version of the business clock."""
    count = await tx.fetchval(
        "select count(*) from process where last_seen_at > $1 and clock_version < $2",
        tx.real_now - _DEAD_AFTER,
        clock_version,
    )
    return int(count)
