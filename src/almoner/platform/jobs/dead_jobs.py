"""Jobs that gave up, for operators: why, and decisions about them; and the waiting jobs by kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.queue import WAKEUP

MAX_AT_ONCE: Final = 1000
"""How many jobs of one kind are retried by one decision."""

_COLUMNS: Final = "id, kind, payload, lane, created_at, due_at, attempt, failures, last_error, dead_at"
_FIRST: Final = 2**63 - 1


class NoSuchDeadJob(LookupError):
    """There is no such dead job, or it was already retried or dropped."""


@dataclass(frozen=True, slots=True)
class DeadJob:
    """A job that gave up. ``attempts``: how often it was started; ``failures``: consecutive failures."""

    id: int
    kind: str
    payload: Mapping[str, Any]
    lane: str | None
    created_at: datetime
    due_at: datetime
    attempts: int
    failures: int
    last_error: str | None
    dead_at: datetime


@dataclass(frozen=True, slots=True)
class JobKindStatus:
    """The waiting jobs of one kind. ``retrying``: due jobs that have failed; ``error``: one of their errors."""

    kind: str
    due: int
    running: int
    retrying: int
    later: int
    dead: int
    oldest_due_at: datetime | None
    error: str | None


async def list_job_kind_statuses(tx: Tx) -> list[JobKindStatus]:
    """The jobs in the queue by kind, longest waiting first."""
    rows = await tx.fetch(
        """
        select kind,
               count(*) filter (where dead_at is null and leased_until is null and due_at <= $1) as due,
               count(*) filter (where leased_until is not null) as running,
               count(*) filter (where dead_at is null and last_error is not null) as retrying,
               count(*) filter (where dead_at is null and leased_until is null and due_at > $1) as later,
               count(*) filter (where dead_at is not null) as dead,
               min(due_at) filter (where dead_at is null and leased_until is null and due_at <= $1) as oldest_due_at,
               max(last_error) filter (where dead_at is null) as error
        from job group by kind order by oldest_due_at nulls last, kind
        """,
        tx.now,
    )
    return [JobKindStatus(**row) for row in rows]


async def load_oldest_due_times_by_kind(tx: Tx) -> Mapping[str, datetime]:
    """Since when the oldest due job of each kind has waited.

    Jobs in a busy or paused lane wait for an outside system, such as a slow receiver, not for a worker.
    """
    rows = await tx.fetch(
        """
        select kind, min(due_at) as due_at from (
            select kind, due_at from job
            where lane is null and leased_until is null and dead_at is null and due_at <= $1
            union all
            select first.kind, first.due_at from queue_lane l cross join lateral (
                select kind, due_at from job
                where lane = l.lane and ready and leased_until is null and dead_at is null
                order by due_at, id limit 1
            ) first
            where (l.paused_until is null or l.paused_until <= $1) and first.due_at <= $1
              and not exists (select from job busy where busy.lane = l.lane and busy.leased_until > $2)
        ) waiting group by kind
        """,
        tx.now,
        tx.real_now,
    )
    return {row["kind"]: row["due_at"] for row in rows}


@dataclass(frozen=True, slots=True)
class LaneBacklog:
    """The number of waiting jobs in a lane, and since when the first has waited."""

    waiting_job_count: int
    oldest_job_created_at: datetime


async def load_backlogs_by_lane(tx: Tx, lanes: Sequence[str]) -> Mapping[str, LaneBacklog]:
    """Count the waiting jobs in these lanes; empty lanes are left out."""
    rows = await tx.fetch(
        """
        select lane, count(*) as waiting, min(created_at) as oldest_at from job
        where lane = any($1::text[]) and dead_at is null group by lane
        """,
        lanes,
    )
    return {row["lane"]: LaneBacklog(row["waiting"], row["oldest_at"]) for row in rows}


async def list_dead_jobs(tx: Tx, kind: str | None, before_id: int | None, limit: int) -> list[DeadJob]:
    """Jobs that gave up, newest first; ``before_id``: the last ID seen."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from job where dead_at is not null and id < $1 and ($2::text is null or kind = $2)
        order by id desc limit $3
        """,
        before_id or _FIRST,
        kind,
        limit,
    )
    return [DeadJob(*row) for row in rows]


async def count_dead_jobs_by_kind(tx: Tx) -> Mapping[str, int]:
    """Count dead jobs, by kind."""
    rows = await tx.fetch("select kind, count(*) as n from job where dead_at is not null group by kind order by kind")
    return {row["kind"]: row["n"] for row in rows}


async def get_dead_job(tx: Tx, job_id: int) -> DeadJob:
    """Find a dead job. Raises NoSuchDeadJob."""
    row = await tx.fetchrow(f"select {_COLUMNS} from job where id = $1 and dead_at is not null", job_id)
    if row is None:
        raise NoSuchDeadJob
    return DeadJob(*row)


_RETRY: Final = """
update job
set dead_at = null, leased_until = null, attempt = 1, failures = 0, due_at = least(due_at, $2), ready = true
"""


async def retry_dead_job_returning_kind(tx: Tx, job_id: int) -> str:
    """Retry a dead job, which is safe to repeat; returns its kind. Raises NoSuchDeadJob."""
    kind: str | None = await tx.fetchval(
        f"{_RETRY} where id = $1 and dead_at is not null returning kind", job_id, tx.now
    )
    if kind is None:
        raise NoSuchDeadJob
    tx.add_commit_callback(WAKEUP.notify)
    return kind


async def retry_dead_jobs(tx: Tx, kind: str) -> int:
    """Retry up to ``MAX_AT_ONCE`` dead jobs of one kind, oldest first; returns how many."""
    rows = await tx.fetch(
        f"""
        with chosen as materialized (
            select id from job where dead_at is not null and kind = $1 order by id limit {MAX_AT_ONCE} for update
        )
        {_RETRY} from chosen where job.id = chosen.id returning job.id
        """,
        kind,
        tx.now,
    )
    tx.add_commit_callback(WAKEUP.notify)
    return len(rows)


async def delete_dead_job_returning_kind(tx: Tx, job_id: int) -> str:
    """Delete a dead job and return its kind. Raises NoSuchDeadJob."""
    kind: str | None = await tx.fetchval("delete from job where id = $1 and dead_at is not null returning kind", job_id)
    if kind is None:
        raise NoSuchDeadJob
    return kind
