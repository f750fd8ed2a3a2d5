"""SQL for monitoring subscriptions."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.nonprofits.organisations.domain import MAX_INDEX_PATTERNS
from almoner.platform.database import counters, lists
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.screening.watchlists.domain import Category
from almoner.validation.ongoing.monitoring.domain import (
    SUBSCRIPTION,
    DatedScreenedWatchlist,
    MonitoringFilters,
    MonitoringMatch,
    MonitoringResults,
    MonitoringStatus,
    MonitoringSubscription,
    ScreenedWatchlist,
    Sort,
    results_from_json,
)

Scope = Partner | AllPartners

_CATEGORIES: Final[Mapping[Category, str]] = {
    "warning": "warning",
    "sanction": "sanction",
    "hateSpeech": "hate_speech",
    "commercial": "commercial",
    "adverseMedia": "adverse_media",
    "controversial": "controversial",
}
_OWN: Final = (
    "id, partner_id, organisation_id, validation_request_id, configuration_id, status, search_name, simulated_results, "
    f"compliance_status, registration_active, sources, screened_at, created_at, cancelled_at, due_at, matches, "
    f"{', '.join(_CATEGORIES.values())}"
)
_SELECTED: Final = f"{', '.join(f's.{name}' for name in _OWN.split(', '))}, o.name as name"
_FROM: Final = f"""
select {_SELECTED} from monitoring_subscription s
left join organisation r on r.id = s.organisation_id
left join organisation o on o.id = coalesce(r.same_as, r.id)
"""
_LIST: Final = "monitoring_subscription"
_WATCHED: Final = "status in ('pending', 'live')"


def _subscription(row: Record, name: str | None) -> MonitoringSubscription:
    results = MonitoringResults(
        row["compliance_status"],
        {category: row[column] for category, column in _CATEGORIES.items() if row[column] is not None},
        row["registration_active"],
    )
    chosen = row["simulated_results"]
    return MonitoringSubscription(
        id=row["id"],
        partner_id=row["partner_id"],
        organisation_id=row["organisation_id"],
        validation_request_id=row["validation_request_id"],
        configuration_id=row["configuration_id"],
        status=row["status"],
        search_name=row["search_name"],
        simulated_results=None if chosen is None else results_from_json(chosen),
        results=results,
        sources=msgspec.convert(row["sources"], tuple[ScreenedWatchlist, ...]),
        screened_at=row["screened_at"],
        created_at=row["created_at"],
        cancelled_at=row["cancelled_at"],
        due_at=row["due_at"],
        matches=msgspec.convert(row["matches"], tuple[MonitoringMatch, ...]),
        name=name,
    )


def _owner(scope: Scope) -> UUID | None:
    return scope.id if isinstance(scope, Partner) else None


def _results_json(results: MonitoringResults | None) -> dict[str, str] | None:
    return None if results is None else results.as_json()


async def insert(tx: Tx, partner: Partner, subscription: MonitoringSubscription) -> None:
    """Store a new subscription without results."""
    await tx.execute(
        """
        insert into monitoring_subscription (
            id, partner_id, organisation_id, validation_request_id, configuration_id, status, search_name,
            simulated_results, created_at, status_changed_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
        """,
        subscription.id,
        partner.id,
        subscription.organisation_id,
        subscription.validation_request_id,
        subscription.configuration_id,
        subscription.status,
        subscription.search_name,
        _results_json(subscription.simulated_results),
        subscription.created_at,
    )
    await counters.add_to_list_total(tx, partner, _LIST, 1)


async def find(tx: Tx, scope: Scope, subscription_id: UUID) -> MonitoringSubscription | None:
    """One subscription; None if it does not exist."""
    row = await tx.fetchrow(
        f"{_FROM} where s.id = $1 and ($2::uuid is null or s.partner_id = $2)", subscription_id, _owner(scope)
    )
    return _subscription(row, row["name"]) if row else None


async def list_subscriptions_with_ids(
    tx: Tx, partner: Partner, subscription_ids: Sequence[UUID]
) -> list[MonitoringSubscription]:
    """The existing ones of these subscriptions."""
    rows = await tx.fetch(f"{_FROM} where s.partner_id = $1 and s.id = any($2::uuid[])", partner.id, subscription_ids)
    return [_subscription(row, row["name"]) for row in rows]


async def find_for_update(tx: Tx, scope: Scope, subscription_id: UUID) -> MonitoringSubscription | None:
    """Lock one subscription until the transaction ends; None if it does not exist."""
    row = await tx.fetchrow(
        f"{_FROM} where s.id = $1 and ($2::uuid is null or s.partner_id = $2) for no key update of s",
        subscription_id,
        _owner(scope),
    )
    return _subscription(row, row["name"]) if row else None


async def update(tx: Tx, changed_subscription: MonitoringSubscription, expected_status: MonitoringStatus) -> bool:
    """Store a locked subscription's new state; False if the transition is not allowed."""
    return bool(
        await tx.fetchval(
            """
            update monitoring_subscription
            set status = $2, organisation_id = $3, search_name = $4, simulated_results = $5, compliance_status = $6,
                registration_active = $7, warning = $8, sanction = $9, hate_speech = $10, commercial = $11,
                adverse_media = $12, controversial = $13, sources = $14, screened_at = $15, cancelled_at = $16,
                due_at = $17, matches = $18,
                status_changed_at = case status when $2 then status_changed_at else $19 end
            where id = $1 and status = $20 and (status = $2 or status = any($21)) returning true
            """,
            changed_subscription.id,
            changed_subscription.status,
            changed_subscription.organisation_id,
            changed_subscription.search_name,
            _results_json(changed_subscription.simulated_results),
            changed_subscription.results.compliance_status,
            changed_subscription.results.registration_active,
            *(changed_subscription.results.status_by_category.get(category) for category in _CATEGORIES),
            changed_subscription.sources,
            changed_subscription.screened_at,
            changed_subscription.cancelled_at,
            changed_subscription.due_at,
            changed_subscription.matches,
            tx.now,
            expected_status,
            SUBSCRIPTION.source_states_of(changed_subscription.status),
        )
    )


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: MonitoringFilters, sort: Sort
) -> tuple[list[MonitoringSubscription], int]:
    """One page in reading order and the exact total (P7): from counters, or from an index."""
    if filters == MonitoringFilters() and sort == "id":
        rows, total = await lists.list_partner_page(tx, partner, _LIST, _OWN, page_)
    else:
        rows, total = await _narrowed(tx, partner, page_, filters, sort)
    names = await _names(tx, [row["organisation_id"] for row in rows if row["organisation_id"]])
    return [_subscription(row, names.get(row["organisation_id"])) for row in rows], total


