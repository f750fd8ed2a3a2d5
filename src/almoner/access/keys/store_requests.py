"""SQL for requests with API keys. Their IDs begin with the time, so one index orders and finds them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.access.keys.domain import SEARCHED_REQUESTS, ApiRequest, ApiRequestFilter, RequestCounts
from almoner.kit.ids import created_at_of_id, lowest_id_at
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_SELECTED: Final = ", ".join(ApiRequest._fields)
_LOWEST_ID: Final = UUID(int=0)
_HIGHEST_ID: Final = UUID(int=2**128 - 1)
_MILLISECOND: Final = timedelta(milliseconds=1)


def _request(row: Record) -> ApiRequest:
    return ApiRequest(*row)


async def insert_requests(tx: Tx, requests: Sequence[ApiRequest]) -> None:
    """Store requests of any partners."""
    await tx.copy_records("api_request", ApiRequest._fields, requests)


async def find_request(tx: Tx, partner: Partner, request_id: UUID) -> ApiRequest | None:
    """One request of the partner."""
    row = await tx.fetchrow(
        f"select {_SELECTED} from api_request where partner_id = $1 and request_id = $2", partner.id, request_id
    )
    return None if row is None else _request(row)


_RANGE: Final = "partner_id = $1 and request_id >= $2 and request_id < $3"
_NEWEST_FIRST: Final = "order by request_id desc"
_MATCHING: Final = f"""
($5::text is null or method = $5) and ($6::text is null or route = $6)
and ($7::smallint is null or status = $7) and ($8::text is null or error_code = $8)
and ($9::uuid is null or key_id = $9) and (not $10 or status < 400)
{_NEWEST_FIRST} limit $11
"""
_LIST: Final = f"""
select {_SELECTED} from (
    select {_SELECTED} from api_request where {_RANGE} {_NEWEST_FIRST} limit $4
) as searched where {_MATCHING}
"""
_LIST_FAILED: Final = f"""
select {_SELECTED} from (
    select {_SELECTED} from api_request where {_RANGE} and status >= 400 {_NEWEST_FIRST} limit $4
) as searched where {_MATCHING}
"""
_END: Final = f"select request_id from api_request where {_RANGE} {_NEWEST_FIRST} offset $4 limit 1"
_END_FAILED: Final = f"""
select request_id from api_request where {_RANGE} and status >= 400 {_NEWEST_FIRST} offset $4 limit 1
"""


async def list_newest(
    tx: Tx, partner: Partner, filters: ApiRequestFilter, before: UUID | None, limit: int
) -> list[ApiRequest]:
    """The newest matching requests. Searches at most ``SEARCHED_REQUESTS`` requests before the given one."""
    rows = await tx.fetch(
        _LIST_FAILED if filters.outcome == "failed" else _LIST,
        *_bounds(partner, filters, before),
        SEARCHED_REQUESTS,
        filters.method,
        filters.route,
        filters.status,
        filters.error_code,
        filters.key_id,
        filters.outcome == "succeeded",
        limit,
    )
    return [_request(row) for row in rows]


async def find_oldest_searched_request_id(
    tx: Tx, partner: Partner, filters: ApiRequestFilter, before: UUID | None
) -> UUID | None:
    """The oldest request that ``list_newest`` searches; None if it searches all."""
    found: UUID | None = await tx.fetchval(
        _END_FAILED if filters.outcome == "failed" else _END,
        *_bounds(partner, filters, before),
        SEARCHED_REQUESTS - 1,
    )
    return found


_FROM: Final = "from api_request where partner_id = $1 and request_id >= $2"
_END_OF_COUNT: Final = f"select request_id {_FROM} {_NEWEST_FIRST} offset $3 limit 1"
_END_OF_COUNT_REFUSED: Final = f"select request_id {_FROM} and status >= 400 {_NEWEST_FIRST} offset $3 limit 1"
_COUNT: Final = f"""
select key_id, count(*) filter (where request_id >= $3), count(*) filter (where request_id >= $4),
       count(*) filter (where request_id >= $5)
{_FROM} group by key_id
"""
_COUNT_REFUSED: Final = f"""
select key_id, count(*) filter (where status = 429) {_FROM} and status >= 400 group by key_id
"""


async def count_requests(tx: Tx, partner: Partner, window_starts: tuple[datetime, datetime, datetime]) -> RequestCounts:
    """The requests of each key since each moment, of the newest ``SEARCHED_REQUESTS``."""
    lowest = [lowest_id_at(moment) for moment in window_starts]
    end: UUID | None = await tx.fetchval(_END_OF_COUNT, partner.id, min(lowest), SEARCHED_REQUESTS - 1)
    rows = await tx.fetch(_COUNT, partner.id, end or min(lowest), *lowest)
    return _counts(window_starts, rows, end)


async def count_rate_limited(tx: Tx, partner: Partner, since: datetime) -> RequestCounts:
    """Count requests rejected by a rate limit, by key, among the newest ``SEARCHED_REQUESTS`` failed ones."""
    lowest = lowest_id_at(since)
    end: UUID | None = await tx.fetchval(_END_OF_COUNT_REFUSED, partner.id, lowest, SEARCHED_REQUESTS - 1)
    return _counts((since,), await tx.fetch(_COUNT_REFUSED, partner.id, end or lowest), end)


def _counts(moments: Sequence[datetime], rows: Sequence[Record], end: UUID | None) -> RequestCounts:
    counted = {row[0]: tuple(row)[1:] for row in rows}
    return RequestCounts(moments, counted, None if end is None else created_at_of_id(end))


def _bounds(partner: Partner, filters: ApiRequestFilter, before: UUID | None) -> tuple[object, ...]:
    since = _LOWEST_ID if filters.since is None else lowest_id_at(filters.since)
    until = _HIGHEST_ID if filters.before is None else lowest_id_at(filters.before)
    return (partner.id, since, min(until, before or _HIGHEST_ID))


@across_partners("sweep")
async def find_oldest_api_request_at(tx: Tx) -> datetime | None:
    """When the oldest request was received; None if there is none."""
    oldest: UUID | None = await tx.fetchval(
        """
        select oldest.request_id from partner cross join lateral (
            select request_id from api_request where partner_id = partner.id order by request_id limit 1
        ) as oldest order by request_id limit 1
        """
    )
    return None if oldest is None else created_at_of_id(oldest)


@across_partners("sweep")
async def delete_requests(tx: Tx, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` requests received by ``before``; returns how many."""
    deleted = await tx.execute(
        """
        delete from api_request where ctid in (
            select old.row from partner cross join lateral (
                select ctid as row from api_request where partner_id = partner.id and request_id < $1
                order by request_id limit $2
            ) as old limit $2
        )
        """,
        lowest_id_at(before + _MILLISECOND),
        limit,
    )
    return int(deleted.rpartition(" ")[2])
