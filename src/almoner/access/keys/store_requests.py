"""SQL for requests with API keys."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.access.keys.domain import SEARCHED_REQUESTS, ApiRequest, ApiRequestFilter, RequestCursor
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_SELECTED: Final = ", ".join(ApiRequest._fields)
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_LAST_ID: Final = UUID(int=2**128 - 1)


def _request(row: Record) -> ApiRequest:
    return ApiRequest(*row)


async def insert_requests(tx: Tx, requests: Sequence[ApiRequest]) -> None:
    """Store requests of any partners."""
    await tx.copy_records("api_request", ApiRequest._fields, requests)


async def find_request(tx: Tx, partner: Partner, request_id: UUID) -> ApiRequest | None:
    """One request of the partner."""
    row = await tx.fetchrow(
        f"select {_SELECTED} from api_request where request_id = $2 and partner_id = $1", partner.id, request_id
    )
    return None if row is None else _request(row)


_RANGE: Final = """
partner_id = $1 and received_at >= $2 and received_at < $3 and (received_at, request_id) < ($4, $5)
"""
_NEWEST_FIRST: Final = "order by received_at desc, request_id desc"
_MATCHING: Final = f"""
($7::text is null or method = $7) and ($8::text is null or route = $8)
and ($9::smallint is null or status = $9) and ($10::text is null or error_code = $10)
and ($11::uuid is null or key_id = $11) and (not $12 or status < 400)
{_NEWEST_FIRST} limit $13
"""
_LIST: Final = f"""
select {_SELECTED} from (
    select {_SELECTED} from api_request where {_RANGE} {_NEWEST_FIRST} limit $6
) as searched where {_MATCHING}
"""
_LIST_FAILED: Final = f"""
select {_SELECTED} from (
    select {_SELECTED} from api_request where {_RANGE} and status >= 400 {_NEWEST_FIRST} limit $6
) as searched where {_MATCHING}
"""
_END: Final = f"select received_at, request_id from api_request where {_RANGE} {_NEWEST_FIRST} offset $6 limit 1"
_END_FAILED: Final = f"""
select received_at, request_id from api_request where {_RANGE} and status >= 400 {_NEWEST_FIRST} offset $6 limit 1
"""


async def list_newest(
    tx: Tx, partner: Partner, wanted: ApiRequestFilter, after: RequestCursor | None, limit: int
) -> list[ApiRequest]:
    """The newest matches. Looks through the ``SEARCHED_REQUESTS`` after the cursor, however few of them match."""
    rows = await tx.fetch(
        _LIST_FAILED if wanted.outcome == "failed" else _LIST,
        *_bounds(partner, wanted, after),
        SEARCHED_REQUESTS,
        wanted.method,
        wanted.route,
        wanted.status,
        wanted.error_code,
        wanted.key_id,
        wanted.outcome == "succeeded",
        limit,
    )
    return [_request(row) for row in rows]


async def find_search_end(
    tx: Tx, partner: Partner, wanted: ApiRequestFilter, after: RequestCursor | None
) -> RequestCursor | None:
    """The last request that ``list_newest`` looks at; None when it looks at all there are."""
    row = await tx.fetchrow(
        _END_FAILED if wanted.outcome == "failed" else _END,
        *_bounds(partner, wanted, after),
        SEARCHED_REQUESTS - 1,
    )
    return None if row is None else (row["received_at"], row["request_id"])


def _bounds(partner: Partner, wanted: ApiRequestFilter, after: RequestCursor | None) -> tuple[object, ...]:
    return (partner.id, wanted.since or _EARLIEST, wanted.before or _LATEST, *(after or (_LATEST, _LAST_ID)))


@across_partners("sweep")
async def oldest_request_at(tx: Tx) -> datetime | None:
    """When the oldest was received; None without any."""
    oldest: datetime | None = await tx.fetchval(
        """
        select min(oldest.received_at) from partner cross join lateral (
            select received_at from api_request where partner_id = partner.id order by received_at limit 1
        ) as oldest
        """
    )
    return oldest


@across_partners("sweep")
async def delete_requests(tx: Tx, until: datetime, limit: int) -> int:
    """Delete what was received by then, at most ``limit``; how many they were."""
    deleted = await tx.execute(
        """
        delete from api_request where ctid in (
            select old.row from partner cross join lateral (
                select ctid as row from api_request where partner_id = partner.id and received_at <= $1
                order by received_at limit $2
            ) as old limit $2
        )
        """,
        until,
        limit,
    )
    return int(deleted.rpartition(" ")[2])
