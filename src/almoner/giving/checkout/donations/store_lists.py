"""SQL for lists of donations: a page is a scan of one index, its exact total the sum of stored totals (P7).

IDs begin with the millisecond of creation, so a time range also bounds the scan. As in ``platform.lists``, the
statement states its number of rows and uses row comparison: PostgreSQL then keeps its plan and uses the one index in
the right order, whatever the statistics. Scans and counts read that index only; the page's rows are fetched last.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.donations import store
from almoner.giving.checkout.donations.domain import Donation, DonationFilters, DonationSort
from almoner.giving.checkout.donations.store import COLUMNS
from almoner.platform.database import lists
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import Position, RequestedPage

_NAMES: Final = ("user_id", "organisation_id", "status", "donation_request_id", "giving_link_id", "start", "end")
_MOMENTS: Final = {"start": "(created_at >= {}) is true", "end": "(created_at < {}) is true"}
"""With plain time ranges the planner expects 0.5 % of the rows to remain; within a range of IDs nearly all do."""
_WALKS: Final = (
    ("giving_link_id", ("giving_link_id", "partner_id")),
    ("user_id", ("user_id", "partner_id")),
    ("donation_request_id", ("donation_request_id", "status")),
    ("organisation_id", ("organisation_id", "partner_id", "status")),
    ("status", ("status", "partner_id")),
)
"""The leading columns of each index of donations; the first with a given filter is scanned, for each status if needed.

No other index begins with the same column: it would look half sorted, and be preferred for its correlation with the
table.
"""
_STATUSES: Final = ("ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED", "CANCELLED")
_PARTIAL: Final = frozenset({"giving_link_id", "donation_request_id", "user_id"})
_TALLIED: Final = frozenset({"organisation_id", "status", "start", "end"})
_ALL: Final = UUID(int=0)
_LEAST: Final = f"'{UUID(int=0)}'::uuid"
_GREATEST: Final = f"'{UUID(int=2**128 - 1)}'::uuid"
_DAY: Final = timedelta(days=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DRIFT: Final = """
select coalesce(max(id_drift(id, created_at)), 1000) as ms from donation
where partner_id = {} and id_drift(id, created_at) > 1000
"""
"""How far an ID may be from the donation's time: the maximum among the few that are off by more than a second."""


class _Arguments:
    """The values of a statement, and the placeholder of each."""

    def __init__(self) -> None:
        self.values: list[object] = []

    def __call__(self, value: object) -> str:
        self.values.append(value)
        return f"${len(self.values)}"


_BY_AMOUNT: Final = (lists.SortKey("currency", "bpchar"), lists.SortKey("amount_minor", "bigint"))


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: DonationFilters, sort: DonationSort = "id"
) -> tuple[list[Donation], int]:
    """One page in reading order and the exact total, in one statement. A list sorted by amount has no filters."""
    if sort == "amount":
        columns, shown = store.BASE_COLUMNS, "shares_donor_details"
        rows, total = await lists.list_sorted_partner_page(
            tx, partner, store.LIST, columns, page_, _BY_AMOUNT, extra_partner_column=shown
        )
    elif filters == DonationFilters():
        columns, shown = store.BASE_COLUMNS, "shares_donor_details"
        rows, total = await lists.list_partner_page(tx, partner, store.LIST, columns, page_, extra_partner_column=shown)
    elif filters.session_id is not None or filters.email is not None:
        rows, total = await _page_of_few(tx, partner, page_, filters)
    else:
        rows, total = await _filtered_page(tx, partner, page_, filters)
    return [store.donation_from_row(row) for row in rows], total


def cursor_position_of(donation: Donation, sort: DonationSort) -> Position:
    """The position of a donation in its list."""
    money, id_ = donation.money, donation.id.bytes
    return (money.currency, money.minor, id_) if sort == "amount" else (id_,)


async def _page_of_few(
    tx: Tx, partner: Partner, page: RequestedPage, filters: DonationFilters
) -> tuple[list[Record], int]:
    """A page of one session's or one donor's donations, which are few enough to filter without an index."""
    put = _Arguments()
    conditions = [f"partner_id = {put(partner.id)}"]
    if filters.session_id is not None:
        conditions.append(f"session_id = {put(filters.session_id)}")
    if filters.email is not None:
        conditions.append(f"lower(email) = lower({put(filters.email)})")
        conditions.append("(select shares_donor_details from partner where partner.id = partner_id)")
    conditions.extend(
        _MOMENTS.get(name, f"{name} is not distinct from {{}}").format(put(value))
        for name in _NAMES
        if (value := getattr(filters, name)) is not None
    )
    where = " and ".join(conditions)
    comparison, order = ("<", "desc") if page.fetches_descending else (">", "asc")
    after = f"id {comparison} {put(page.after_id)}::uuid" if page.after_id is not None else "true"
    rows = await tx.fetch(
        f"""
        with few as materialized (select id from donation where {where}),
        listed as (select id from few where {after} order by id {order} limit {page.fetch_limit})
        select {COLUMNS}, total from (select count(*) as total from few) counted
        left join (select donation.* from listed join donation using (id)) shown on true
        order by id {order}
        """,
        *put.values,
    )
    return [row for row in rows if row[0] is not None], rows[0]["total"]


