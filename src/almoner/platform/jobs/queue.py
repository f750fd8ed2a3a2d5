"""The job queue: jobs are enqueued in the caller's transaction, due by business time, leased by real time.

A job is claimed for a lease, run by the handler of its kind, and finished by (id, attempt): a worker whose lease
expired and whose job another worker took finishes nothing (architecture 5). Handlers are safe to run twice.

A job with a ``lane`` shares its limit with the other jobs of that lane, however many workers there are: a claim locks
the lane's row, counts the live leases and takes no more than the limit allows. So a receiver that does not answer
takes up only its own lane. A lane may have a higher limit while no other lane has work, and none of its jobs starts
while it is paused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from asyncpg import Record

from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.wakeup import Wakeup

T = TypeVar("T")

LEASE: Final = timedelta(seconds=60)
MAX_FAILURES: Final = 20
"""The maximum number of consecutive failures: the handler raises or the worker dies.

A handler that returns JobRetry, because a dependency is unavailable, resets the count and decides itself when to give
up.
"""

WAKEUP: Final = Wakeup()
"""Notified after a commit that enqueued due work."""

_PROMOTED: Final = 1000
_LANES: Final = 128
_RESCUED: Final = 500


@dataclass(frozen=True, slots=True)
class Job:
    """A job that this worker has claimed.

    ``attempt`` is 1 the first time; ``failures``: how often in a row it failed before.
    """

    id: int
    kind: str
    payload: Mapping[str, Any]
    attempt: int
    failures: int
    due_at: datetime
    lane: str | None


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to enqueue. ``lane``: a group of jobs with a shared limit of concurrent ones.

    ``due_at``: business time, None for now. ``unique_key``: the job is skipped if one of the kind with this key has not
    started yet.
    """

    kind: str
    payload: object
    due_at: datetime | None = None
    lane: str | None = None
    unique_key: str | None = None


class NoDetails(msgspec.Struct, frozen=True):
    """The details of jobs that need none."""


@dataclass(frozen=True, slots=True)
class DecodedJob(Job, Generic[T]):
    """A job as the handler of its kind gets it: ``details`` is the payload, decoded."""

    details: T


@dataclass(frozen=True, slots=True)
class JobKind(Generic[T]):
    """A kind of job, declared by the service that enqueues it: ``SEND = JobKind("refunds.send", SendRefundJob)``.

    ``details``: the payload's type, whose members are stored by name: add none without a default, since jobs of the
    previous version may still wait. The handler names the kind (``@tasks.job(service.SEND)``).
    """

    name: str
    details: type[T]

    def build_job(
        self, details: T, *, due_at: datetime | None = None, lane: str | None = None, unique_key: str | None = None
    ) -> NewJob:
        """A job to enqueue together with others (``enqueue_jobs``)."""
        return NewJob(self.name, details, due_at, lane, unique_key)

    async def enqueue(
        self,
        tx: Tx,
        details: T,
        *,
        due_at: datetime | None = None,
        lane: str | None = None,
        unique_key: str | None = None,
    ) -> None:
        """Enqueue a job in the caller's transaction."""
        await enqueue_jobs(tx, [self.build_job(details, due_at=due_at, lane=lane, unique_key=unique_key)])

    def decode(self, job: Job) -> DecodedJob[T]:
        """Decode the payload for the handler."""
        return DecodedJob(
            job.id,
            job.kind,
            job.payload,
            job.attempt,
            job.failures,
            job.due_at,
            job.lane,
            msgspec.convert(job.payload, self.details),
        )


@dataclass(frozen=True, slots=True)
class JobDone:
    """The job is done and is deleted."""


@dataclass(frozen=True, slots=True)
class JobRetry:
    """Run the job again ``after`` that much business time, for this ``reason``."""

    after: timedelta
    reason: str


@dataclass(frozen=True, slots=True)
class JobDropped:
    """The job can never succeed: it is kept as dead, with the reason, for an operator."""

    reason: str