@across_partners("held")
async def _names(tx: Tx, organisation_ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await tx.fetch(
        """
        select r.id, o.name from organisation r join organisation o on o.id = coalesce(r.same_as, r.id)
        where r.id = any($1::uuid[])
        """,
        organisation_ids,
    )
    return {row["id"]: row["name"] for row in rows}


async def _narrowed(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: MonitoringFilters, sort: Sort
) -> tuple[list[Record], int]:
    conditions = _conditions(filters)
    where = conditions.sql
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    keys = ("search_name", "id") if sort == "name" else ("id",)
    by = ", ".join(f"{key} {order}" for key in keys)
    if page_.position is None:
        after = "$2::uuid is null and $3::text is null"
    elif sort == "name":
        after = f"(search_name, id) {comparison} ($3, $2)"
    else:
        after = f"id {comparison} $2 and $3::text is null"
    *name, id_ = page_.position or (None, None)
    rows = await tx.fetch(
        f"""
        select {_OWN}, total from (select count(*) as total from monitoring_subscription where {where}) counted
        left join lateral (
            select {_OWN} from monitoring_subscription
            where {where} and {after} order by {by} limit $4
        ) listed on true
        order by {by}
        """,
        partner.id,
        UUID(bytes=id_) if id_ else None,
        name[0] if name else None,
        page_.fetch_limit,
        *conditions.values,
    )
    return [row for row in rows if row["id"] is not None], rows[0]["total"]


def _conditions(filters: MonitoringFilters) -> SqlConditions:
    conditions = SqlConditions("partner_id = $1", bound=4)
    if filters.status is not None:
        conditions.add("status = {}", filters.status)
    if filters.has_organisation is not None:
        conditions.add_without_value(
            "organisation_id is not null" if filters.has_organisation else "organisation_id is null"
        )
    conditions.require_words("search_name", filters.search_words, max_indexed_words=MAX_INDEX_PATTERNS)
    return conditions


def cursor_position_of(subscription: MonitoringSubscription, sort: Sort) -> tuple[object, ...]:
    """The position of a subscription in its list."""
    by_id = (subscription.id.bytes,)
    return (subscription.search_name, *by_id) if sort == "name" else by_id


@across_partners("followers")
async def load_subscribed_partner_ids_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> dict[UUID, set[UUID]]:
    """The partners with a live subscription to each of these organisations."""
    rows = await tx.fetch(
        f"""
        select distinct organisation_id, partner_id from monitoring_subscription
        where organisation_id = any($1::uuid[]) and {_WATCHED}
        """,
        organisation_ids,
    )
    found: dict[UUID, set[UUID]] = {}
    for row in rows:
        found.setdefault(row["organisation_id"], set()).add(row["partner_id"])
    return found


@across_partners("followers")
async def list_subscription_ids_by_organisations(tx: Tx, organisation_ids: Sequence[UUID]) -> list[UUID]:
    """The subscriptions to any of these organisations' merged records."""
    rows = await tx.fetch(
        f"""
        with answering as materialized (
            select distinct coalesce(same_as, id) as id from organisation where id = any($1::uuid[])
        )
        select id from monitoring_subscription where {_WATCHED} and organisation_id in (
            select id from answering
            union all
            select o.id from answering a join organisation o on o.same_as = a.id
        )
        order by id
        """,
        organisation_ids,
    )
    return [row["id"] for row in rows]


@across_partners("followers")
async def mark_due_for_evaluation(tx: Tx, subscription_ids: Sequence[UUID]) -> None:
    """Mark subscriptions as due for evaluation."""
    await tx.execute(
        f"""
        update monitoring_subscription set due_at = $2 where due_at is null and id in (
            select id from monitoring_subscription where id = any($1::uuid[]) and {_WATCHED}
            order by id for no key update
        )
        """,
        subscription_ids,
        tx.now,
    )


@across_partners("followers")
async def list_subscription_ids_waiting_for_requests(tx: Tx, request_ids: Sequence[UUID]) -> list[UUID]:
    """The subscriptions that wait for one of these validation requests."""
    rows = await tx.fetch(
        """
        select id from monitoring_subscription
        where validation_request_id = any($1::uuid[]) and status = 'pending_validation_request' order by id
        """,
        request_ids,
    )
    return [row["id"] for row in rows]


async def list_subscription_ids_by_configuration(
    tx: Tx, partner: Partner, configuration_id: UUID, after_id: UUID | None, limit: int, *, include_unconfigured: bool
) -> list[UUID]:
    """A configuration's watched subscriptions, by ID. ``include_unconfigured``: also those without a configuration."""
    rows = await tx.fetch(
        f"""
        select id from monitoring_subscription
        where partner_id = $1 and (configuration_id = $2 or $3 and configuration_id is null) and {_WATCHED}
            and ($4::uuid is null or id > $4)
        order by id limit $5
        """,
        partner.id,
        configuration_id,
        include_unconfigured,
        after_id,
        limit,
    )
    return [row["id"] for row in rows]


async def list_screened_watchlist_versions(tx: Tx) -> list[DatedScreenedWatchlist]:
    """The version of each list that all live subscriptions were compared with."""
    rows = await tx.fetch(
        "select list, version, unnest(categories) as category, compared_at from monitoring_list order by list, category"
    )
    return [DatedScreenedWatchlist(ScreenedWatchlist(*row[:3]), row[3]) for row in rows]


async def record_screened_watchlist_version(
    tx: Tx, watchlist_code: str, version: str, categories: Sequence[Category]
) -> None:
    """Record that all live subscriptions were compared with this version of a list."""
    await tx.execute(
        """
        insert into monitoring_list (list, version, categories, compared_at) values ($1, $2, $3, $4)
        on conflict (list) do update
        set version = excluded.version, categories = excluded.categories, compared_at = excluded.compared_at
        """,
        watchlist_code,
        version,
        categories,
        tx.now,
    )
