"""SQL for the refresh schedule of watchlists."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.refresh_schedule import ScheduledRefresh
from almoner.screening.watchlists.domain import WatchlistRefreshState
from almoner.screening.watchlists.ports import WatchlistSource

RefreshSchedule = Sequence[ScheduledRefresh[WatchlistSource]]
Status = Literal["loaded", "unchanged", "refused", "failed"]


async def next_refresh_due_at(tx: Tx, schedule: RefreshSchedule) -> datetime | None:
    """When the next list is due; at once if the table does not match the schedule."""
    due: datetime | None = await tx.fetchval(
        """
        select case
            when exists (
                select from unnest($1::text[], $2::interval[]) planned (list, refresh_interval)
                full join watchlist_refresh r using (list) where r.refresh_interval is distinct
                from planned.refresh_interval
            ) then $3
            else (select min(due_at) from watchlist_refresh)
        end
        """,
        *_columns(schedule),
        tx.now,
    )
    return due


async def claim_due_watchlists(tx: Tx, schedule: RefreshSchedule) -> list[str]:
    """Update the table to match the schedule and claim due lists; each is next due after its interval.

    A new list in the schedule is due at once.
    """
    await tx.execute("delete from watchlist_refresh where list <> all($1::text[])", [one.source for one in schedule])
    await tx.execute(
        """
        insert into watchlist_refresh (list, refresh_interval, due_at)
        select list, refresh_interval, $3 from unnest($1::text[], $2::interval[]) planned (list, refresh_interval)
        on conflict (list) do update set refresh_interval = excluded.refresh_interval
        where watchlist_refresh.refresh_interval is distinct from excluded.refresh_interval
        """,
        *_columns(schedule),
        tx.now,
    )
    rows = await tx.fetch(
        "update watchlist_refresh set due_at = $1 + refresh_interval where due_at <= $1 returning list", tx.now
    )
    return sorted(row["list"] for row in rows)


async def list_refresh_states(tx: Tx) -> list[WatchlistRefreshState]:
    """The schedules of all lists that are refreshed automatically, by list."""
    rows = await tx.fetch(
        "select list, refresh_interval, due_at, attempted_at, status, failures, reason from watchlist_refresh "
        "order by list"
    )
    return [WatchlistRefreshState(*row) for row in rows]


async def is_refresh_scheduled(tx: Tx, watchlist_code: str) -> bool:
    """Whether the schedule names the list."""
    return bool(await tx.fetchval("select exists (select from watchlist_refresh where list = $1)", watchlist_code))


async def count_consecutive_refresh_failures(tx: Tx, watchlist_code: str) -> int:
    """How many of the last refreshes of a watchlist failed in a row."""
    return await tx.fetchval("select failures from watchlist_refresh where list = $1", watchlist_code) or 0


async def record_refresh_attempt(
    tx: Tx,
    watchlist_code: str,
    status: Status,
    reason: str | None,
    consecutive_failures: int,
    retry_after: timedelta | None,
) -> None:
    """Record the result of a refresh. ``retry_after``: when to try again before the interval is over."""
    await tx.execute(
        """
        update watchlist_refresh set attempted_at = $2::timestamptz, status = $3, failures = $4, reason = $5,
            due_at = least(due_at, $2::timestamptz + $6::interval)
        where list = $1
        """,
        watchlist_code,
        tx.now,
        status,
        consecutive_failures,
        reason,
        retry_after,
    )


def _columns(plan: RefreshSchedule) -> tuple[list[str], list[timedelta]]:
    return [one.source for one in plan], [one.interval for one in plan]