Result = JobDone | JobRetry | JobDropped
"""The outcome of a job."""


@dataclass(frozen=True, slots=True)
class JobResultRecorded:
    """The handler recorded ``result`` itself, in its own transaction."""

    result: Result


Answer = Result | JobResultRecorded
"""The result of a handler."""


@dataclass(frozen=True, slots=True)
class JobFailed:
    """The handler raised: the job is retried, and dead after ``MAX_FAILURES`` failures in a row."""

    reason: str


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """A job with its result."""

    job: Job
    result: Result | JobFailed


async def enqueue_job(
    tx: Tx,
    kind: str,
    payload: Mapping[str, object],
    *,
    due_at: datetime | None = None,
    lane: str | None = None,
    unique_key: str | None = None,
) -> None:
    """Enqueue one job in the caller's transaction; see ``NewJob``."""
    await enqueue_jobs(tx, [NewJob(kind, payload, due_at, lane, unique_key)])


_ENQUEUE: Final = """
with given as (
    select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[])
    as g (kind, payload, due_at, lane, unique_key)
), lanes as (
    insert into queue_lane (lane) select distinct lane from given where lane is not null order by lane
    on conflict do nothing
)
insert into job (kind, payload, due_at, lane, unique_key, ready, created_at)
select kind, payload::jsonb, due_at, lane, unique_key, due_at <= $6, $6 from given
on conflict (kind, unique_key) where unique_key is not null and attempt = 0 do nothing
"""


async def enqueue_jobs(tx: Tx, jobs: Sequence[NewJob]) -> None:
    """Enqueue many jobs with one statement."""
    if not jobs:
        return
    await tx.execute(
        _ENQUEUE,
        [job.kind for job in jobs],
        [msgspec.json.encode(job.payload).decode() for job in jobs],
        [job.due_at or tx.now for job in jobs],
        [job.lane for job in jobs],
        [job.unique_key for job in jobs],
        tx.now,
    )
    tx.add_commit_callback(WAKEUP.notify)


_TAKE: Final = """
update job set attempt = job.attempt + 1, leased_until = $2 from due where job.id = due.id
returning job.id, job.kind, job.payload, job.attempt, job.failures, job.due_at, job.lane
"""

BY_INDEX: Final = "set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan"
"""For transactions that claim or number.

The planner's statistics of a queue are always out of date: empty a moment ago, it has ten thousand rows now. And
planning again for each number of rows takes longer than finding them.
"""

_READY_LANES: Final = """
    (
        select lane from job
        where lane > {after} and ready and leased_until is null and dead_at is null order by lane limit 1
    )
    union all
    select (
        select j.lane from job j
        where j.lane > l.lane and j.ready and j.leased_until is null and j.dead_at is null order by j.lane limit 1
    ) from lanes l where l.lane is not null
"""

FIND_AVAILABILITY: Final = f"""
with recursive lanes (lane) as ({_READY_LANES.format(after="''")})
select exists (select from job where lane is null and leased_until is null and dead_at is null and due_at <= $1)
           as has_due_jobs_without_lane,
       exists (
           select from lanes join queue_lane q on q.lane = lanes.lane
           cross join lateral (select count(*) as n from job where lane = q.lane and leased_until > $2) running
           where running.n < coalesce(q.burst_cap, q.cap) and (q.paused_until is null or q.paused_until <= $1)
       ) as has_lanes_with_room,
       exists (
           select from job
           where lane is not null and not ready and leased_until is null and dead_at is null and due_at <= $1
       ) as has_due_lane_jobs
"""

CLAIM: Final = f"""
with due as materialized (
    select id from job where lane is null and leased_until is null and dead_at is null and due_at <= $1
    order by due_at, id limit $3 for update skip locked
) {_TAKE}
"""

PROMOTE: Final = """
with due as materialized (
    select id from job
    where lane is not null and not ready and leased_until is null and dead_at is null and due_at <= $1
    order by due_at, id limit $2 for update skip locked
) update job set ready = true from due where job.id = due.id
"""