async def _filtered_page(
    tx: Tx, partner: Partner, page: RequestedPage, filters: DonationFilters
) -> tuple[list[Record], int]:
    given = {name: value for name in _NAMES if (value := getattr(filters, name)) is not None}
    put = _Arguments()
    mine = put(partner.id)
    total = _tally_query(put, mine, filters) if given.keys() <= _TALLIED else _count_query(put, mine, given)
    drift = f"with drift as materialized ({_DRIFT.format(mine)})" if given.keys() & {"start", "end"} else ""
    order = "desc" if page.fetches_descending else "asc"
    rows = await tx.fetch(
        f"""
        {drift} select {COLUMNS}, total from ({total}) counted
        left join lateral (
            select {COLUMNS} from ({_walk(put, mine, page, given)}) picked (one) join donation on donation.id = one
        ) listed on true
        order by id {order}
        """,
        *put.values,
    )
    return [row for row in rows if row[0] is not None], rows[0]["total"]


def _keys(given: Mapping[str, object]) -> tuple[str, ...]:
    """The columns of the index to scan, without the ID."""
    return next((keys for name, keys in _WALKS if name in given), ("partner_id",))


def _index_ranges(given: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The index ranges that the filters select."""
    if "status" in given or "status" not in _keys(given):
        return [given]
    return [{**given, "status": status} for status in _STATUSES]


def _walk(put: _Arguments, mine: str, page: RequestedPage, given: Mapping[str, object]) -> str:
    walks = [_range_query(put, mine, page, one) for one in _index_ranges(given)]
    if len(walks) == 1:
        return walks[0]
    together = " union all ".join(f"({walk})" for walk in walks)
    order = "desc" if page.fetches_descending else "asc"
    return f"select id from ({together}) walked order by id {order} limit {page.fetch_limit}"


def _range_query(put: _Arguments, mine: str, page: RequestedPage, given: Mapping[str, object]) -> str:
    """The filters as a range of the one index with the right order."""
    low, high = _bounds(put, given)
    if page.after_id is not None and page.fetches_descending:
        high = f"least({high}, {put(page.after_id)}::uuid)"
    elif page.after_id is not None:
        low = f"greatest({low}, {put(page.after_id)}::uuid)"
    keys = _keys(given)
    values = [mine if key == "partner_id" else put(given[key]) for key in keys]
    columns, order = (*keys, "id"), "desc" if page.fetches_descending else "asc"
    ranged = [
        f"({', '.join(columns)}) > ({', '.join([*values, low])})",
        f"({', '.join(columns)}) < ({', '.join([*values, high])})",
    ]
    where = " and ".join([*ranged, *_unindexed_filters(put, mine, given)])
    ordered = ", ".join(f"{column} {order}" for column in columns)
    return f"select id from donation where {where} order by {ordered} limit {page.fetch_limit}"


def _counts(put: _Arguments, mine: str, given: Mapping[str, object]) -> list[str]:
    """The counts that add up to the filters' total, with equality, which the planner estimates well."""
    counts, keys = [], _keys(given)
    if "partner_id" in keys:
        low, high = _bounds(put, given)
        known = [f"{key} = {put(given[key])}" for key in keys if key in given]
        unknown = [f"{key} in {_STATUSES}" for key in keys if key not in {*given, "partner_id"}]
        same = [f"partner_id = {mine}", *known, *unknown, f"id > {low}", f"id < {high}"]
        counts.append(" and ".join([*same, *_unindexed_filters(put, mine, given)]))
    else:  # a condition on one index column would lead to another index, and to all partners' donations
        columns = ", ".join((*keys, "id"))
        for one in _index_ranges(given):
            low, high = _bounds(put, one)
            values = ", ".join(put(one[key]) for key in keys)
            within = f"({columns}) > ({values}, {low}) and ({columns}) < ({values}, {high})"
            counts.append(" and ".join([within, *_unindexed_filters(put, mine, one)]))
    return [f"(select count(*) from donation where {where})" for where in counts]


def _unindexed_filters(put: _Arguments, mine: str, given: Mapping[str, object]) -> list[str]:
    """The filters that the index does not cover, written so that the planner uses no other index."""
    keys = _keys(given)
    return [
        *(f"{key} is not null" for key in keys if key in _PARTIAL),
        *([] if "partner_id" in keys else [f"partner_id is not distinct from {mine}"]),
        *(
            _MOMENTS[name].format(put(value)) if name in _MOMENTS else f"{name} is not distinct from {put(value)}"
            for name, value in given.items()
            if name not in keys
        ),
    ]


def _bounds(put: _Arguments, given: Mapping[str, object]) -> tuple[str, str]:
    """The lowest and highest ID of the rows, both exclusive."""
    low, high = _LEAST, _GREATEST
    if isinstance(start := given.get("start"), datetime):
        low = f"least_id({put(_ms(start))}::bigint - (select ms from drift))"
    if isinstance(end := given.get("end"), datetime):
        high = f"least_id({put(_ms(end) + 1)}::bigint + (select ms from drift))"
    return low, high


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _count_query(put: _Arguments, mine: str, given: Mapping[str, object]) -> str:
    """Count the donations of one user or one request directly."""
    return f"select {' + '.join(_counts(put, mine, given))} as total"


def _tally_query(put: _Arguments, mine: str, filters: DonationFilters) -> str:
    """Sum the stored totals of whole days; the differences at both ends of the range are counted."""
    whole, parts = _days(filters.start, filters.end)
    stored = {name: value for name in ("organisation_id", "status") if (value := getattr(filters, name)) is not None}
    sums = ["select 0::bigint as n"]
    if whole is not None:
        first, last = whole
        days = [*([f"day >= {put(first.date())}"] if first else []), *([f"day < {put(last.date())}"] if last else [])]
        same = [f"{name} = {put(value)}" for name, value in stored.items()]
        tally = [] if "organisation_id" in stored else [f"organisation_id = {put(_ALL)}"]
        for table, conditions in (("donation_tally", tally), ("donation_tally_change", [])):
            where = " and ".join([f"partner_id = {mine}", *conditions, *same, *days])
            sums.append(f"select sum(donations) from {table} where {where}")
    for sign, since, until in parts:
        counts = _counts(put, mine, {**stored, "start": since, "end": until})
        sums += [f"select {sign} {count}" for count in counts]
    return f"select coalesce(sum(n), 0)::bigint as total from ({' union all '.join(sums)}) added"


_Whole = tuple[datetime | None, datetime | None]
_Part = tuple[Literal["+", "-"], datetime, datetime]


def _days(start: datetime | None, end: datetime | None) -> tuple[_Whole | None, list[_Part]]:
    """The whole days (UTC) nearest to a range, None without any, and the parts to add and subtract."""
    start, end = (moment.astimezone(UTC) if moment else None for moment in (start, end))
    if start and end and start >= end:
        return None, []
    first, last = (_nearest(moment) if moment else None for moment in (start, end))
    if start and end and first == last:
        return None, [("+", start, end)]
    parts: list[_Part] = []
    if start and first:
        parts.append(("+", start, first) if start < first else ("-", first, start))
    if end and last:
        parts.append(("+", last, end) if last < end else ("-", end, last))
    return (first, last), [part for part in parts if part[1] < part[2]]


def _nearest(moment: datetime) -> datetime:
    """The nearest start of a day, so that less than half a day's donations are counted."""
    day = datetime.combine(moment.date(), time(), UTC)
    return day + _DAY if moment - day > _DAY / 2 and moment.date() < date.max else day


REFRESH_TOTALS: Final = f"""
with taken as (
    delete from donation_tally_change where id in (
        select id from donation_tally_change order by id limit $1
    ) returning partner_id, organisation_id, status, day, donations
), added as (
    insert into donation_tally (partner_id, organisation_id, status, day, donations)
    select partner_id, organisation_id, status, day, donations from (
        select partner_id, organisation_id, status, day, sum(donations) as donations from taken group by 1, 2, 3, 4
        union all
        select partner_id, '{_ALL}'::uuid, status, day, sum(donations) from taken group by 1, 2, 3, 4
    ) moved order by 1, 2, 3, 4
    on conflict (partner_id, organisation_id, status, day)
    do update set donations = donation_tally.donations + excluded.donations
)
select count(*) from taken
"""


async def refresh_donation_list_counts(tx: Tx, limit: int) -> int:
    """Apply changes to the list totals; returns how many rows. Only one caller at a time."""
    return int(await tx.fetchval(REFRESH_TOTALS, limit))


@across_partners("sweep")
async def has_stale_donation_list_counts(tx: Tx) -> bool:
    """Whether there are changes that the list totals do not include."""
    return bool(await tx.fetchval("select exists (select from donation_tally_change)"))


async def load_paid_donation_counts_by_day(tx: Tx, partner: Partner, first_day: date) -> dict[date, int]:
    """Count paid donations by their day of creation (UTC) since ``first_day``."""
    rows = await tx.fetch(
        f"""
        select day, sum(donations)::bigint as donations from (
            select day, donations from donation_tally
            where partner_id = $1 and organisation_id = '{_ALL}' and status = any($2) and day >= $3
            union all
            select day, donations from donation_tally_change where partner_id = $1 and status = any($2) and day >= $3
        ) counted group by day
        """,
        partner.id,
        ["RECEIVED_PAYMENT", "DISBURSED"],
        first_day,
    )
    return {row["day"]: row["donations"] for row in rows}
