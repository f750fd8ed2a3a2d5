"""SQL for what the results of monitoring rested on, each time that they changed."""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.platform.database.transactions import Tx
from almoner.platform.http.paging import Page
from almoner.screening.watchlists.domain import Category
from almoner.validation.ongoing.monitoring.domain import (
    MonitoringMatch,
    MonitoringSubscription,
    Occasion,
    ResultsChange,
    ScreenedList,
    parse_results,
)

_COLUMNS: Final = "id, occasion, results, sources, matches, flags, changed_at"


def _change(row: Record) -> ResultsChange:
    return ResultsChange(
        row["id"],
        row["occasion"],
        parse_results(row["results"]),
        msgspec.convert(row["sources"], tuple[ScreenedList, ...]),
        msgspec.convert(row["matches"], tuple[MonitoringMatch, ...]),
        None if row["flags"] is None else tuple(row["flags"]),
        row["changed_at"],
    )


async def insert_results_change(
    tx: Tx,
    subscription: MonitoringSubscription,
    occasion: Occasion,
    matches: Sequence[MonitoringMatch],
    flags: Collection[Category],
) -> None:
    """Store changed results with their cause and evidence."""
    await tx.execute(
        """
        insert into monitoring_change (id, subscription_id, occasion, results, sources, matches, changed_at, flags)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        tx.new_id(),
        subscription.id,
        occasion,
        subscription.results.as_json(),
        subscription.sources,
        matches,
        tx.now,
        sorted(flags),
    )


async def list_page(tx: Tx, subscription_id: UUID, page_: Page) -> tuple[list[ResultsChange], int]:
    """One page of the changes of results in reading order, and their total."""
    comparison, order = ("<", "desc") if page_.reads_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        select listed.*, total from (select count(*) as total from monitoring_change where subscription_id = $1) counted
        left join lateral (
            select {_COLUMNS} from monitoring_change
            where subscription_id = $1 and ($2::uuid is null or id {comparison} $2) order by id {order} limit $3
        ) listed on true
        order by listed.id {order}
        """,
        subscription_id,
        page_.after_id,
        page_.limit,
    )
    return [_change(row) for row in rows if row["id"] is not None], rows[0]["total"]
