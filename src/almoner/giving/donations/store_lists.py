"""SQL of lists of donations: a page is a walk along one index, its exact total is added up from tallies (P7).

Identifiers begin with the millisecond of the donation's creation, so a range of moments bounds the walk as well. As in
``platform.lists`` the statement names its number of rows and walks by row comparison: PostgreSQL keeps its plan, and
takes the one index that has the rows in order, whatever the statistics say.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.donations import store
from almoner.giving.donations.domain import Donation, Filters
from almoner.giving.donations.store import COLUMNS
from almoner.platform import lists
from almoner.platform.db import Everyone, Partner, Tx
from almoner.platform.http.paging import Page

_CONDITIONS: Final = {
    "user_id": "user_id = {}",
    "organisation_id": "organisation_id = {}",
    "status": "status = {}",
    "request_id": "request_id = {}",
    "start": "created_at >= {}",
    "end": "created_at < {}",
}
_WALKS: Final = (("user_id",), ("organisation_id", "status"), ("organisation_id",), ("status",))
"""What an index of donations begins with, but for the partner; the first that the filters have is walked."""
_ASKED_FOR: Final = ("REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED")
"""What donations of a request may be."""
_PARTIAL: Final = frozenset({"request_id", "user_id"})
_TALLIED: Final = frozenset({"organisation_id", "status", "start", "end"})
_ALL: Final = UUID(int=0)
_DAY: Final = timedelta(days=1)
_SLACK: Final = _DAY
"""An identifier is of the moment of its donation, or of the latest before it where a clock was set back."""


class _Arguments:
    """The values of a statement, and the placeholder of each."""

    def __init__(self) -> None:
        self.values: list[object] = []

    def __call__(self, value: object) -> str:
        self.values.append(value)
        return f"${len(self.values)}"


async def page(tx: Tx, partner: Partner, page_: Page, filters: Filters) -> tuple[list[Donation], int]:
    """One page in reading order and the exact total, in one statement."""
    if filters == Filters():
        rows, total = await lists.page(tx, partner, store.LIST, COLUMNS, page_)
    else:
        rows, total = await _narrowed(tx, partner, page_, filters)
    return [store.donation_of(row) for row in rows], total


async def _narrowed(tx: Tx, partner: Partner, page: Page, filters: Filters) -> tuple[list[Record], int]:
    given = {name: value for name in _CONDITIONS if (value := getattr(filters, name)) is not None}
    put = _Arguments()
    mine = put(partner.id)
    total = _tallied(put, mine, filters) if given.keys() <= _TALLIED else _counted(put, mine, given)
    order = "desc" if page.reads_down else "asc"
    rows = await tx.fetch(
        f"""
        select {COLUMNS}, total from ({total}) counted
        left join lateral ({_walk(put, mine, page, given)}) listed on true
        order by id {order}
        """,
        *put.values,
    )
    return [row for row in rows if row[0] is not None], rows[0]["total"]


def _walk(put: _Arguments, mine: str, page: Page, given: Mapping[str, object]) -> str:
    order = "desc" if page.reads_down else "asc"
    if "request_id" in given:  # its index goes by status: a walk for each, of which the first rows are taken
        each = [given["status"]] if "status" in given else _ASKED_FOR
        walks = [_along(put, mine, page, {**given, "status": status}, ("request_id", "status")) for status in each]
        together = " union all ".join(f"({walk})" for walk in walks)
        return f"select * from ({together}) walked order by id {order} limit {page.limit}"
    keys = next((walk for walk in _WALKS if given.keys() >= set(walk)), ())
    return _along(put, mine, page, given, ("partner_id", *keys))


def _along(put: _Arguments, mine: str, page: Page, given: Mapping[str, object], keys: tuple[str, ...]) -> str:
    columns = ", ".join([*keys, "id"])
    values = [mine if key == "partner_id" else put(given[key]) for key in keys]
    low, high = _bounds(page, given)
    where = [
        f"({columns}) > ({', '.join([*values, put(low)])})",
        f"({columns}) < ({', '.join([*values, put(high)])})",
        *([] if "partner_id" in keys else [f"partner_id = {mine}"]),
        *(f"{key} is not null" for key in keys if key in _PARTIAL),
        *(_CONDITIONS[name].format(put(value)) for name, value in given.items() if name not in keys),
    ]
    order = "desc" if page.reads_down else "asc"
    ordered = ", ".join(f"{column} {order}" for column in [*keys, "id"])
    return f"select {COLUMNS} from donation where {' and '.join(where)} order by {ordered} limit {page.limit}"


def _bounds(page: Page, given: Mapping[str, object]) -> tuple[UUID, UUID]:
    """Between which identifiers the rows are, without both."""
    low, high = 0, 2**128 - 1
    if isinstance(start := given.get("start"), datetime):
        low = _of(start - _SLACK)
    if isinstance(end := given.get("end"), datetime):
        high = _of(end + _SLACK)
    if page.after_id is not None:
        low, high = (low, min(high, page.after_id.int)) if page.reads_down else (max(low, page.after_id.int), high)
    return UUID(int=low), UUID(int=max(low, high))


def _of(moment: datetime) -> int:
    """The least identifier of a millisecond."""
    return max(0, int(moment.timestamp() * 1000)) << 80


def _counted(put: _Arguments, mine: str, given: Mapping[str, object]) -> str:
    """Of one user's or one request's donations: counted as they are."""
    conditions = [_CONDITIONS[name].format(put(value)) for name, value in given.items()]
    return f"select count(*) as total from donation where {' and '.join([f'partner_id = {mine}', *conditions])}"


def _tallied(put: _Arguments, mine: str, filters: Filters) -> str:
    """Added up by whole days; the parts of a day at the ends of the range are counted."""
    whole, parts = _days(filters.start, filters.end)
    if whole is None and not parts:
        return "select 0::bigint as total"
    same = [] if filters.status is None else [f"status = {put(filters.status)}"]
    days = []
    if whole is not None:
        first, last = whole
        days = [*([f"day >= {put(first.date())}"] if first else []), *([f"day < {put(last.date())}"] if last else [])]
    of = [] if filters.organisation_id is None else [f"organisation_id = {put(filters.organisation_id)}"]
    sums = ["select 0::bigint as n"]
    if whole is not None:
        tally = of or [f"organisation_id = {put(_ALL)}"]
        for table, conditions in (("donation_tally", tally), ("donation_tally_change", of)):
            where = " and ".join([f"partner_id = {mine}", *conditions, *same, *days])
            sums.append(f"select sum(n) from {table} where {where}")
    for since, until in parts:
        span = [f"created_at >= {put(since)}", f"created_at < {put(until)}"]
        where = " and ".join([f"partner_id = {mine}", *span, *of, *same])
        sums.append(f"select count(*) from donation where {where}")
    return f"select coalesce(sum(n), 0)::bigint as total from ({' union all '.join(sums)}) added"


_Days = tuple[datetime | None, datetime | None]


def _days(start: datetime | None, end: datetime | None) -> tuple[_Days | None, list[tuple[datetime, datetime]]]:
    """The whole days of a range (UTC), None without any, and what is left of it at its ends."""
    start, end = (moment.astimezone(UTC) if moment else None for moment in (start, end))
    first = _midnight(start, up=True) if start else None
    last = _midnight(end, up=False) if end else None
    if start and end and first and last and first >= last:
        return None, [(start, end)] if start < end else []
    parts = [(start, first)] if start and first and start < first else []
    return (first, last), [*parts, *([(last, end)] if end and last and last < end else [])]


def _midnight(moment: datetime, *, up: bool) -> datetime:
    day = datetime.combine(moment.date(), time(), UTC)
    return day + _DAY if up and day < moment else day


GATHER: Final = f"""
with taken as (
    delete from donation_tally_change where id in (
        select id from donation_tally_change order by id limit $1
    ) returning partner_id, organisation_id, status, day, n
), added as (
    insert into donation_tally (partner_id, organisation_id, status, day, n)
    select partner_id, organisation_id, status, day, n from (
        select partner_id, organisation_id, status, day, sum(n) as n from taken group by 1, 2, 3, 4
        union all
        select partner_id, '{_ALL}'::uuid, status, day, sum(n) from taken group by 1, 2, 3, 4
    ) moved order by 1, 2, 3, 4
    on conflict (partner_id, organisation_id, status, day) do update set n = donation_tally.n + excluded.n
)
select count(*) from taken
"""


async def gather(tx: Tx, _scope: Everyone, limit: int) -> int:
    """Bring changes into the tallies; how many rows of them there were. The caller is the only one."""
    return int(await tx.fetchval(GATHER, limit))


async def ungathered(tx: Tx, _scope: Everyone) -> bool:
    """Whether there are changes that are in no tally."""
    return bool(await tx.fetchval("select exists (select from donation_tally_change)"))