ROOM: Final = f"""
with recursive lanes (lane) as ({_READY_LANES.format(after="$1")}), roomy as (
    select q.lane, running.n from lanes join queue_lane q on q.lane = lanes.lane
    cross join lateral (select count(*) as n from job where lane = q.lane and leased_until > $2) running
    where running.n < coalesce(q.burst_cap, q.cap) and (q.paused_until is null or q.paused_until <= $3)
    limit {_LANES}
)
select q.lane, cap, coalesce(burst_cap, cap) as burst_cap, roomy.n::integer as running
from queue_lane q join roomy on roomy.lane = q.lane order by q.lane for no key update of q skip locked
"""
"""Lanes after $1 with due work and free slots, locked. The slots are counted again under the lock."""

CLAIM_LANES: Final = f"""
with room as materialized (
    select l.lane, l.cap - (select count(*) from job j where j.lane = l.lane and j.leased_until > $1) as places
    from unnest($4::text[], $5::int[]) as l (lane, cap)
), due as materialized (
    select taken.id from room cross join lateral (
        select id, attempt from job where lane = room.lane and ready and leased_until is null and dead_at is null
        order by due_at, id limit greatest(room.places, 0) for update skip locked
    ) taken order by taken.attempt > 0 limit $3
) {_TAKE}
"""


@dataclass(frozen=True, slots=True)
class QueueAvailability:
    """What workers can do now. ``has_due_lane_jobs``: jobs of lanes that are due, but not marked as ready yet."""

    has_due_jobs_without_lane: bool
    has_lanes_with_room: bool
    has_due_lane_jobs: bool


async def load_queue_availability(tx: Tx) -> QueueAvailability:
    """Find the jobs that can be claimed now, without locking."""
    row = await tx.fetchrow(FIND_AVAILABILITY, tx.now, tx.real_now)
    assert row is not None
    return QueueAvailability(**row)


async def claim_jobs(tx: Tx, limit: int) -> list[Job]:
    """Claim up to ``limit`` due jobs that have no lane."""
    rows = await tx.fetch(CLAIM, tx.now, tx.real_now + LEASE, limit)
    return [Job(*row) for row in rows]


async def mark_due_lane_jobs_ready(tx: Tx) -> None:
    """Mark the due jobs of lanes as ready."""
    await tx.execute(PROMOTE, tx.now, _PROMOTED)


class ClaimedLaneJobs(NamedTuple):
    """Claimed jobs, and the lane to continue after; empty: start with the first lane."""

    jobs: list[Job]
    continue_after_lane: str


async def claim_lane_jobs(tx: Tx, after_lane: str, limit: int) -> ClaimedLaneJobs:
    """Claim up to ``limit`` ready jobs of lanes, round robin."""
    lanes = await tx.fetch(ROOM, after_lane, tx.real_now, tx.now)
    if not lanes:
        return ClaimedLaneJobs([], "")
    # A separate statement: it must see the leases that were committed while the lanes were locked.
    rows = await tx.fetch(
        CLAIM_LANES,
        tx.real_now,
        tx.real_now + LEASE,
        limit,
        [lane["lane"] for lane in lanes],
        _lane_places(lanes, limit),
    )
    return ClaimedLaneJobs([Job(*row) for row in rows], lanes[-1]["lane"] if len(lanes) == _LANES else "")


