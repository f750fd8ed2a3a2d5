"""SQL for fetched files and the refresh schedule of sources."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from almoner.nonprofits.registers.schedule import Refresh, RefreshStatus
from almoner.platform.database.transactions import Tx
from almoner.platform.outbound.fetching import FetchedFile


async def insert_fetched_files(tx: Tx, import_id: UUID, fetched_files: Sequence[FetchedFile]) -> None:
    """Store the sources of a load's files."""
    await tx.executemany(
        """
        insert into register_fetch (load_id, position, url, name, etag, last_modified, retrieved_at, sha256, size_bytes)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """,
        [
            (
                import_id,
                place,
                one.url,
                one.path.name,
                one.etag,
                one.last_modified,
                one.retrieved_at,
                one.sha256,
                one.size,
            )
            for place, one in enumerate(fetched_files)
        ],
    )


async def list_fetched_file_hashes_and_dates(tx: Tx, import_id: UUID) -> list[tuple[bytes, datetime | None]]:
    """(hash, publisher's date) of the files of a load. Other fetched files may exist that were never loaded."""
    rows = await tx.fetch(
        "select sha256, last_modified from register_fetch where load_id = $1 order by position", import_id
    )
    return [(row["sha256"], row["last_modified"]) for row in rows]


async def next_refresh_due_at(tx: Tx, schedule: Sequence[Refresh]) -> datetime | None:
    """When the next source is due; at once if the table does not match the schedule."""
    due: datetime | None = await tx.fetchval(
        """
        select case
            when exists (
                select from unnest($1::text[], $2::interval[]) planned (source, refresh_interval)
                full join register_refresh r using (source) where r.refresh_interval is distinct
                from planned.refresh_interval
            ) or exists (select from register_source where max_age is distinct from $3) then $4
            else (select min(due_at) from register_refresh)
        end
        """,
        *_columns(schedule),
        tx.deployment.max_data_age,
        tx.now,
    )
    return due


async def store_refresh_schedule(tx: Tx, schedule: Sequence[Refresh]) -> None:
    """Update the table to match the schedule; new sources are due at once."""
    await tx.execute("delete from register_refresh where source <> all($1::text[])", [one.source for one in schedule])
    await tx.execute(
        """
        insert into register_refresh (source, refresh_interval, due_at)
        select source, refresh_interval, $3 from unnest($1::text[], $2::interval[]) planned (source, refresh_interval)
        on conflict (source) do update set refresh_interval = excluded.refresh_interval
        where register_refresh.refresh_interval is distinct from excluded.refresh_interval
        """,
        *_columns(schedule),
        tx.now,
    )
    await tx.execute(
        "update register_source set max_age = $1 where max_age is distinct from $1",
        tx.deployment.max_data_age,
    )


async def claim_sources_due_for_refresh(tx: Tx) -> list[str]:
    """Claim the due sources; each is next due after its interval."""
    rows = await tx.fetch(
        "update register_refresh set due_at = $1 + refresh_interval where due_at <= $1 returning source", tx.now
    )
    return sorted(row["source"] for row in rows)


async def find_refresh_status(tx: Tx, source: str) -> RefreshStatus | None:
    """The status of a source's last refresh; None if it is not scheduled."""
    row = await tx.fetchrow("select status, failures, load_id from register_refresh where source = $1", source)
    return RefreshStatus(row["status"], row["failures"], row["load_id"]) if row else None


async def record_refresh_attempt(
    tx: Tx, source: str, status: RefreshStatus, reason: str | None, retry_after: timedelta | None = None
) -> None:
    """Record the result of a refresh. ``retry_after``: when to retry before the interval ends."""
    await tx.execute(
        """
        update register_refresh set attempted_at = $2::timestamptz, status = $3, failures = $4, load_id = $5,
            reason = $6,
            due_at = least(due_at, $2::timestamptz + $7::interval)
        where source = $1
        """,
        source,
        tx.now,
        status.status,
        status.failures,
        status.import_id,
        reason,
        retry_after,
    )


class SourceAndStatus(NamedTuple):
    """A source's code, and a status of its loads."""

    source: str
    status: str


class RegisterMetrics(NamedTuple):
    """The age of each source's data, and the number of its loads by status."""

    data_age_seconds_by_source: dict[str, float]
    import_counts_by_source_and_status: dict[SourceAndStatus, int]


async def load_data_ages_and_import_counts(tx: Tx) -> RegisterMetrics:
    """The figures of all sources for the metrics."""
    ages = await tx.fetch("select code, data_as_of from register_source where data_as_of is not null")
    loads = await tx.fetch("select source, status, count(*) as n from register_load group by source, status")
    return RegisterMetrics(
        {row["code"]: (tx.now - row["data_as_of"]).total_seconds() for row in ages},
        {SourceAndStatus(row["source"], row["status"]): row["n"] for row in loads},
    )


def _columns(plan: Sequence[Refresh]) -> tuple[list[str], list[timedelta]]:
    return [one.source for one in plan], [one.interval for one in plan]