def _lane_places(lanes: Sequence[Record], limit: int) -> list[int]:
    """How many jobs of each lane may run: an equal share of the limit, and of what other lanes leave unused."""
    bursting = sum(lane["burst_cap"] > lane["cap"] for lane in lanes)
    spare = limit - sum(max(lane["cap"] - lane["running"], 0) for lane in lanes)
    more = -(-max(spare, 0) // bursting) if bursting else 0
    return [min(max(lane["cap"], lane["running"]) + more, max(lane["burst_cap"], lane["cap"])) for lane in lanes]


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """How many jobs of a lane may run at once, and until when it is paused."""

    lane: str
    max_running_jobs: int
    max_running_jobs_in_burst: int
    paused_until: datetime | None


async def set_lane_limits(tx: Tx, limits: Sequence[LaneLimits]) -> None:
    """Set the limits of lanes from the next claim on."""
    ordered = sorted(limits, key=lambda limit: limit.lane)
    await tx.execute(
        """
        insert into queue_lane (lane, cap, burst_cap, paused_until)
        select * from unnest($1::text[], $2::int[], $3::int[], $4::timestamptz[])
        on conflict (lane) do update
        set cap = excluded.cap, burst_cap = excluded.burst_cap, paused_until = excluded.paused_until
        """,
        [limit.lane for limit in ordered],
        [limit.max_running_jobs for limit in ordered],
        [limit.max_running_jobs_in_burst for limit in ordered],
        [limit.paused_until for limit in ordered],
    )
    tx.add_commit_callback(WAKEUP.notify)


async def remove_lanes_without_jobs(tx: Tx, lanes: Sequence[str]) -> bool:
    """Delete unused lanes; False if one still has jobs and is kept."""
    await tx.execute(
        "delete from queue_lane q where lane = any($1::text[]) and not exists (select from job where lane = q.lane)",
        lanes,
    )
    return not await tx.fetchval("select exists (select from queue_lane where lane = any($1::text[]))", lanes)


async def delete_old_lane_jobs_returning_payloads(
    tx: Tx, lane: str, created_before: datetime, limit: int
) -> list[Mapping[str, Any]]:
    """Delete a lane's jobs that wait since ``created_before`` or before; returns their payloads."""
    rows = await tx.fetch(
        """
        with old as materialized (
            select id from job
            where lane = $1 and leased_until is null and dead_at is null and created_at <= $2
            limit $3 for update skip locked
        ) delete from job using old where job.id = old.id returning job.payload
        """,
        lane,
        created_before,
        limit,
    )
    return [row["payload"] for row in rows]


async def renew_leases_returning_held_job_ids(tx: Tx, jobs: Sequence[Job]) -> set[int]:
    """Extend the leases of running jobs; returns the IDs of those still held."""
    rows = await tx.fetch(
        """
        update job set leased_until = $3 from unnest($1::bigint[], $2::int[]) as ours (id, attempt)
        where job.id = ours.id and job.attempt = ours.attempt and leased_until is not null returning job.id
        """,
        [job.id for job in jobs],
        [job.attempt for job in jobs],
        tx.real_now + LEASE,
    )
    return {row["id"] for row in rows}


async def delete_dead_jobs(tx: Tx, kind: str, unique_key: str) -> None:
    """Delete the dead jobs of a unique key, because their work was done otherwise."""
    await tx.execute("delete from job where kind = $1 and unique_key = $2 and dead_at is not null", kind, unique_key)


async def release_jobs(tx: Tx, jobs: Sequence[Job]) -> None:
    """Return claimed, unfinished jobs to the queue at once."""
    await tx.execute(
        """
        update job set leased_until = null from unnest($1::bigint[], $2::int[]) as ours (id, attempt)
        where job.id = ours.id and job.attempt = ours.attempt
        """,
        [job.id for job in jobs],
        [job.attempt for job in jobs],
    )
    tx.add_commit_callback(WAKEUP.notify)


DONE: Final = """
with done as (
    delete from job using unnest($1::bigint[], $2::int[]) as f (id, attempt)
    where job.id = f.id and job.attempt = f.attempt and dead_at is null returning 1
) select count(*) from done
"""


_PUT_BACK: Final = """
with back as (
    update job set due_at = f.due_at, ready = f.due_at <= $7, leased_until = null, failures = f.failures,
        last_error = f.reason, dead_at = case when f.dead then $7 end
    from unnest($1::bigint[], $2::int[], $3::timestamptz[], $4::int[], $5::text[], $6::boolean[])
    as f (id, attempt, due_at, failures, reason, dead)
    where job.id = f.id and job.attempt = f.attempt and job.dead_at is null returning 1
) select count(*) from back
"""


async def record_job_results(tx: Tx, finished_jobs: Sequence[FinishedJob]) -> int:
    """Record the results of jobs that are still leased by this worker; returns how many."""
    done = [f.job for f in finished_jobs if isinstance(f.result, JobDone)]
    stored = 0
    if done:
        stored += await tx.fetchval(DONE, [job.id for job in done], [job.attempt for job in done])
    if len(done) < len(finished_jobs):
        back = [_requeue_values(tx.now, f.job, f.result) for f in finished_jobs if not isinstance(f.result, JobDone)]
        stored += await tx.fetchval(_PUT_BACK, *(list(column) for column in zip(*back, strict=True)), tx.now)
    return stored


def _requeue_values(now: datetime, job: Job, result: JobRetry | JobDropped | JobFailed) -> tuple[object, ...]:
    """The parameters of ``_PUT_BACK`` for one job."""
    match result:
        case JobRetry(after, reason):
            return job.id, job.attempt, now + max(after, timedelta()), 0, reason, False
        case JobDropped(reason):
            return job.id, job.attempt, job.due_at, job.failures, reason, True
        case JobFailed(reason):
            # Counted from the claim: a lease that expired meanwhile has already counted this attempt.
            failures = job.failures + 1
            return job.id, job.attempt, now + retry_delay(failures), failures, reason, failures >= MAX_FAILURES


async def release_expired_jobs(tx: Tx) -> int:
    """Return jobs whose lease expired to the queue, or mark them dead; returns how many."""
    rescued = await tx.fetchval(
        """
        with lost as materialized (
            select id from job where leased_until <= $1 order by leased_until limit $2 for update skip locked
        ), back as (
            update job set leased_until = null, last_error = 'the worker died', failures = failures + 1,
                dead_at = case when failures + 1 >= $3 then $4::timestamptz end
            from lost where job.id = lost.id returning 1
        ) select count(*) from back
        """,
        tx.real_now,
        _RESCUED,
        MAX_FAILURES,
        tx.now,
    )
    return int(rescued)


def retry_delay(failure_count: int) -> timedelta:
    """The delay before a failed job is retried: 1 s, doubled each time, up to an hour."""
    return timedelta(seconds=min(2 ** (failure_count - 1), 3600))


@dataclass(frozen=True, slots=True)
class QueueMetrics:
    """Counts of jobs: due or running, later or paused, and dead."""

    outstanding: int
    later: int
    dead: int


async def queue_metrics(tx: Tx) -> QueueMetrics:
    """Count the jobs in the queue."""
    row = await tx.fetchrow(
        """
        select count(*) filter (where dead_at is null and (starts_at <= $1 or leased_until is not null)) as outstanding,
               count(*) filter (where dead_at is null and starts_at > $1 and leased_until is null) as later,
               count(*) filter (where dead_at is not null) as dead
        from job left join queue_lane q on q.lane = job.lane
        cross join lateral (select greatest(due_at, q.paused_until) as starts_at) s
        """,
        tx.now,
    )
    assert row is not None
    return QueueMetrics(**row)


async def next_job_due_at(tx: Tx) -> datetime | None:
    """When the next future job is due."""
    due: datetime | None = await tx.fetchval(
        """
        select least(
            (select min(due_at) from job
             where lane is null and leased_until is null and dead_at is null and due_at > $1),
            (select min(due_at) from job
             where lane is not null and not ready and leased_until is null and dead_at is null and due_at > $1),
            (select min(paused_until) from queue_lane q
             where paused_until > $1 and exists (
                 select from job where lane = q.lane and ready and leased_until is null and dead_at is null
             ))
        )
        """,
        tx.now,
    )
    return due
